import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../server/ids.ts'
import { api, type Endpoint } from '../../../src/contract/index.ts'
import { type ServiceResponse, useService } from '../../support/service.ts'
import { cors, corsOf, newShop, origin, path, type Shop } from './shop.ts'

const service = useService()
let shop: Shop

beforeAll(async () => {
  shop = await newShop(service)
})

/** Sends a browser's preflight (Fetch standard, CORS-preflight fetch). */
function preflight(url: string, method: string, headers: Record<string, string> = {}): Promise<ServiceResponse> {
  const asked = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type,x-site-token',
  }
  return service.call('OPTIONS', url, { headers: { ...asked, ...headers } })
}

describe('CORS › preflight', () => {
  it('allows POST with its two headers for a day, without credentials', async () => {
    const answer = await preflight(path, 'POST')
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(corsOf(answer)).toEqual([
      'access-control-allow-headers: Content-Type, X-Site-Token',
      'access-control-allow-methods: POST',
      'access-control-allow-origin: *',
      'access-control-max-age: 86400',
    ])
  })

  it.each([
    ['another origin', { origin: 'https://evil.example' }],
    ['another method', { 'access-control-request-method': 'DELETE' }],
    ['another header', { 'access-control-request-headers': 'authorization' }],
    ['a token, which browsers do not send here', { 'x-site-token': 'st-nonsense' }],
  ])('is identical for %s', async (_name, headers) => {
    const reference = await preflight(path, 'POST')
    const answer = await preflight(path, 'POST', headers)
    expect([answer.status, corsOf(answer)]).toEqual([204, corsOf(reference)])
  })
})

describe('CORS › response to a visit', () => {
  it('is readable by the page of its origin, and not cached for others', async () => {
    const answer = await shop.visit()
    expect([answer.status, corsOf(answer)]).toEqual([201, cors.readable])
  })

  it.each([
    ['400', { accepted: 1 }, {}],
    ['400', '{', {}],
    ['413', ' '.repeat(20_000), {}],
    ['415', '{}', { 'content-type': 'text/plain' }],
  ])('lets the page read an error: %s', async (status, body, headers) => {
    const answer = await shop.visit(body, headers)
    expect([String(answer.status), corsOf(answer)]).toEqual([status, cors.readable])
  })
})

const others = Object.values(api as Record<string, Record<string, Endpoint>>)
  .flatMap(endpoints => Object.values(endpoints))
  .filter(({ access }) => access !== 'site_token')
  .map(({ method, path }) => [method, path.replace(':id', newId())] as const)
const unknown = [
  ['GET', '/nope'],
  ['GET', '/%zz'],
  ['PATCH', '/api/v1/consents'],
  ['POST', `${path}/x`],
] as const

describe.each([...others, ...unknown])('CORS › %s %s', (method, url) => {
  const callers: [name: string, headers: () => Record<string, string> | Promise<Record<string, string>>][] = [
    ['nobody', () => ({})],
    ['an API key', () => ({ authorization: `Bearer ${shop.key}` })],
    ['a session', () => service.signIn(shop)],
    ['a site token', () => ({ 'x-site-token': shop.siteToken })],
  ]

  it.each(callers)('has no CORS headers when called by %s', async (_name, makeHeaders) => {
    const headers = { ...(await makeHeaders()), origin }
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? {} : undefined
    for (const answer of [await service.call(method, url, { headers, body }), await preflight(url, method, headers)]) {
      expect(corsOf(answer).filter(header => !/^vary: Accept(-Encoding)?$/.test(header))).toEqual([])
      expect(answer.status === 204).toBe(false)
    }
  })
})
