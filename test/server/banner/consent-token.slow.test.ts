import fc from 'fast-check'
import type { Sql } from 'postgres'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { decodeConsentToken, encodeConsentToken } from '../../../server/banner/consent-token.ts'
import { newId } from '../../../server/ids.ts'
import { consentTokenSecret, type ServiceResponse, useService } from '../../support/service.ts'
import { publishNotice } from '../consents/notices.ts'
import { cors, corsOf, newShop, origin, type Shop } from './shop.ts'

const unlimited = { max: 1e6, seconds: 60 }
const bannerLimits = { address: unlimited, site: unlimited }
const service = useService({ bannerLimits })
let shop: Shop

/** Statements of the public flow, without the look-up of a site's token. */
let statements = 0

beforeAll(async () => {
  const publicSql = new Proxy(service.sql, {
    apply: (target, self, args: Parameters<Sql>) => {
      const text = [args[0]].flat().join('')
      if (/^\s*(with|select|insert|update)\b/.test(text) && !text.includes('from site_tokens')) statements += 1
      return Reflect.apply(target, self, args) as unknown
    },
  })
  Object.assign(service, await service.addNode({ bannerLimits, publicSql }))
})

beforeEach(async () => {
  shop = await newShop(service)
})

const dayMs = 24 * 60 * 60 * 1000
const invalid =
  '{"error":"invalid_request","message":"consent_token: is not valid, or no longer: record the consent without it"}'

async function visit(body: object): Promise<ServiceResponse['body']> {
  const answer = await shop.visit(body)
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}

/** Acceptance and preferences of each entry. */
async function states(id: string): Promise<[string, boolean, object][]> {
  const { body } = await shop.history(id)
  return body.data.map((entry: never) => [entry['action'], entry['accepted'], entry['preferences']])
}

/** Sends them and expects that each gets the same bytes as the token of nothing. */
async function expectInvalid(...bodies: object[]): Promise<void> {
  for (const body of bodies) {
    const answer = await shop.visit(body)
    expect([answer.status, answer.text]).toEqual([400, invalid])
    expect(corsOf(answer)).toEqual(cors.readable)
  }
}

describe('consent_token › update', () => {
  it('updates the visitor’s record, as the site, instead of creating one', async () => {
    const first = await visit({ subject_id: 'maria', accepted: true, preferences: { ads: true } })
    const answer = await shop.visit({ consent_token: first.consent_token, accepted: false, preferences: {} })
    expect([answer.status, corsOf(answer)]).toEqual([201, cors.readable])
    expect(answer.body).toEqual({ ...first, accepted: false, preferences: {}, consent_token: expect.any(String) })
    expect(answer.body.consent_token).not.toBe(first.consent_token)
    expect((await shop.get(first.id)).body).toMatchObject({ subject_id: 'maria', accepted: false, preferences: {} })
    const site = { changed_by: 'site_token', actor_id: shop.siteId }
    const { body } = await shop.history(first.id)
    expect(body.data).toMatchObject([
      { ...site, action: 'created', accepted: true, preferences: { ads: true } },
      { ...site, action: 'updated', accepted: false, preferences: {} },
    ])
    expect(await shop.count()).toBe(1)
  })

  it('keeps absent fields, and writes nothing if the values are unchanged', async () => {
    const { id, consent_token } = await visit({ accepted: true, preferences: { ads: true } })
    const same = await visit({ consent_token, preferences: { ads: true } })
    expect(same).toMatchObject({ id, accepted: true, preferences: { ads: true } })
    const refused = await visit({ consent_token: same.consent_token, accepted: false })
    expect(refused).toMatchObject({ id, accepted: false, preferences: { ads: true } })
    expect((await visit({ consent_token: refused.consent_token })).id).toBe(id)
    expect(await states(id)).toHaveLength(2)
  })

  it('when an expired consent is given again, renews it once', async () => {
    await publishNotice(service, shop, { version: 1, languages: ['en'], validFor: 'P1M' })
    const { id, consent_token } = await visit({ subject_id: 'maria', accepted: true, preferences: { ads: true } })
    await service.sql`update consents set expires_at = now() - interval '1 day' where id = ${id}`
    await visit({ consent_token, preferences: { ads: true } })
    expect(await states(id)).toHaveLength(1)
    const again = { consent_token, accepted: true, preferences: { ads: true } }
    const [lost, answer] = [await visit(again), await visit(again)]
    expect(answer).toEqual({ ...lost, consent_token: expect.any(String) })
    expect(await states(id)).toEqual(['created', 'updated'].map(action => [action, true, { ads: true }]))
    const headers = { authorization: `Bearer ${shop.key}` }
    const check = await service.call('GET', '/api/v1/subjects/check?subject_id=maria&purpose=ads', { headers })
    expect(check.body).toMatchObject({ allowed: true, reason: 'consented' })
    expect(Date.parse(check.body.expires_at)).toBeGreaterThan(Date.now())
  })

  it('still works after the site’s token was rotated', async () => {
    const { id, consent_token } = await visit({ accepted: true })
    const headers = await service.signIn(shop)
    const { body } = await service.call('POST', `/api/v1/sites/${shop.siteId}/token`, { headers, body: {} })
    const answer = await shop.visit({ consent_token, accepted: false }, { 'x-site-token': body.token })
    expect([answer.status, answer.body.id]).toEqual([201, id])
  })

  it('does not store connection data', async () => {
    const { id, consent_token } = await visit({ accepted: true })
    const before = (await shop.get(id)).body
    await shop.visit({ consent_token, accepted: false }, { 'user-agent': 'another' })
    expect((await shop.get(id)).body.user_agent).toBe(before.user_agent)
  })

  it('takes two statements', async () => {
    const { consent_token } = await visit({ accepted: true })
    statements = 0
    await visit({ consent_token, accepted: false })
    expect(statements).toBe(2)
  })
})

describe('consent_token › repeated update', () => {
  it('returns the same response, with a token that can update the current record', async () => {
    const { consent_token } = await visit({ accepted: true })
    const body = { consent_token, accepted: false, preferences: { ads: false } }
    const [lost, again] = [await visit(body), await visit(body)]
    expect(again).toEqual({ ...lost, consent_token: expect.any(String) })
    expect(await states(lost.id)).toHaveLength(2)
    expect((await visit({ consent_token: again.consent_token, accepted: true })).id).toBe(lost.id)
  })

  it.each([
    ['with another answer', { accepted: true, preferences: { ads: true } }],
    ['with other preferences', { accepted: false, preferences: { ads: 1 } }],
    ['without preferences that it set', { accepted: true }],
    ['without anything', {}],
    ['that has the same effect', { accepted: false }],
    ['under another key', { accepted: false, preferences: { ads: false }, idempotency_key: 'x'.repeat(16) }],
  ])('%s is a conflict and changes nothing', async (_name, other) => {
    const { id, consent_token } = await visit({ accepted: true })
    await visit({ consent_token, accepted: false, preferences: { ads: false } })
    const answer = await shop.visit({ consent_token, ...other })
    expect([answer.status, answer.body.error, corsOf(answer)]).toEqual([409, 'conflict', cors.readable])
    expect(await states(id)).toHaveLength(2)
  })

  it('returns the same response for another token of the same version', async () => {
    const { consent_token } = await visit({ accepted: true })
    const other = (await visit({ consent_token })).consent_token
    const first = await visit({ consent_token, accepted: false })
    expect(await visit({ consent_token: other, accepted: false })).toEqual({
      ...first,
      consent_token: expect.any(String),
    })
  })

  it('is recognized by its key, with its fields in any order', async () => {
    const { consent_token } = await visit({ accepted: true })
    const key = 'k'.repeat(16)
    const first = await visit({ consent_token, accepted: false, preferences: { a: 1, b: 2 }, idempotency_key: key })
    const again = await visit({ idempotency_key: key, preferences: { b: 2, a: 1 }, accepted: false, consent_token })
    expect(again).toEqual({ ...first, consent_token: expect.any(String) })
  })

  it('is a conflict once the record was changed again, even back to the same answer', async () => {
    const { id, consent_token } = await visit({ accepted: true })
    const refusal = { consent_token, accepted: false }
    const second = await visit(refusal)
    const third = await visit({ consent_token: second.consent_token, accepted: true })
    await visit({ consent_token: third.consent_token, accepted: false })
    for (const token of [consent_token, second.consent_token])
      expect((await shop.visit({ ...refusal, consent_token: token })).status).toBe(409)
    expect(await states(id)).toHaveLength(4)
  })

  it('is a conflict once the operator has changed the record, even to the same answer', async () => {
    const { id, consent_token } = await visit({ accepted: true })
    await shop.update(id, { accepted: false })
    for (const accepted of [false, true]) expect((await shop.visit({ consent_token, accepted })).status).toBe(409)
    expect(await states(id)).toHaveLength(2)
  })
})

describe('consent_token › answer to another notice', () => {
  const secondPolicy = () => service.sql`update sites set policy_version = 2 where id = ${shop.siteId}`

  it.each([
    ['the version that the request names', { policy_version: 2 }, () => {}],
    ['the version that the site has by now', {}, () => secondPolicy()],
  ])('creates a record of the same person under %s', async (_name, more, prepare) => {
    const first = await visit({ subject_id: 'maria', consent_id: 'banner', accepted: true, preferences: { ads: true } })
    await prepare()
    const answer = { consent_token: first.consent_token, accepted: true, preferences: { maps: true } }
    const second = await visit({ ...answer, ...more })
    expect(second).toMatchObject({ policy_version: 2, preferences: { maps: true }, consent_id: 'banner' })
    expect((await shop.get(second.id)).body.subject_id).toBe('maria')
    expect(await states(first.id)).toEqual([['created', true, { ads: true }]])
    expect(await shop.count()).toBe(2)
    const third = await visit({ consent_token: second.consent_token, accepted: false, ...more })
    expect(third.id).toBe(second.id)
  })

  it('rejects a token of any version once another answer has replaced it', async () => {
    const first = await visit({ subject_id: 'maria', accepted: true })
    await visit({ consent_token: first.consent_token, accepted: false })
    const replay = { consent_token: first.consent_token, accepted: true, preferences: {}, policy_version: 77 }
    expect((await shop.visit(replay)).status).toBe(409)
    expect(await shop.count()).toBe(1)
  })

  it.each([
    ['named', { policy_version: 2, notice_locale: 'fr' }, () => {}],
    ["the site's by now", {}, () => secondPolicy()],
  ])(
    'when the notice differs (%s), a refusal withdraws the visitor’s existing record',
    async (_name, more, prepare) => {
      const first = await visit({ accepted: true, notice_locale: 'de', preferences: { ads: true } })
      await prepare()
      const refusal = { consent_token: first.consent_token, accepted: false, ...more }
      const [lost, again] = [await visit(refusal), await visit(refusal)]
      expect(again).toEqual({ ...lost, consent_token: expect.any(String) })
      expect(again).toMatchObject({ id: first.id, policy_version: 1, accepted: false, preferences: { ads: true } })
      expect((await visit({ ...refusal, consent_token: again.consent_token })).id).toBe(first.id)
      expect((await states(first.id)).map(([, accepted]) => accepted)).toEqual([true, false])
      expect((await shop.get(first.id)).body.notice_locale).toBe('de')
      expect(await shop.count()).toBe(1)
    },
  )

  it.each([
    ['accepted', { preferences: { ads: true } }],
    ['preferences', { accepted: true }],
    ['accepted, preferences', {}],
  ])('requires both accepted and preferences, and names the missing field: %s', async (names, answer) => {
    const { consent_token } = await visit({ accepted: true, preferences: { ads: true } })
    await secondPolicy()
    const { status, body } = await shop.visit({ consent_token, ...answer })
    const message = `${names}: required, because the record has a different notice`
    expect([status, body.message]).toEqual([400, message])
    expect(await shop.count()).toBe(1)
  })

  it('creates a record for a text in another language, and none without a language', async () => {
    const first = await visit({ accepted: true, notice_locale: 'de' })
    const answer = { accepted: true, preferences: {}, notice_locale: 'fr' }
    const second = await visit({ consent_token: first.consent_token, ...answer })
    expect(second.id).not.toBe(first.id)
    expect((await visit({ consent_token: second.consent_token, accepted: false })).id).toBe(second.id)
    expect((await shop.get(second.id)).body.notice_locale).toBe('fr')
  })

  it('still updates the old record if the request states its version', async () => {
    const { id, consent_token } = await visit({ accepted: true })
    await secondPolicy()
    await visit({ consent_token, accepted: true, preferences: {} })
    const answer = await visit({ consent_token, preferences: { ads: true }, policy_version: 1 })
    expect(answer).toMatchObject({ id, accepted: true, preferences: { ads: true }, policy_version: 1 })
  })

  it('when it is sent several times from several addresses, creates one record', async () => {
    const { consent_token } = await visit({ accepted: true })
    await secondPolicy()
    const body = { consent_token, accepted: true, preferences: { ads: true } }
    const lost = await visit(body)
    const again = await shop.visit(body, { 'user-agent': 'updated meanwhile' })
    expect(again.body).toEqual({ ...lost, consent_token: expect.any(String) })
    const other = await shop.visit({ ...body, preferences: {} })
    expect([other.status, other.body.message]).toEqual([409, 'The consent_token was already used for another answer.'])
    expect(await shop.count()).toBe(2)
  })
})

describe('consent_token › 400', () => {
  it.each(['consent_id', 'subject_id'])('is returned for a %s that differs from the record’s', async name => {
    const { id, consent_token } = await visit({ consent_id: 'banner', subject_id: 'maria', accepted: true })
    const answer = await shop.visit({ consent_token, [name]: 'anna', accepted: false })
    expect([answer.status, answer.body.message]).toEqual([400, `${name}: must match the consent_token’s record`])
    const own = { consent_id: 'banner', subject_id: 'maria' }
    expect((await visit({ consent_token, ...own, accepted: false })).id).toBe(id)
  })

  it('is identical for every malformed or forged token, and runs no statement', async () => {
    const { id, consent_token } = await visit({ accepted: true })
    const scope = { secret: consentTokenSecret, accountId: shop.accountId, siteId: shop.siteId }
    const record = { id, version: 1 }
    const now = new Date()
    const made = (other: object, at = now) => encodeConsentToken({ ...scope, ...other }, record, at)
    const flipped = Buffer.from(consent_token.slice(3), 'base64url').map((byte, index) =>
      index === 17 ? byte ^ 1 : byte,
    )
    const tokens = [
      ...['', 'ct-', 'x', `ct-${'A'.repeat(60)}`, `${consent_token}=`, ` ${consent_token}`, consent_token.slice(3)],
      ...[consent_token.slice(0, -1), `${consent_token}A`, consent_token.toUpperCase(), shop.siteToken, shop.key],
      ...[null, 1, {}, [consent_token], 'ß'.repeat(60), `ct-${flipped.toString()}`],
      `ct-${Buffer.from(flipped).toString('base64url')}`,
      made({ secret: Buffer.alloc(32) }),
      made({ siteId: newId() }),
      made({ accountId: newId() }),
      made({ siteId: shop.accountId, accountId: shop.siteId }),
      made({}, new Date(now.getTime() - 400 * dayMs)),
    ]
    statements = 0
    await expectInvalid(...tokens.map(token => ({ consent_token: token, accepted: false })))
    expect(statements).toBe(0)
    expect(await states(id)).toHaveLength(1)
    expect((await visit({ consent_token: made({}, new Date(now.getTime() - 399 * dayMs)), accepted: false })).id).toBe(
      id,
    )
  })

  it('is identical for a token of another site of the account', async () => {
    const headers = await service.signIn(shop)
    const site = { name: 'another', allowed_origins: [origin], allow_duplicate: true }
    const { body } = await service.call('POST', '/api/v1/sites', { headers, body: site })
    const other = await shop.visit({ accepted: true }, { 'x-site-token': body.token })
    await expectInvalid({ consent_token: other.body.consent_token, accepted: false })
    expect(await states(other.body.id)).toHaveLength(1)
  })

  it('is identical for a deleted and a purged record; a restored one is a conflict', async () => {
    const { id, consent_token } = await visit({ accepted: true })
    await shop.remove(id)
    await expectInvalid(
      { consent_token, accepted: false },
      { consent_token, policy_version: 2 },
      { consent_token, subject_id: 'x' },
    )
    await shop.restore(id)
    expect((await shop.visit({ consent_token, accepted: false })).status).toBe(409)
    await service.sql`delete from consent_history where consent_id = ${id}`
    await service.sql`delete from consents where id = ${id}`
    await expectInvalid({ consent_token, accepted: false })
  })

  it('reports another invalid field before the token', async () => {
    const { consent_token } = await visit({ accepted: true })
    const answer = await shop.visit({ consent_token, accepted: 'no' })
    expect([answer.status, answer.body.message]).toEqual([400, 'accepted: must be true or false'])
  })
})

describe('decodeConsentToken', () => {
  const scope = { secret: consentTokenSecret, accountId: newId(), siteId: newId() }

  it.each([1, 2, 2 ** 31 - 1])('returns the record and version %d for 400 days', version => {
    const record = { id: newId(), version }
    const now = new Date('2026-11-23T12:00:00.000Z')
    const token = encodeConsentToken(scope, record, now)
    const decodeAt = (ms: number) => decodeConsentToken(scope, token, new Date(now.getTime() + ms))
    expect([decodeAt(-dayMs), decodeAt(0), decodeAt(400 * dayMs - 1)]).toEqual([record, record, record])
    expect([decodeAt(400 * dayMs), decodeAt(1e6 * dayMs)]).toEqual([null, null])
  })

  it('returns null for malformed text', () => {
    const texts = [
      fc.string({ unit: 'binary' }),
      fc.base64String({ minLength: 56, maxLength: 64 }),
      fc.stringMatching(/^[\w-]{60}$/),
    ]
    const token = fc.oneof(...texts, ...texts.map(text => text.map(value => `ct-${value}`)))
    fc.assert(
      fc.property(token, text => decodeConsentToken(scope, text, new Date(0)) === null),
      { numRuns: 1000 },
    )
  })

  it('returns null if any bit is changed', () => {
    const token = encodeConsentToken(scope, { id: newId(), version: 1 }, new Date())
    const bytes = Buffer.from(token.slice(3), 'base64url')
    for (let bit = 0; bit < 8 * bytes.length; bit += 1) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(decodeConsentToken(scope, `ct-${changed.toString('base64url')}`, new Date())).toBeNull()
    }
  })
})
