import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Consent, ConsentQuery } from '../../../src/contract/index.ts'
import { type ServiceResponse, useService } from '../../support/service.ts'
import { type Filters, instants, matching, populate } from '../consents/population.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { anyMutation, anyOf, fieldsOf, takes } from './arbitraries.ts'
import { converse } from './raw-connection.ts'
import { expectClientError, useRecordCount } from './record-count.ts'
import { partsFor } from './request-parts.ts'
import { type Target, writeEndpoints } from './write-endpoints.ts'

/** How often each property is tried; the embedded database has one backend, and is tried less. */
const numRuns = process.env['TEST_ENGINE'] === 'postgres' ? 200 : 70

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

describe.each(writeEndpoints)('random requests › $name', ({ endpoint, open }) => {
  const schema = endpoint.body as NonNullable<typeof endpoint.body>
  let target: Target
  let valid: fc.Arbitrary<Record<string, unknown>>
  beforeAll(async () => {
    target = await open(owner)
    valid = anyOf(schema).map(body => ({ ...body, ...target.required }))
  })
  const recordCount = useRecordCount(service)

  it('stores exactly what its schema accepts', async () => {
    const property = fc.asyncProperty(valid, async body => {
      const answer = await target.send(body)
      recordCount.add(answer)
      expect(answer.status, answer.text).toBe(endpoint.status)
      await target.expectStored(answer, body)
    })
    await fc.assert(property, { numRuns })
  })

  it('returns 4xx for anything else, or stores it exactly', async () => {
    const mutation = anyMutation(Object.keys(fieldsOf(schema)))
    const property = fc.asyncProperty(valid, mutation, async (body, { apply }) => {
      const before = await target.state()
      const sent = apply(body)
      const answer = await target.send(sent)
      recordCount.add(answer)
      const text = Buffer.from(sent).toString()
      if (answer.status === endpoint.status) {
        await target.expectStored(answer, JSON.parse(text))
      } else {
        expectClientError(answer)
        const isSent = Buffer.from(text).equals(Buffer.from(sent)) // and so UTF-8
        if (isSent && takes(schema, text)) expect(answer.status).toBe(404) // a site that nobody has
        expect(await target.state()).toEqual(before)
      }
    })
    await fc.assert(property, { numRuns })
  })
})

describe('random requests › list', () => {
  let records: Consent[]
  let lister: Owner
  beforeAll(async () => {
    lister = await newOwner(service)
    records = await populate(service.sql, lister, 120)
  })
  useRecordCount(service)

  /** Values that select some of the records; the rest of a query is what the schema says. */
  const known = () => {
    const some = <K extends keyof Consent>(name: K) => [...new Set(records.map(record => record[name]))]
    const times = instants.flatMap(at => [-1, 0, 1].map(step => new Date(at.getTime() + step).toISOString()))
    const texts = { subject_id: some('subject_id'), consent_id: some('consent_id') }
    return { site_id: some('site_id'), ...texts, from: times, to: times }
  }
  const anyQuery = () =>
    anyOf(ConsentQuery, known()).map(({ cursor: _, ...query }) =>
      Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)])),
    )

  const expectPage = (
    answer: ServiceResponse,
    { limit = '50', expiry, ...filters }: Filters & { limit?: string; expiry?: string },
  ) => {
    if (expiry !== undefined && Object.keys(filters).some(name => name !== 'site_id'))
      return expectClientError(answer, 400)
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body.limit).toBe(Number(limit))
    const found = expiry === undefined ? matching(records, filters) : [] // none of them ends
    expect(answer.body.data).toEqual(found.slice(0, Number(limit)))
  }

  it('returns the matching records for any query that its schema accepts', async () => {
    const property = fc.asyncProperty(anyQuery(), async query => expectPage(await lister.list(query), query))
    await fc.assert(property, { numRuns })
  })

  it('returns 4xx or the matching records for any other query', async () => {
    const name = fc.oneof(fc.constantFrom(...Object.keys(fieldsOf(ConsentQuery))), fc.string())
    const value = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('true', '1', '', '\0', '\n', '2026-05-17T09:30:00Z', lister.siteId),
    )
    const pair = fc.tuple(name, value).map(([key, text]) => new URLSearchParams({ [key]: text }).toString())
    const pieces = 'limit accepted subject_id = & % + ; ? [ ] . 1 true %00 %ff %c3 %a9 %zz'.split(' ')
    const noise = fc.string({ unit: fc.constantFrom(...pieces), maxLength: 12 })
    const extra = fc.array(fc.oneof(pair, noise), { minLength: 1, maxLength: 3 })
    const property = fc.asyncProperty(anyQuery(), extra, fc.boolean(), async (query, more, isFirst) => {
      const own = new URLSearchParams(query).toString()
      const text = (isFirst ? [...more, own] : [own, ...more]).join('&')
      const answer = await lister.list(text)
      if (answer.status !== 200) return expectClientError(answer, 400)
      const asked = [...new URLSearchParams(text)]
      expect(new Set(asked.map(([key]) => key)).size).toBe(asked.length)
      expect(takes(ConsentQuery, JSON.stringify(Object.fromEntries(asked)))).toBe(true)
      expectPage(answer, Object.fromEntries(asked))
    })
    await fc.assert(property, { numRuns })
  })
})

describe('random requests › connection', () => {
  useRecordCount(service)

  it('when a request has arbitrary bytes, responds with 2xx or 4xx', async () => {
    const request = Buffer.from(partsFor(owner).get('limit=1'), 'latin1')
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 4 }),
      fc
        .constantFrom('\r\n', '\n', '\r', '\0', ' ', '\t', ':', 'Content-Length: 1\r\n', '%', '\r\nX: y')
        .map(Buffer.from),
    )
    const splice = fc.tuple(fc.nat(request.length), fc.nat(3), piece)
    const spoilt = fc
      .array(splice, { minLength: 1, maxLength: 3 })
      .map(splices =>
        splices.reduce<Buffer>(
          (bytes, [at, drop, add]) => Buffer.concat([bytes.subarray(0, at), add, bytes.subarray(at + drop)]),
          request,
        ),
      )
    const noise = fc.uint8Array({ minLength: 1, maxLength: 200 }).map(bytes => Buffer.from(bytes))
    const property = fc.asyncProperty(fc.oneof(spoilt, spoilt, noise), async bytes => {
      const answers = await converse(service.url, bytes, { timeoutMs: 100, mayWait: true })
      const heads = bytes.toString('latin1').split(/\r?\n\r?\n(?=[\s\S])/) // a blank line in the middle makes two requests
      expect(answers.length).toBeLessThanOrEqual(heads.length)
      for (const answer of answers) if (answer.status !== 200) expectClientError(answer)
    })
    await fc.assert(property, { numRuns: 300 }) // a third of them wait for more, and so does the server
  })
})
