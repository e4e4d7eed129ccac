import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort, unprivileged } from './postgres.ts'

/** A PgBouncer before a PostgreSQL server. */
export interface PgBouncer {
  /** Without a database's name. */
  readonly url: string
  stop(): Promise<void>
}

/** Returns true if PgBouncer is on this machine. */
export function hasPgBouncer(): boolean {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore', env: programs })
    return true
  } catch {
    return false
  }
}

/** Debian has it among the programs of the system's operator. */
const programs = { PATH: `${process.env['PATH']}:/usr/sbin` }

/** Starts one that gives each database this many connections to a server, named by its URL, and a client one for a transaction. */
export async function startPgBouncer(server: string, connections: number): Promise<PgBouncer> {
  const { hostname, port: serverPort, username, password } = new URL(server)
  const folder = mkdtempSync(join(tmpdir(), 'consentctl-pooler-'))
  const port = await freePort()
  const secret = password && ` password=${decodeURIComponent(password)}`
  const settings = `
    [databases]
    * = host=${hostname} port=${serverPort || 5432} user=${decodeURIComponent(username)}${secret}
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = ${port}
    unix_socket_dir =
    auth_type = any
    pool_mode = transaction
    default_pool_size = ${connections}
    ignore_startup_parameters = statement_timeout, jit`
  writeFileSync(join(folder, 'pgbouncer.ini'), settings.replace(/^ +/gm, ''), { mode: 0o600 })
  const user = unprivileged()
  for (const path of user ? [folder, join(folder, 'pgbouncer.ini')] : [])
    chownSync(path, user?.uid ?? 0, user?.gid ?? 0)
  const child = spawn('pgbouncer', ['-q', 'pgbouncer.ini'], {
    ...user,
    cwd: folder,
    env: programs,
    stdio: 'ignore',
  })
  await listening(port, child)
  return {
    url: `postgres://postgres@127.0.0.1:${port}`,
    stop: async () => {
      if (child.kill('SIGTERM')) await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 500 && child.exitCode === null; attempt += 1) {
    const socket = connect(port, '127.0.0.1')
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isThere) return
    await delay(10)
  }
  throw new Error('PgBouncer did not start')
}
