import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chownSync, mkdtempSync, openSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'

/** A private PostgreSQL server that its test may end, freeze and start again. */
export interface PostgresServer {
  /** Without a database's name. */
  readonly url: string
  /** Starts it, and resolves when it answers a query. */
  start(): Promise<void>
  /** Ends it: `SIGINT` rolls back and shuts down, `SIGQUIT` drops everything, `SIGKILL` takes the postmaster alone. */
  end(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>
  /** Stops the postmaster and everything it has started, or lets them go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends it and removes its files. */
  remove(): Promise<void>
}

interface Options {
  /** True if a commit is flushed before it is acknowledged: slow, and needed where the server is killed. */
  readonly durable: boolean
  /** `name=value` of more settings. */
  readonly settings?: readonly string[]
  /** Follow another server as its hot standby, instead of being a new one. */
  readonly standbyOf?: PostgresServer
}

/** The user that a server started by root runs as, for it refuses root: nobody, by the id it has everywhere. */
export function unprivileged(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
}

/** The folder of PostgreSQL's server programs, or null. */
export function findPrograms(): string | null {
  const found = [...(process.env['PATH'] ?? '').split(delimiter), ...debianFolders()].find(hasInitdb)
  return found === undefined ? null : dirname(realpathSync(join(found, 'initdb'))) // where the others are, too
}

/** Starts a private server on a free loopback port. Throws where the programs are not found. */
export async function startPostgres({ durable, settings = [], standbyOf }: Options): Promise<PostgresServer> {
  const programs = findPrograms()
  if (!programs) throw new Error('no PostgreSQL was found')
  const folder = mkdtempSync(join(tmpdir(), 'consentctl-pg-'))
  const user = unprivileged()
  if (user) chownSync(folder, user.uid, user.gid)
  const data = join(folder, 'data')
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  const copy = ['-D', data, '-d', standbyOf?.url ?? '', '-R', '-X', 'stream', '-c', 'fast', '--no-sync']
  const [program, make] = standbyOf ? ['pg_basebackup', copy] : ['initdb', initdb]
  execFileSync(join(programs, program), make, { ...user, cwd: folder, stdio: 'ignore' })
  const port = await freePort()
  const own = [`fsync=${durable ? 'on' : 'off'}`, 'max_connections=200', `unix_socket_directories=${folder}`]
  const flags = [...own, 'autovacuum=off', ...settings].flatMap(setting => ['-c', setting])
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), ...flags]
  const url = `postgres://postgres@127.0.0.1:${port}`
  const log = join(folder, 'log')
  const stdio = ['ignore', 'ignore', openSync(log, 'a')] as const
  let server: ChildProcess | undefined
  const start = async () => {
    server = spawn(join(programs, 'postgres'), args, { ...user, cwd: folder, stdio: [...stdio] })
    if (!(await answers(url, server))) throw new Error(`PostgreSQL did not start: ${readFileSync(log, 'utf8')}`)
  }
  const signal = (name: NodeJS.Signals) => {
    server?.kill(name) // first, for a stopped postmaster starts nobody
    for (const pid of childrenOf(server)) send(pid, name)
  }
  const end = async (name: NodeJS.Signals) => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const children = childrenOf(server)
    server.kill(name)
    await once(server, 'exit')
    // The children of a postmaster that was killed notice it soon, and hold its memory until then.
    for (let wait = 0; wait < 500 && children.some(pid => send(pid, 0)); wait += 1) await delay(10)
  }
  await start()
  return {
    url,
    start,
    end,
    signal,
    remove: async () => {
      signal('SIGCONT')
      await end('SIGINT')
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

async function answers(url: string, server: ChildProcess): Promise<boolean> {
  const sql = postgres(`${url}/postgres`, { max: 1, connect_timeout: 2, backoff: false, onnotice: () => {} })
  for (let attempt = 0; attempt < 500 && server.exitCode === null; attempt += 1) {
    try {
      await sql`select 1`
      await sql.end()
      return true
    } catch {
      await delay(20)
    }
  }
  return false
}

function childrenOf(server: ChildProcess | undefined): number[] {
  if (!server?.pid) return []
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = lines.map(line => line.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([pid, parent]) => (pid && parent === server.pid ? [pid] : []))
}

/** Sends a signal to a process that may be gone; 0 only asks whether it is there. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
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
