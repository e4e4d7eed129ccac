import { beforeEach, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { cors, corsOf, expectRefused, newShop, origin, type Shop } from './shop.ts'

const unlimited = { max: 1e6, seconds: 60 }
const service = useService({ bannerLimits: { address: unlimited, site: unlimited } })
let shop: Shop

beforeEach(async () => {
  shop = await newShop(service)
})

const pathFor = (id: string) => `/api/v1/public/klaro/v1/privacy-managers/${id}/submit`
const plain = { 'content-type': 'text/plain;charset=UTF-8', origin }

/** As KlaroApi of klaro 0.7.22 builds it; JSON leaves out what is undefined. */
const submission = (consents: object, more: object = {}) => ({
  location_data: { pathname: '/', port: 0, hostname: 'shop.example.com', protocol: 'https' },
  user_data: { client_version: '0.7.22', client_name: 'klaro:web' },
  consent_data: { consents, changes: consents, type: 'save', ...more },
})

const submit = (body: unknown, id: string = shop.siteToken, headers: Record<string, string> = {}) =>
  service.call('POST', pathFor(id), {
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { ...plain, ...headers },
  })

describe('POST /api/v1/public/klaro/v1/privacy-managers/{token}/submit', () => {
  it.each([
    ['accept', { ads: true }, true],
    ['save', { ads: false, maps: true }, true],
    ['save', { ads: false, maps: false }, false],
    ['decline', { ads: false }, false],
    ['decline', { ads: true }, false],
    ['contextual-accept', { ads: true }, true],
  ])('records a %s choice of %j as accepted: %s', async (type, consents, accepted) => {
    const answer = await submit(submission(consents, { type, config: 'shop' }))
    expect([answer.status, corsOf(answer)]).toEqual([200, cors.readable])
    expect(answer.body).toEqual({ id: expect.any(String) })
    const { body: record } = await shop.get(answer.body.id)
    expect(record).toMatchObject({ accepted, preferences: consents, consent_id: 'shop', subject_id: null })
    const { body: history } = await shop.history(answer.body.id)
    expect(history.data).toMatchObject([{ action: 'created', changed_by: 'site_token', actor_id: shop.siteId }])
  })

  it('does not count a required service as accepted', async () => {
    const id = `${shop.siteToken};required=session,cart`
    const kept = await submit(submission({ session: true, cart: true, ads: false }), id)
    const given = await submit(submission({ session: true, ads: true }), id)
    expect((await shop.get(kept.body.id)).body.accepted).toBe(false)
    expect((await shop.get(given.body.id)).body.accepted).toBe(true)
  })

  it.each([
    ['a notice that was shown', 'show', {}],
    ['what the page’s own code saved', 'script', { ads: true }],
  ])('records nothing for %s', async (_name, type, consents) => {
    const answer = await submit(submission(consents, { changes: {}, type }))
    expect([answer.status, answer.body]).toEqual([200, { id: null }])
    expect(await shop.count()).toBe(0)
  })

  it('stores Sec-GPC with the choice', async () => {
    const answer = await submit(submission({ ads: true }), shop.siteToken, { 'sec-gpc': '1' })
    expect((await shop.get(answer.body.id)).body).toMatchObject({ accepted: true, gpc: true })
  })

  it.each([
    ['invalid JSON', 'x', 400, 'invalid_request'],
    ['a type that is not Klaro’s', submission({ ads: true }, { type: 'implied' }), 400, 'invalid_request'],
    ['another field', { ...submission({ ads: true }), site_id: 'x' }, 400, 'invalid_request'],
    ['an answer that is neither yes nor no', submission({ ads: 'yes' }), 400, 'invalid_request'],
    [
      'too many services',
      submission(
        Object.fromEntries(
          Array(33)
            .fill(0)
            .map((_, n) => [n, true]),
        ),
      ),
      400,
      'invalid_request',
    ],
    ['a body of another tool', { accepted: true }, 400, 'invalid_request'],
    ['too long a body', ' '.repeat(20_000), 413, 'payload_too_large'],
  ])('rejects %s', async (_, body, status, error) => {
    await expectRefused(shop, await submit(body), [status, error])
  })

  const wrong: [string, () => string, Record<string, string>, number, string][] = [
    ['of no site', () => 'st-x', {}, 401, 'unauthorized'],
    ['with anything else after the token', () => `${shop.siteToken};x=1`, {}, 400, 'invalid_request'],
    ['from another origin', () => shop.siteToken, { origin: 'https://evil.example' }, 403, 'forbidden'],
    ['as JSON', () => shop.siteToken, { 'content-type': 'application/json' }, 415, 'invalid_request'],
  ]
  it.each(wrong)('rejects a request %s', async (_, id, headers, status, error) => {
    await expectRefused(shop, await submit(submission({ ads: true }), id(), headers), [status, error])
  })
})
