import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { beforeEach, describe, expect, it } from 'vitest'
import { newSiteToken } from '../../../server/auth/credential.ts'
import { type ServiceResponse, useService } from '../../support/service.ts'
import { cors, corsOf, newShop, path, type Shop } from './shop.ts'

const unlimited = { max: 1e6, seconds: 60 }
const service = useService({ bannerLimits: { address: unlimited, site: unlimited } })
let shop: Shop

beforeEach(async () => {
  shop = await newShop(service)
})

/** True if a second session can hold a lock while others work. */
const hasSessions = process.env['TEST_ENGINE'] === 'postgres'

/** Locks a table until the result is called. */
async function hold(table: string): Promise<() => Promise<void>> {
  const { host, port, database, user } = service.sql.options
  const sql = postgres({ host: String(host[0]), port: Number(port[0]), database, user, max: 1 })
  await sql`begin`
  await sql`lock table ${sql(table)} in access exclusive mode`
  return () => sql.end()
}

const madeUp = () => ({ 'x-site-token': newSiteToken(shop.accountId, shop.siteId) })

describe.runIf(hasSessions)('floods of the public flow › 503', () => {
  it.each([
    ['visits', 'consents', () => ({}), 201, cors.readable],
    ['made-up tokens', 'site_tokens', madeUp, 401, cors.hidden],
  ] as const)(
    'is returned to %s without a slot, immediately or after a second',
    async (_name, table, headers, answered, readable) => {
      const visitAll = (of: Shop) => {
        const start = performance.now()
        return Array.from({ length: 100 }, async () => {
          const answer = await of.visit({}, headers())
          return { answer, ms: performance.now() - start }
        })
      }
      const usual = await Promise.all(visitAll(await newShop(service)))
      const usualMs = Math.max(...usual.map(({ ms }) => ms))
      const release = await hold(table)
      let settled = 0
      const visits = visitAll(shop).map(visit =>
        visit.finally(() => {
          settled += 1
        }),
      )
      // Ten have a slot, and fifty wait for one.
      await expect.poll(() => settled, { timeout: 4500 }).toBe(90)
      await release()
      const outcomes = await Promise.all(visits)
      const refused = outcomes.filter(({ answer }) => answer.status !== answered)
      expect(refused).toHaveLength(90)
      const times = refused.map(({ ms }) => ms).sort((one, other) => one - other)
      expect(times[39]).toBeLessThan(1000)
      expect(times[40]).toBeGreaterThan(990)
      expect(times.at(-1)).toBeLessThan(1500 + 2 * usualMs)
      for (const { answer } of refused) {
        expect([answer.status, answer.body.error]).toEqual([503, 'unavailable'])
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
        expect(corsOf(answer)).toEqual(readable)
      }
      expect(await shop.count()).toBe(answered === 201 ? 10 : 0)
    },
  )
})

describe('floods of the public flow › private API', () => {
  const floods: [name: string, visit: () => Promise<ServiceResponse>][] = [
    ['visits', () => shop.visit({ accepted: true })],
    ['made-up tokens', () => shop.visit({}, madeUp())],
    ['refused origins', () => shop.visit({}, { origin: 'https://evil.example' })],
  ]

  it.each(floods)('responds during a flood of 300 concurrent %s', async (_name, visit) => {
    const flood = Promise.all(Array.from({ length: 300 }, visit))
    for (let index = 0; index < 10; index += 1) {
      const start = performance.now()
      expect((await shop.list()).status).toBe(200)
      expect((await shop.post({ site_id: shop.siteId })).status).toBe(201)
      expect(performance.now() - start).toBeLessThan(5000)
    }
    const statuses = (await flood).map(({ status }) => status)
    expect(statuses.filter(status => ![201, 401, 403, 503].includes(status))).toEqual([])
  })
})

describe('floods of the public flow › visit', () => {
  it('does not wait for visits whose body has not arrived', async () => {
    const head = [
      `POST ${path} HTTP/1.1`,
      'Host: localhost',
      `X-Site-Token: ${shop.siteToken}`,
      'Content-Type: application/json',
      'Content-Length: 100',
    ]
    const { hostname, port } = new URL(service.url)
    const sockets = Array.from({ length: 100 }, () => connect(Number(port), hostname))
    for (const socket of sockets) socket.write(`${head.join('\r\n')}\r\n\r\n{`)
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    await delay(300)
    expect((await shop.visit()).status).toBe(201)
    for (const socket of sockets) socket.destroy()
  })
})
