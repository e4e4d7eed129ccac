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

describe('a token that another has replaced', () => {
  it('goes on to work beside the new one', async () => {
    const next = await rotate({})
    const last = await rotate({ overlap_hours: 1 })
    expect(await visits(shop.siteToken, next, last)).toEqual([201, 201, 201])
  })

  it('is dead at once where no overlap is wanted, though it worked a moment ago', async () => {
    expect(await visits(shop.siteToken)).toEqual([201])
    const next = await rotate({ overlap_hours: 0 })
    expect(await visits(shop.siteToken, next)).toEqual([401, 201])
  })

  it('is dead within a second where another node has replaced it', async () => {
    expect(await visits(shop.siteToken)).toEqual([201])
    await service.sql`update site_tokens set expires_at = now() where site_id = ${shop.siteId}`
    await delay(1000)
    expect(await visits(shop.siteToken)).toEqual([401])
  })

  it('ends at its very instant, though it is remembered for longer', async () => {
    const end = new Date(Date.now() + 600)
    await service.sql`update site_tokens set expires_at = ${end} where site_id = ${shop.siteId}`
    expect(await visits(shop.siteToken)).toEqual([201])
    await delay(end.getTime() - Date.now() + 1)
    expect(await visits(shop.siteToken)).toEqual([401])
  })

  it('is answered like one that never was', async () => {
    await rotate({ overlap_hours: 0 })
    const expired = await shop.visit()
    const unknown = await shop.send({ body: {}, headers: { origin } })
    expect([expired.status, expired.text]).toEqual([unknown.status, unknown.text])
  })
})

describe('a site', () => {
  it('that its owner changes is changed for the next visit', async () => {
    expect((await shop.visit()).body.policy_version).toBe(1)
    const headers = await service.signIn(shop)
    const body = { policy_version: 2, allowed_origins: ['https://new.example'] }
    await service.call('PATCH', `/api/v1/sites/${shop.siteId}`, { headers, body })
    expect((await shop.visit()).status).toBe(403)
    const answer = await shop.visit({}, { origin: 'https://new.example' })
    expect([answer.status, answer.body.policy_version]).toEqual([201, 2])
  })
})
