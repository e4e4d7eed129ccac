import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { request } from 'undici'
import { beforeAll, describe, expect, inject, it, type TestContext } from 'vitest'
import { newApiKey } from '../../server/auth/credential.ts'
import { binary, useFolder } from '../support/cli.ts'
import { listen } from '../support/net.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor } from './campaign.ts'

const folder = useFolder()

/** Runs a program as process 1 of a namespace of its own, as a container does. */
const asProcess1 = ['unshare', '--pid', '--fork', '--kill-child'] as const
const hasNamespaces = spawnSync(asProcess1[0], [...asProcess1.slice(1), 'true']).status === 0

if (!hasNamespaces)
  process.stderr.write('\n*** SKIPPED: the watchdog of process 1. `unshare --pid` does not work. ***\n\n')

let files = 0
let database: Record<string, string>

beforeAll(async () => {
  database = await databaseFor('watchdog', folder.path)
})

/** The environment of a server whose event loop stands still from a call of `hang` on. */
function hangable(env: Record<string, string>, nodeOptions = '') {
  files += 1
  const [program, flag] = [join(folder.path, `${files}.cjs`), join(folder.path, `${files}.flag`)]
  const lines = [
    `const flag = ${JSON.stringify(flag)}`,
    // Waits, because an endless loop would take the processor from the other tests.
    `const hang = () => require('node:fs').existsSync(flag) && Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`,
    `if (require('node:worker_threads').isMainThread) setInterval(hang, 20).unref()`,
  ]
  writeFileSync(program, lines.join('\n'))
  return {
    env: { HOME: folder.path, NODE_OPTIONS: `--require=${program} ${nodeOptions}`, ...database, ...env },
    args: ['--port', '0', ...(inject('clusterUrl') ? [] : ['--data-dir', join(folder.path, `data-${files}`)])],
    hang: () => writeFileSync(flag, ''),
  }
}

async function start({ onTestFinished }: TestContext, ...options: Parameters<typeof hangable>) {
  const { env, args, hang } = hangable(...options)
  const server = await startServer(args, env)
  onTestFinished(() => void server.child.kill('SIGKILL'))
  return { server, hang }
}

const responds = ({ url }: ServerProcess, headersTimeout = 1000) =>
  request(`${url}/live`, { headersTimeout }).then(
    async ({ statusCode, body }) => {
      await body.dump()
      return statusCode === 200
    },
    () => false,
  )

/** A proxy before PostgreSQL that, when told, sends one RowDescription whose names have no end. */
async function startMalformingProxy(databasePort: number) {
  let isArmed = false
  const malformed = (chunk: Buffer) => {
    for (let at = 0; isArmed && at + 5 < chunk.length; at += 1 + chunk.readUInt32BE(at + 1)) {
      if (chunk[at] !== 'T'.charCodeAt(0)) continue
      chunk.fill('x', at + 7)
      isArmed = false
    }
    return chunk
  }
  const sockets = new Set<Socket>()
  const proxy = createServer(socket => {
    const behind = connect(databasePort, '127.0.0.1')
    for (const one of [socket, behind]) sockets.add(one.on('error', () => {}))
    socket.on('close', () => behind.destroy()).pipe(behind)
    behind.on('close', () => socket.destroy()).on('data', chunk => socket.write(malformed(chunk)))
  })
  const { port } = new URL(await listen(proxy))
  return {
    port,
    malform: () => {
      isArmed = true
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

describe.concurrent('watchdog', () => {
  it('when the event loop is blocked, ends the process within the timeout and logs the reason', async context => {
    const { server, hang } = await start(context, { WATCHDOG_SECONDS: '2' })
    expect(await responds(server)).toBe(true)
    const startMs = performance.now()
    hang()
    const [code, signal] = await once(server.child, 'exit')
    expect([code, signal]).toEqual([null, 'SIGKILL'])
    expect(performance.now() - startMs).toBeLessThan(5000)
    expect(server.output()).toContain('"msg":"the event loop has been blocked for 2 s: the watchdog ends the process')
  })

  it.skipIf(!hasNamespaces)('when the process has PID 1 in a container, ends it with exit code 1', async () => {
    const { env, args, hang } = hangable({ WATCHDOG_SECONDS: '2' })
    const data = join(folder.path, 'embedded')
    const [program, ...words] = [...asProcess1, process.execPath, binary, 'serve', ...args, '--data-dir', data] as const
    const child = spawn(program, words, { env: { PATH: process.env['PATH'], ...env } })
    child.stdout.once('data', hang)
    expect(await once(child, 'exit')).toEqual([1, null])
  })

  it.skipIf(!inject('clusterUrl'))(
    'when a malformed database message makes the driver loop, ends the process, and the next one serves requests',
    async context => {
      const url = new URL(database['DATABASE_URL'] ?? '')
      const proxy = await startMalformingProxy(Number(url.port))
      context.onTestFinished(() => proxy.close())
      url.port = proxy.port
      const { server } = await start(context, { WATCHDOG_SECONDS: '2', DATABASE_URL: url.href })
      proxy.malform()
      const startMs = performance.now()
      const lost = request(`${server.url}/api/v1/consents`, {
        headers: { authorization: `Bearer ${newApiKey(crypto.randomUUID())}` },
      })
      lost.catch(() => {})
      expect(await once(server.child, 'exit')).toEqual([null, 'SIGKILL'])
      const { server: next } = await start(context, { DATABASE_URL: url.href })
      expect(await responds(next)).toBe(true)
      expect(performance.now() - startMs).toBeLessThan(10_000)
    },
  )

  it('when the process was suspended for longer than the timeout, lets it continue', async context => {
    const { server } = await start(context, { WATCHDOG_SECONDS: '2' })
    server.child.kill('SIGSTOP')
    await delay(4000)
    server.child.kill('SIGCONT')
    await delay(3000)
    expect(server.child.signalCode).toBeNull()
    expect(await responds(server, 10_000)).toBe(true)
    expect(await server.end('SIGTERM')).toBe(0)
  })

  it.for([
    ['WATCHDOG_SECONDS is 0', { WATCHDOG_SECONDS: '0' }, ''],
    ['a debugger can attach', { WATCHDOG_SECONDS: '2' }, '--inspect=127.0.0.1:0'],
  ] as const)('when %s, does not end the process', async ([_name, env, nodeOptions], context) => {
    const { server, hang } = await start(context, env, nodeOptions)
    await delay(500) // the debugger is noticed
    hang()
    await delay(4000)
    expect(server.child.exitCode ?? server.child.signalCode).toBeNull()
    expect(await responds(server)).toBe(false)
  })
})
