import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { runBinary, useFolder } from '../support/cli.ts'
import { type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor } from './campaign.ts'

const folder = useFolder()
let database: Record<string, string>
let server: ServerProcess

beforeAll(async () => {
  database = await databaseFor('stop', folder.path)
})
beforeEach(async () => {
  server = await startServer(['--port', '0'], { HOME: folder.path, ...database })
})
afterEach(() => server.end('SIGKILL'))

it.each([
  ['never sent a byte', ''],
  ['sent half a request', 'GET /live HTTP/1.1\r\nHost: x'],
  ['is kept alive', 'GET /live HTTP/1.1\r\nHost: x\r\n\r\n'],
])('is not delayed by a connection that %s', async (_name, sent) => {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(sent)
  if (sent.endsWith('\r\n\r\n')) await once(socket, 'data')
  const start = Date.now()
  expect(await server.end('SIGTERM')).toBe(0)
  expect(Date.now() - start).toBeLessThan(5000)
  socket.destroy()
})

it('serve › when its log is no longer read, continues, and exits at SIGTERM', async () => {
  server.child.stderr?.destroy()
  for (let count = 0; count < 5; count += 1) {
    expect((await fetch(new URL('/live', server.url), { signal: AbortSignal.timeout(2000) })).status).toBe(200)
    await delay(80) // lines of the log wait for up to 50 ms
  }
  const start = Date.now()
  expect(await server.end('SIGTERM')).toBe(0)
  expect(Date.now() - start).toBeLessThan(5000)
})

it('serve › when its port is taken, exits with 2 and releases its folder', async () => {
  const args = ['serve', '--port', new URL(server.url).port, '--data-dir', join(folder.path, 'other')]
  const env = { HOME: folder.path, LOG_LEVEL: 'silent' }
  const ran = await Promise.race([runBinary(args, { env }), delay(30_000, null, { ref: false })])
  expect(ran).toMatchObject({ code: 2, stdout: expect.stringMatching(/^opening a new embedded database in .*\n$/) })
  expect(ran?.stderr).toContain('is in use')
  const account = ['admin', 'account', 'create', '--email', 'a@example.com', '--data-dir', join(folder.path, 'other')]
  expect(await runBinary(account, { env })).toMatchObject({ code: 0 })
})
