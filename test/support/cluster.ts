import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'

/** A PostgreSQL server for tests, by its URL without a database's name. */
export interface Cluster {
  readonly url: string
  stop(): Promise<void>
}

/** The user that a server started by root runs as, for it refuses root: nobody, by the id it has everywhere. */
const nobody = 65_534

/** `TEST_DATABASE_URL`, or the folder of PostgreSQL's server programs, or null. */
export function whereIsPostgres(): string | null {
  if (process.env['TEST_DATABASE_URL']) return process.env['TEST_DATABASE_URL']
  return [...(process.env['PATH'] ?? '').split(delimiter), ...debianFolders()].find(hasInitdb) ?? null
}

/** Starts a private server on a free loopback port, or uses the one that `TEST_DATABASE_URL` names. */
export async function startCluster(): Promise<Cluster> {
  const place = whereIsPostgres()
  if (!place) throw new Error('no PostgreSQL was found')
  if (process.env['TEST_DATABASE_URL']) {
    return { url: place.replace(/\/[^/]*$/, ''), stop: async () => {} }
  }
  const folder = mkdtempSync('/tmp/consentctl-pg-')
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
  if ('uid' in user) chownSync(folder, nobody, nobody)
  const data = join(folder, 'data')
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(join(place, 'initdb'), initdb, { ...user, cwd: folder, stdio: 'ignore' })
  const port = await freePort()
  const settings = ['fsync=off', 'max_connections=200', `unix_socket_directories=${folder}`, 'autovacuum=off']
  const args = [
    '-D',
    data,
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    ...settings.flatMap(setting => ['-c', setting]),
  ]
  const server = spawn(join(place, 'postgres'), args, { ...user, cwd: folder, stdio: 'ignore' })
  const url = `postgres://postgres@127.0.0.1:${port}`
  await answering(url, server)
  return {
    url,
    stop: async () => {
      server.kill('SIGINT')
      if (server.exitCode === null) await once(server, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A TCP port of loopback that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

async function answering(url: string, server: ChildProcess): Promise<void> {
  const sql = postgres(`${url}/postgres`, { max: 1, connect_timeout: 2, onnotice: () => {} })
  for (let attempt = 0; attempt < 200 && server.exitCode === null; attempt += 1) {
    try {
      await sql`select 1`
      return await sql.end()
    } catch {
      await delay(50)
    }
  }
  throw new Error('the PostgreSQL server for the tests did not start')
}

function debianFolders(): string[] {
  try {
    return readdirSync('/usr/lib/postgresql').map(version => `/usr/lib/postgresql/${version}/bin`)
  } catch {
    return []
  }
}

function hasInitdb(folder: string): boolean {
  try {
    accessSync(join(folder, 'initdb'))
    accessSync(join(folder, 'postgres'))
    return true
  } catch {
    return false
  }
}
