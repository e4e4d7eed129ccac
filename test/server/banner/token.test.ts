import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newShop, origin, type Shop } from './shop.ts'

const unlimited = { max: 1e6, seconds: 60 }
const service = useService({ bannerLimits: { address: unlimited, site: unlimited } })
let shop: Shop

beforeEach(async () => {
  shop = await newShop(service)
})

/** The statuses of visits with each of the tokens. */
async function visits(...tokens: string[]): Promise<number[]> {
  const answers = await Promise.all(tokens.map(token => shop.visit({}, { 'x-site-token': token })))
  return answers.map(({ status }) => status)
}

async function rotate(body: object): Promise<string> {
  const headers = await service.signIn(shop)
  const answer = await service.call('POST', `/api/v1/sites/${shop.siteId}/token`, { headers, body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body.token
}

describe('site tokens › replaced token', () => {
  it('works beside the new one', async () => {
    const next = await rotate({})
    const last = await rotate({ overlap_hours: 1 })
    expect(await visits(shop.siteToken, next, last)).toEqual([201, 201, 201])
  })

  it('stops working at once without an overlap, even if it was just used', async () => {
    expect(await visits(shop.siteToken)).toEqual([201])
    const next = await rotate({ overlap_hours: 0 })
    expect(await visits(shop.siteToken, next)).toEqual([401, 201])
  })

  it('stops working within a second when another node replaced it', async () => {
    expect(await visits(shop.siteToken)).toEqual([201])
    await service.sql`update site_tokens set expires_at = now() where site_id = ${shop.siteId}`
    await delay(1000)
    expect(await visits(shop.siteToken)).toEqual([401])
  })

  it('stops working exactly at its expiry, even if cached for longer', async () => {
    const end = new Date(Date.now() + 600)
    await service.sql`update site_tokens set expires_at = ${end} where site_id = ${shop.siteId}`
    expect(await visits(shop.siteToken)).toEqual([201])
    await delay(end.getTime() - Date.now() + 1)
    expect(await visits(shop.siteToken)).toEqual([401])
  })

  it('gets the same response as an unknown token', async () => {
    await rotate({ overlap_hours: 0 })
    const expired = await shop.visit()
    const unknown = await shop.send({ body: {}, headers: { origin } })
    expect([expired.status, expired.text]).toEqual([unknown.status, unknown.text])
  })
})

describe('site tokens › changed site', () => {
  it('applies to the next visit', async () => {
    expect((await shop.visit()).body.policy_version).toBe(1)
    const headers = await service.signIn(shop)
    const body = { policy_version: 2, allowed_origins: ['https://new.example'] }
    await service.call('PATCH', `/api/v1/sites/${shop.siteId}`, { headers, body })
    expect((await shop.visit()).status).toBe(403)
    const answer = await shop.visit({}, { origin: 'https://new.example' })
    expect([answer.status, answer.body.policy_version]).toEqual([201, 2])
  })
})
