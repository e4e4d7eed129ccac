import { createServer, type Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { connect } from '../../../../server/db/connect.ts'
import { listen } from '../../../support/net.ts'
import { message } from '../wire.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** A host that takes connections and does something else than a database would; how often it was asked. */
async function startHost(onConnection: 'refuse' | 'be silent') {
  const host = { asked: 0, address: '' }
  const server = createServer(socket => {
    host.asked += 1
    socket.on('error', () => {})
    server.once('close', () => socket.destroy())
    if (onConnection === 'refuse') socket.resetAndDestroy()
  })
  servers.push(server)
  host.address = new URL(await listen(server)).host
  return host
}

const urlOf = (...hosts: string[]) => `postgres://postgres:a%40b@${hosts.join(',')}/postgres`

describe('Hosts › a URL with several hosts', () => {
  it('when no host accepts, tries each host once for a statement, and none afterwards (#1174)', async () => {
    const [one, other] = [await startHost('refuse'), await startHost('refuse')]
    const sql = connect({ target: { url: urlOf(one.address, other.address) }, max: 2 })
    await expect(sql`select 1`).rejects.toMatchObject({ code: expect.any(String) })
    await expect(sql.begin(tx => tx`select 1`)).rejects.toMatchObject({ code: expect.any(String) })
    expect([one.asked, other.asked]).toEqual([2, 2])
    await sql.end()
    await delay(200)
    expect([one.asked, other.asked]).toEqual([2, 2])
  })

  it.runIf(inject('clusterUrl'))(
    'connects to the host that accepts, and tries it first from then on (#815, #988)',
    async () => {
      const [closed, silent] = [await startHost('refuse'), await startHost('be silent')]
      const there = new URL(inject('clusterUrl') ?? '').host
      const url = urlOf(closed.address, silent.address, there)
      const sql = connect({ target: { url }, max: 3 })
      const began = performance.now()
      expect(await sql`select 1 as one`).toEqual([{ one: 1 }])
      expect(performance.now() - began).toBeLessThan(4000)
      await Promise.all([1, 2, 3].map(() => sql`select pg_sleep(0.1)`))
      expect(await sql.begin(tx => tx`select 1 as one`)).toEqual([{ one: 1 }])
      expect([closed.asked, silent.asked]).toEqual([1, 1])
      await sql.end()
    },
  )
})

describe('Hosts › when a connection is lost during the role query', () => {
  // Found by schedule 8 of `npm run simulate`.
  it('behind a pooler, which does not report the role, fails only the statement', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', onUnhandled)
    const pooler = createServer(socket => {
      socket.on('error', () => {})
      const authenticated = [message('R', [0, 0, 0, 0]), message('Z', 'I')]
      socket.once('data', () => {
        socket.write(Buffer.concat(authenticated))
        socket.once('data', () => socket.resetAndDestroy())
      })
    })
    servers.push(pooler)
    const sql = connect({ target: { url: urlOf(new URL(await listen(pooler)).host) }, max: 1 })
    await expect(sql`select 1`).rejects.toMatchObject({ code: 'ECONNRESET' })
    await delay(50)
    process.off('unhandledRejection', onUnhandled)
    expect(unhandled).toEqual([])
    await sql.end()
  })
})
