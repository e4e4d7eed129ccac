import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newApiKey, newSiteToken } from '../../../server/auth/credential.ts'
import { newId } from '../../../server/ids.ts'
import { type ServiceResponse, useService } from '../../support/service.ts'
import { instant, uuidV7 } from '../consents/records.ts'
import { visible } from '../visible.ts'
import { cors, corsOf, expectRefused, newShop, origin, path, type Shop } from './shop.ts'

const unlimited = { max: 1e6, seconds: 60 }
const service = useService({ bannerLimits: { address: unlimited, site: unlimited } })
let shop: Shop

beforeEach(async () => {
  shop = await newShop(service)
})

describe('POST /api/v1/public/consent › 201', () => {
  it('returns only the fields of the decision', async () => {
    const sent = {
      consent_id: 'banner-3',
      accepted: true,
      preferences: { marketing: false },
      policy_version: 4,
    }
    const { status, body } = await shop.visit({ ...sent, subject_id: 'maria' })
    expect(status).toBe(201)
    expect(body).toEqual({
      ...sent,
      id: expect.stringMatching(uuidV7),
      created_at: expect.stringMatching(instant),
      consent_token: expect.stringMatching(/^ct-[\w-]{60}$/),
    })
  })

  it('records the page’s body and the connection’s address for the token’s site', async () => {
    const sent = { consent_id: 'b', subject_id: 'maria', accepted: true, preferences: { a: [1] } }
    const { body } = await shop.visit(sent, { 'user-agent': 'Mozilla/5.0 (test)' })
    expect((await shop.get(body.id)).body).toEqual({
      ...sent,
      id: body.id,
      site_id: shop.siteId,
      country: null,
      region: null,
      user_agent: 'Mozilla/5.0 (test)',
      policy_version: 1,
      created_at: body.created_at,
      updated_at: body.created_at,
      deleted_at: null,
    })
  })

  it('names the site as the actor in the audit trail', async () => {
    const { body } = await shop.visit({ accepted: true })
    const entry = { action: 'created', accepted: true, changed_by: 'site_token', actor_id: shop.siteId }
    expect((await shop.history(body.id)).body.data).toEqual([expect.objectContaining(entry)])
  })

  it('defaults to a refusal and the site’s current policy version', async () => {
    expect((await shop.visit({})).body.policy_version).toBe(1)
    await service.sql`update sites set policy_version = 7 where id = ${shop.siteId}` // as another node does
    const { body } = await shop.visit({})
    expect(body).toMatchObject({ accepted: false, preferences: {}, consent_id: null, policy_version: 7 })
    expect((await shop.visit({ policy_version: 6 })).body.policy_version).toBe(6)
  })

  it.each([
    ['none', {}, null],
    ['one too long, cut', { 'user-agent': 'x'.repeat(1025) }, 'x'.repeat(1024)],
    ['one in Latin-1', { 'user-agent': Buffer.from('Käse', 'latin1').toString('latin1') }, 'Käse'],
  ])('stores the user agent: %s', async (_name, headers, expected) => {
    const { body } = await shop.visit({}, headers)
    expect((await shop.get(body.id)).body.user_agent).toBe(expected)
  })

  it('accepts a request without Origin', async () => {
    const answer = await shop.send({ body: {}, headers: { 'x-site-token': shop.siteToken } })
    expect([answer.status, corsOf(answer)]).toEqual([201, cors.hidden])
  })

  it.each([
    ['a good API key of another account', async () => bearer((await service.newAccount()).key)],
    ['its own API key', async () => bearer(shop.key)],
    ['a bad API key', async () => bearer('sk-nonsense')],
    ['another scheme', async () => ({ authorization: 'Basic eDp4' })],
    ['a cookie', async () => ({ cookie: 'consent_session=nonsense; __Host-consent_session=x' })],
  ])('uses the token and ignores %s', async (_name, makeHeaders) => {
    const { status, body } = await shop.visit({}, await makeHeaders())
    expect(status).toBe(201)
    expect((await shop.history(body.id)).body.data[0].actor_id).toBe(shop.siteId)
  })

  it('takes no quota unit, and works when the quota is used up', async () => {
    const { sql } = service
    await sql`update accounts set monthly_quota = 0 where account_id = ${shop.accountId}`
    const answer = await shop.visit({}, bearer(shop.key))
    expect(answer.status).toBe(201)
    expect(Object.keys(answer.headers).filter(name => name.startsWith('x-quota'))).toEqual([])
    expect(await sql`select * from usage where account_id = ${shop.accountId}`).toEqual([])
  })

  it('accepts 32 preferences', async () => {
    const { body } = await shop.visit({ preferences: preferencesOf(32) })
    expect(body.preferences).toEqual(preferencesOf(32))
  })

  it('accepts a body of 16 KiB', async () => {
    expect((await shop.visit('{}'.padEnd(16 * 1024))).status).toBe(201)
  })
})

const preferencesOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, true]))

describe('POST /api/v1/public/consent › 400', () => {
  it.each(['site_id', 'ip_address', 'user_agent', 'country', 'region', 'acepted'])(
    'rejects %s in the body and names it',
    async name => {
      const values: Record<string, string> = { site_id: shop.siteId, ip_address: '193.0.6.139' }
      const answer = await shop.visit({ accepted: true, [name]: values[name] ?? 'x' })
      await expectRefused(shop, answer, [400, 'invalid_request'])
      expect(answer.body.message).toBe(`unknown field: ${name}`)
    },
  )

  it('rejects 33 preferences', async () => {
    await expectRefused(shop, await shop.visit({ preferences: preferencesOf(33) }), [400, 'invalid_request'])
  })
})

describe('POST /api/v1/public/consent › 401', () => {
  const strangers: [name: string, headers: () => Record<string, string>][] = [
    ['no credential', () => ({})],
    ['an empty token', () => token('')],
    ['a malformed token', () => token('st-nonsense')],
    ['a token with one character changed', () => token(changed(shop.siteToken))],
    ['a token of the site that was never made', () => token(newSiteToken(shop.accountId, shop.siteId))],
    ['a token of an unknown site', () => token(newSiteToken(shop.accountId, newId()))],
    ['a token of an unknown account', () => token(newSiteToken(newId(), shop.siteId))],
    ['the token twice', () => token(`${shop.siteToken}, ${shop.siteToken}`)],
    ['an API key for the token', () => token(shop.key)],
    ['an API key of the account', () => bearer(shop.key)],
    ['an API key that is none', () => bearer(newApiKey(shop.accountId))],
    ['the token in Authorization', () => bearer(shop.siteToken)],
    ['the token in a cookie', () => ({ cookie: `consent_session=${shop.siteToken}` })],
  ]
  let reference: ServiceResponse

  beforeAll(async () => {
    reference = await service.call('POST', path)
  })

  it.each(strangers)(
    'returns the same bytes for %s, even if something else is invalid too',
    async (_name, makeHeaders) => {
      const headers = makeHeaders()
      const bodies = [{}, '{', { site_id: 1 }, 'x'.repeat(20_000), undefined]
      for (const body of bodies) {
        const other = { ...headers, origin: 'https://evil.example', 'content-type': 'text/plain' }
        const answers = [await shop.send({ body, headers }), await shop.send({ body, headers: other })]
        for (const answer of answers) expect(visible(answer)).toEqual(visible(reference))
      }
      expect(await shop.count()).toBe(0)
    },
  )

  it('is returned for a missing token and not readable by any page', () => {
    expect(reference.status).toBe(401)
    expect(reference.text).toBe('{"error":"unauthorized","message":"A valid site token is required."}')
    expect(corsOf(reference)).toEqual(cors.hidden)
  })
})

describe('POST /api/v1/public/consent › 403', () => {
  it.each([
    'https://evil.example',
    'http://shop.example.com',
    'https://shop.example.com:8443',
    'https://shop.example.com.evil.example',
    'https://www.shop.example.com',
    'https://example.com',
    'https://shop.example.com/',
    'https://SHOP.example.com',
    'https://shop.example.com, https://shop.example.com',
    'null',
    '',
    '*',
  ])('is returned to a page of the origin %j, which cannot read it', async other => {
    const answer = await shop.visit({ accepted: true }, { origin: other })
    await expectRefused(shop, answer, [403, 'forbidden'])
    expect(corsOf(answer)).toEqual(cors.hidden)
  })

  it('is returned before the body is validated', async () => {
    const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' }
    for (const body of ['{', 'x'.repeat(20_000)]) expect((await shop.visit(body, headers)).status).toBe(403)
  })

  it('is returned to every page when the site has no origins', async () => {
    const { siteToken } = await service.newAccount()
    const headers = { 'x-site-token': siteToken }
    expect((await shop.send({ body: {}, headers: { ...headers, origin } })).status).toBe(403)
    expect((await shop.send({ body: {}, headers })).status).toBe(201)
  })

  it("is returned to pages of another site's origin", async () => {
    const other = await newShop(service)
    await service.sql`update sites set allowed_origins = '["https://other.example"]' where id = ${other.siteId}`
    expect((await other.visit()).status).toBe(403)
    expect((await other.visit({}, { origin: 'https://other.example' })).status).toBe(201)
  })
})

describe('POST /api/v1/public/consent › 404 and 405', () => {
  it.each(['GET', 'PUT', 'PATCH', 'DELETE'])('rejects the method %s for anyone', async method => {
    const headers = { 'x-site-token': shop.siteToken, origin }
    const answer = await service.call(method, path, { headers })
    await expectRefused(shop, answer, [405, 'invalid_request'])
    expect(answer.headers['allow']).toBe('POST, OPTIONS')
  })

  it.each([`${path}/`, `${path}/${newId()}`, `${path}s`, '/api/v1/public'])(
    'responds 404 for %s, even with a token',
    async other => {
      const headers = { 'x-site-token': shop.siteToken }
      expect((await service.call('POST', other, { headers, body: {} })).status).toBe(401)
      expect((await service.call('POST', other, { key: shop.key, body: {} })).status).toBe(404)
    },
  )
})

describe('POST /api/v1/public/consent › 413', () => {
  it('is returned for a body over 16 KiB and readable by the page', async () => {
    const answer = await shop.visit('{}'.padEnd(16 * 1024 + 1))
    await expectRefused(shop, answer, [413, 'payload_too_large'])
    expect(corsOf(answer)).toEqual(cors.readable)
  })
})

function bearer(key: string) {
  return { authorization: `Bearer ${key}` }
}

function token(text: string) {
  return { 'x-site-token': text }
}

function changed(text: string): string {
  return text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')
}
