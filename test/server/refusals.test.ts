import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../support/service.ts'
import { accountRows, credentialFor, endpoints, type Holdings, newHoldings, requestFor, shapeOf } from './endpoints.ts'

const unlimited = { max: 1e6, seconds: 60 }
const service = useService({ bannerLimits: { address: unlimited, site: unlimited } })
let own: Holdings
beforeAll(async () => {
  own = await newHoldings(service)
})

const values = [
  null,
  '',
  'x'.repeat(2000),
  'a\0b',
  '\ud800',
  'true',
  1.5,
  -1,
  0,
  2 ** 31,
  true,
  [],
  [null],
  ['', ''],
  {},
]

type Route = (typeof endpoints)[number]

/** Sends a request with another body or query, and expects a refusal that changes nothing. */
async function refuse(of: Route, status: number, sent: { body?: unknown; query?: string; type?: string }) {
  const [method, path, { body }] = requestFor(of, own)
  const { query, type } = sent
  const url = query === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`
  const headers = { ...(await credentialFor(service, of.endpoint, own)), ...(type && { 'content-type': type }) }
  const answer = await service.call(method, url, { headers, body: 'body' in sent ? sent.body : body })
  expect([sent, answer.status, answer.body.error]).toEqual([
    sent,
    status,
    status === 413 ? 'payload_too_large' : 'invalid_request',
  ])
  return answer.body.message as string
}

async function expectUnchanged(work: () => Promise<void>): Promise<void> {
  const before = await accountRows(service.sql, own, ['usage'])
  await work()
  expect(await accountRows(service.sql, own, ['usage'])).toEqual(before)
}

const withBody = endpoints.filter(({ endpoint }) => endpoint.body)

describe.each(withBody)('request bodies › $route', of => {
  it('rejects fields with an invalid type or value, names each, and changes nothing', async () => {
    const [, , { body: valid }] = requestFor(of, own)
    await expectUnchanged(async () => {
      for (const field of Object.keys(shapeOf(of.endpoint.body)))
        for (const value of values) {
          const body = { ...(valid as object), [field]: value }
          if (of.endpoint.body?.safeParse(body).success === false)
            expect(await refuse(of, 400, { body })).toContain(field)
        }
    })
  })

  it('rejects unknown fields and bodies that are not an object, and changes nothing', async () => {
    const [, , { body: valid }] = requestFor(of, own)
    await expectUnchanged(async () => {
      for (const field of ['id', 'acepted', 'updated_at', 'constructor'])
        expect(await refuse(of, 400, { body: { ...(valid as object), [field]: 'x' } })).toBe(`unknown field: ${field}`)
      for (const body of ['null', '[]', '"text"', '1', '{', '{"a":1,"a":1}', '', undefined])
        await refuse(of, 400, { body, type: 'application/json' })
    })
  })

  it('rejects a body of another content type, such as a cross-site form can send', async () => {
    await expectUnchanged(async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'json'])
        await refuse(of, 415, { type })
    })
  })
})

const texts = ['x'.repeat(400), 'x', '%00', '%ff', '%20', '-1', '1.5', 'TRUE', '2026-02-30', '99999999999999']

describe.each(endpoints.filter(({ endpoint }) => endpoint.query))('query parameters › $route', of => {
  it('rejects an unknown parameter, and changes nothing', async () => {
    await expectUnchanged(async () => {
      for (const query of ['unknown=1', '__proto__=1', 'constructor', '=1', 'unknown=1&unknown=1', 'a=%ff', 'a=%'])
        await refuse(of, 400, { query })
    })
  })
})

describe.each(endpoints.filter(({ endpoint }) => Object.keys(shapeOf(endpoint.query)).length > 0))(
  'query parameters › $route',
  of => {
    it('rejects a parameter that is repeated, empty or invalid', async () => {
      for (const [name, schema] of Object.entries(shapeOf(of.endpoint.query))) {
        await refuse(of, 400, { query: `${name}=1&${name}=1` })
        await refuse(of, 400, { query: name })
        for (const text of texts) {
          const value = text === '%ff' ? null : decodeURIComponent(text)
          if (!schema.safeParse(value).success) await refuse(of, 400, { query: `${name}=${text}` })
        }
      }
    })
  },
)
