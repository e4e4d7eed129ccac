import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'undici'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { binary, useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { databaseFor } from './campaign.ts'

const folder = useFolder()

/** More lines than a pipe and the server's buffer hold together. */
const count = 8000

interface Started {
  readonly child: ChildProcess
  readonly api: Pool
  readonly metrics: Pool
}

const running: Started[] = []
let database: Record<string, string>

beforeAll(async () => {
  database = await databaseFor('log_reader', folder.path)
})

afterEach(async () => {
  for (const { child, api, metrics } of running.splice(0)) {
    child.kill('SIGKILL')
    await Promise.all([api.destroy(), metrics.destroy()])
  }
})

/** Starts a server that writes to file descriptors. */
async function start(stdout: number | 'ignore' | 'pipe', stderr: number | 'pipe'): Promise<Started> {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const args = [binary, 'serve', '--port', String(port)]
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env['PATH'], HOME: folder.path, METRICS_PORT: String(metricsPort), ...database },
    stdio: ['ignore', stdout, stderr],
  })
  const [api, metrics] = [port, metricsPort].map(port => new Pool(`http://127.0.0.1:${port}`, { connections: 50 }))
  if (!api || !metrics) throw new Error('unreachable')
  const started = { child, api, metrics }
  running.push(started)
  const isReady = () =>
    get(api, '/ready').then(
      ({ status }) => status === 200,
      () => false,
    )
  await expect.poll(isReady, { timeout: 30_000 }).toBe(true)
  return started
}

async function get(pool: Pool, path: string) {
  const { statusCode, body } = await pool.request({ path, method: 'GET', headersTimeout: 5000 })
  return { status: statusCode, text: await body.text() }
}

async function sendMany({ api }: Started, length = count): Promise<void> {
  const responses = await Promise.all(Array.from({ length }, () => get(api, '/live')))
  expect(responses.every(({ status }) => status === 200)).toBe(true)
}

async function readDropped({ metrics }: Started): Promise<number> {
  const { text } = await get(metrics, '/metrics')
  return Number(/^consentctl_log_lines_dropped_total (\d+)$/m.exec(text)?.[1])
}

async function stop({ child }: Started): Promise<number | null> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = await exited
  return code
}

/** Opens both ends of a pipe, as a shell's `|` makes it. Reading does not block. */
function openPipe(): { reader: number; writer: number } {
  const path = join(folder.path, `pipe-${Math.random()}`)
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { reader, writer: openSync(path, constants.O_WRONLY) }
}

function readAvailable(reader: number): string {
  const [buffer, chunks] = [Buffer.alloc(65_536), [] as Buffer[]]
  for (;;) {
    try {
      const size = readSync(reader, buffer)
      if (size === 0) break
      chunks.push(Buffer.from(buffer.subarray(0, size)))
    } catch {
      break // EAGAIN
    }
  }
  return Buffer.concat(chunks).toString()
}

const findDropped = (text: string) => [...text.matchAll(/^\{.*"dropped":(\d+).*\}$/gm)].map(([, n]) => Number(n))

describe('when nothing reads the pipe of stdout and stderr', () => {
  it('responds to every request, and counts and logs dropped lines', async () => {
    const { reader, writer } = openPipe()
    const server = await start(writer, writer)
    await sendMany(server)
    expect((await get(server.api, '/live')).status).toBe(200)
    const dropped = await readDropped(server)
    expect(dropped).toBeGreaterThan(100)

    let text = ''
    const readAll = async () => {
      text += readAvailable(reader)
      return (await get(server.api, '/live')) && findDropped(text)
    }
    await expect.poll(readAll, { timeout: 10_000, interval: 60 }).not.toEqual([])
    const lines = text.split('\n').filter(line => line.includes('"route":"/live"'))
    expect(findDropped(text)).toEqual([await readDropped(server)])
    expect(lines.length + dropped).toBeGreaterThan(count)

    closeSync(writer)
    expect(await stop(server)).toBe(0)
    expect(text + readAvailable(reader)).toMatch(/"msg":"stopped"\}\n$/)
    closeSync(reader)
  })

  it('starts on a full pipe, and exits with 0 in time on SIGTERM', async () => {
    const { reader, writer } = openPipe()
    spawnSync('dd', ['if=/dev/zero', 'bs=4096', 'oflag=nonblock'], { stdio: ['ignore', writer, 'ignore'] })
    const server = await start(writer, writer)
    closeSync(writer)
    const startMs = performance.now()
    expect(await stop(server)).toBe(0)
    expect(performance.now() - startMs).toBeLessThan(8000)
    closeSync(reader)
  })
})

describe('when nothing reads the socket of stderr', () => {
  it('responds to every request', async () => {
    const server = await start('ignore', 'pipe') // Node.js makes a socket
    await sendMany(server)
    expect((await get(server.api, '/live')).status).toBe(200)
    expect(await readDropped(server)).toBeGreaterThan(100)
  })
})

describe('when stderr is a file', () => {
  it('the log contains every line', async () => {
    const path = join(folder.path, 'log')
    const server = await start('ignore', openSync(path, 'w'))
    await sendMany(server, 2000)
    await delay(100) // lines are written at most 50 ms later
    const lines = readFileSync(path, 'utf8').split('\n')
    expect(lines.filter(line => line.includes('"route":"/live"'))).toHaveLength(2000)
    expect(await readDropped(server)).toBe(0)
  })
})
