import { createServer, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newApiKey } from '../../../server/auth/credential.ts'
import { connect } from '../../../server/db/connect.ts'
import { signerOf } from '../../../server/evidence/signer.ts'
import { newId } from '../../../server/ids.ts'
import { consents } from '../../../src/contract/index.ts'
import { signingKeyOf } from '../../../src/evidence/keys.ts'
import { listen } from '../../support/net.ts'
import { freePort } from '../../support/postgres.ts'
import { startNode } from '../../support/service.ts'

const key = newApiKey(newId())

/** Databases that are gone, each in its own way. */
const outages: [name: string, open: () => Promise<{ port: number; close: () => void }>][] = [
  ['refuses connections', async () => ({ port: await freePort(), close: () => {} })],
  ['accepts connections and says nothing', () => serve(() => {})],
  ['ends every connection', () => serve(socket => socket.destroy())],
  ['speaks something else', () => serve(socket => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))],
]

describe.concurrent.each(outages)('database outage › database that %s', (_name, open) => {
  let app: FastifyInstance
  let close: () => Promise<void>

  beforeAll(async () => {
    const database = await open()
    const url = `postgres://nobody@127.0.0.1:${database.port}/none`
    const sql = connect({ target: { url }, max: 2 })
    const secret = Buffer.alloc(32)
    const node = await startNode(sql, { signer: signerOf(signingKeyOf(secret)), originSecret: secret })
    app = node.app
    close = async () => {
      await app.close()
      await sql.end({ timeout: 0 })
      database.close()
    }
  })
  afterAll(() => close())

  it('/live returns 200', async () => {
    expect((await app.inject('/live')).statusCode).toBe(200)
  })

  it('/ready returns 503 within two seconds, with Retry-After', async () => {
    await expectUnavailable('GET', '/ready', 2000)
  })

  it('every private route returns 503 within 5.5 seconds, under concurrency', async () => {
    const requests = Object.values(consents).flatMap(({ method, path }) => Array(5).fill([method, path]))
    await Promise.all(requests.map(([method, path]) => expectUnavailable(method, path, 5500)))
  })

  it('a failed write states that nothing was applied, a failed read does not', async () => {
    const send = (method: 'GET' | 'POST') =>
      app.inject({ method, url: consents.create.path, headers: { authorization: `Bearer ${key}` } })
    const answers = await Promise.all([send('POST'), send('GET')])
    expect(answers.map(({ statusCode, headers }) => [statusCode, headers['request-not-applied']])).toEqual([
      [503, 'true'],
      [503, undefined],
    ])
  })

  async function expectUnavailable(method: 'GET', url: string, milliseconds: number): Promise<void> {
    let elapsed = 0 // stands still while the process of all these tests gets no CPU
    const clock = setInterval(() => {
      elapsed += 50
    }, 50)
    const answer = await app.inject({ method, url, headers: { authorization: `Bearer ${key}` } })
    clearInterval(clock)
    expect(elapsed).toBeLessThan(milliseconds)
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toEqual({ error: 'unavailable', message: expect.any(String) })
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    expect(answer.headers['x-request-id']).toBeTruthy()
  }
})

async function serve(greet: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
    greet(socket)
  })
  const { port } = new URL(await listen(server))
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { port: Number(port), close }
}
