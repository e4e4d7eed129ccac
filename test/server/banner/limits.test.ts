import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { newSiteToken } from '../../../server/auth/credential.ts'
import type { BannerLimits } from '../../../server/banner/routes.ts'
import { type ServiceResponse, useService } from '../../support/service.ts'
import { cors, corsOf, newShop, path, type Shop } from './shop.ts'

const unlimited = { max: 1e6, seconds: 60 }
let shop: Shop

function useShop(bannerLimits: BannerLimits, trustProxy = ['127.0.0.1']) {
  const service = useService({ bannerLimits, config: { trustProxy } })
  beforeEach(async () => {
    shop = await newShop(service)
  })
  return service
}

/** Returns an address without earlier visits. */
let count = 0
function newAddress(): string {
  count += 1
  return `81.2.${count >> 8}.${count & 255}`
}

/** Visits in turn, each from the address and with the token that it has. */
async function visits(of: Shop, ...headers: Record<string, string>[]): Promise<ServiceResponse[]> {
  const answers: ServiceResponse[] = []
  for (const more of headers) answers.push(await of.visit({}, { 'x-forwarded-for': newAddress(), ...more }))
  return answers
}

const from = (...addresses: string[]) => addresses.map(address => ({ 'x-forwarded-for': address }))
const statuses = (answers: ServiceResponse[]) => answers.map(({ status }) => status)

function expectLimited(answer: ServiceResponse): void {
  expect([answer.status, answer.body]).toEqual([429, { error: 'rate_limited', message: 'Too many requests.' }])
  const seconds = Number(answer.headers['retry-after'])
  expect(seconds).toBeGreaterThan(50)
  expect(seconds).toBeLessThanOrEqual(60)
}

describe('rate limits of the public flow › 429 for an address', () => {
  const service = useShop({ address: { max: 3, seconds: 60 }, site: unlimited })

  it('is returned for the first visit over the limit, with Retry-After', async () => {
    const address = newAddress()
    const answers = await visits(shop, ...from(...Array(4).fill(address)))
    expect(statuses(answers)).toEqual([201, 201, 201, 429])
    expectLimited(answers[3] as ServiceResponse)
    expect(await shop.count()).toBe(3)
    expect(statuses(await visits(shop, ...from(newAddress())))).toEqual([201])
  })

  it('is returned before the token is checked, without CORS headers', async () => {
    const address = newAddress()
    const wrong = { 'x-site-token': newSiteToken(shop.accountId, shop.siteId), 'x-forwarded-for': address }
    const answers = await visits(shop, wrong, wrong, wrong, wrong, ...from(address))
    expect(statuses(answers)).toEqual([401, 401, 401, 429, 429])
    for (const answer of answers.slice(3)) expect(corsOf(answer)).toEqual(cors.hidden)
  })

  it('counts visits that are rejected for their origin or body', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const refused = { ...headers, origin: 'https://evil.example' }
    const answers = [await shop.visit({}, refused), await shop.visit('{', headers), await shop.visit({ x: 1 }, headers)]
    expect(statuses([...answers, await shop.visit({}, headers)])).toEqual([403, 400, 400, 429])
  })

  it.each([
    ['addresses of one /64', ['2a01:e00:1:2::1', '2a01:e00:1:2::2', '2a01:e00:1:2:ffff::', '2A01:E00:1:2::4'], 429],
    ['addresses of different /64', ['2a01:e00:2:1::1', '2a01:e00:2:2::1', '2a01:e00:2:3::1', '2a01:e00:2:4::1'], 201],
    ['ways to write an address', ['81.3.0.1', '::ffff:81.3.0.1', '81.3.0.1:80', '::ffff:5103:1'], 429],
    ['ports of a proxy’s clients', ['81.3.0.2:1', '81.3.0.2:2', '81.3.0.2:3', '81.3.0.2:4'], 429],
    ['names that are no addresses', ['unknown', 'x', 'y'.repeat(5000), '300.1.1.1'], 429],
    [
      'addresses that the client made up',
      ['9.9.9.1', '9.9.9.2', '9.9.9.3', '9.9.9.4'].map(ip => `${ip}, 81.3.0.3`),
      429,
    ],
  ])('responds to four visits from %s', async (_name, addresses, last) => {
    expect(statuses(await visits(shop, ...from(...addresses)))).toEqual([201, 201, 201, last])
  })

  it('counts per node and visitor, without preflights and the private API', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    for (let index = 0; index < 5; index += 1) {
      expect((await service.call('OPTIONS', path, { headers })).status).toBe(204)
      expect((await shop.list()).status).toBe(200)
    }
    expect(statuses(await visits(shop, headers, headers, headers, headers))).toEqual([201, 201, 201, 429])
    expect((await service.call('GET', '/api/v1/consents', { key: shop.key, headers })).status).toBe(200)
  })
})

describe('rate limits of the public flow › 429 for an address without a trusted proxy', () => {
  useShop({ address: { max: 3, seconds: 60 }, site: unlimited }, [])

  it('ignores headers sent by the client', async () => {
    const answers = await visits(shop, {}, {}, {}, {})
    expect(statuses(answers)).toEqual([201, 201, 201, 429])
  })
})

describe('rate limits of the public flow › 429 for a site', () => {
  const service = useShop({ address: unlimited, site: { max: 3, seconds: 60 } })

  it('is returned for the first visit over the limit from any address, and readable by the page', async () => {
    const answers = await visits(shop, {}, {}, {}, {})
    expect(statuses(answers)).toEqual([201, 201, 201, 429])
    expectLimited(answers[3] as ServiceResponse)
    expect(corsOf(answers[3] as ServiceResponse)).toEqual(cors.readable)
    expect(await shop.count()).toBe(3)
    expect(statuses(await visits(await newShop(service), {}))).toEqual([201])
  })

  it('counts all tokens of the site together', async () => {
    const token = newSiteToken(shop.accountId, shop.siteId)
    const { sql } = service
    await sql`update site_tokens set expires_at = now() + interval '1 hour' where site_id = ${shop.siteId}`
    await sql`
      insert into site_tokens (account_id, site_id, token_hash, created_at)
      values (${shop.accountId}, ${shop.siteId}, sha256(${token}::text::bytea), now())`
    const next = { 'x-site-token': token }
    expect(statuses(await visits(shop, {}, next, next, next, {}))).toEqual([201, 201, 201, 429, 429])
  })

  it('does not count requests from other origins', async () => {
    const wrong = { 'x-site-token': newSiteToken(shop.accountId, shop.siteId) }
    const refused = { origin: 'https://evil.example' }
    const answers = await visits(shop, wrong, refused, wrong, refused, {}, {}, {}, {})
    expect(statuses(answers)).toEqual([401, 403, 401, 403, 201, 201, 201, 429])
  })
})

describe('rate limits of the public flow › after Retry-After', () => {
  useShop({ address: { max: 1, seconds: 1 }, site: unlimited })

  it('accepts visits again', async () => {
    const headers = { 'x-forwarded-for': newAddress() }
    const [, refused] = await visits(shop, headers, headers)
    expect(refused?.headers['retry-after']).toBe('1')
    await delay(1000)
    expect(statuses(await visits(shop, headers))).toEqual([201])
  })
})
