import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import * as bodies from './bodies.ts'
import { expectKept, expectRefused, instant, newOwner, type Owner, recordKeys, root, uuidV7 } from './records.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

async function networkOf(id: string): Promise<string | null> {
  const [row] = await service.sql`select ip_network::text as network from consents where id = ${id}`
  return row?.['network']
}

describe('POST /api/v1/consents › 201', () => {
  it('returns exactly the fields of a record, with defaults for omitted fields and null for unknown ones', async () => {
    const answer = await owner.post({ site_id: owner.siteId })
    expect(answer.status).toBe(201)
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(Object.keys(answer.body).sort()).toEqual(recordKeys)
    const { id, created_at, ...rest } = answer.body
    expect(id).toMatch(uuidV7)
    expect(created_at).toMatch(instant)
    expect(rest).toStrictEqual({
      site_id: owner.siteId,
      consent_id: null,
      subject_id: null,
      country: null,
      region: null,
      user_agent: null,
      accepted: false,
      preferences: {},
      policy_version: 1,
      updated_at: created_at,
      deleted_at: null,
    })
  })

  it('sets created_at to the millisecond in the id, which is the time of the request', async () => {
    const before = Date.now()
    const { id, created_at } = await owner.create()
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(Date.parse(created_at))
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(created_at)).toBeLessThanOrEqual(Date.now())
  })

  it("uses the site's current policy version if the body has none", async () => {
    const other = await newOwner(service)
    await service.sql`update sites set policy_version = 7 where id = ${other.siteId}`
    expect(await other.create()).toMatchObject({ policy_version: 7 })
    expect(await other.create({ policy_version: 3 })).toMatchObject({ policy_version: 3 })
  })

  it('stores the notice’s language in canonical form, and returns it only if it was sent', async () => {
    const created = await owner.post({ site_id: owner.siteId, notice_locale: 'DE-at', accepted: true })
    expect([created.status, created.body.notice_locale]).toEqual([201, 'de-AT'])
    expect(created.text.endsWith('"deleted_at":null,"notice_locale":"de-AT"}')).toBe(true)
    const { id } = created.body
    const [page, one] = [await owner.list({ limit: '1' }), await owner.get(id)]
    expect([page.body.data[0], one.text]).toEqual([created.body, created.text])
    expect((await owner.update(id, { accepted: false })).body).toMatchObject({
      notice_locale: 'de-AT',
      accepted: false,
    })
    expect((await owner.remove(id)).body.notice_locale).toBe('de-AT')
  })

  it('creates two records for two identical bodies with one consent_id', async () => {
    const body = { consent_id: 'banner', subject_id: 'one' }
    expect((await owner.create(body)).id).not.toBe((await owner.create(body)).id)
  })

  it.each(bodies.edgeFields)('accepts %s', async (_name, fields) => {
    const created = await owner.create(fields)
    expectKept(created, fields)
    expect((await owner.get(created.id)).body).toEqual(created)
  })
})

describe('POST /api/v1/consents › 201 › with ip_address', () => {
  it.each(bodies.networks)('stores %s as %s only, and returns neither', async (address, network) => {
    const answer = await owner.post({ site_id: owner.siteId, ip_address: address })
    expect(answer.status, answer.text).toBe(201)
    expect(await networkOf(answer.body.id)).toBe(network)
    const seen = [answer, await owner.get(answer.body.id), await owner.list(), await owner.history(answer.body.id)]
    for (const { text } of seen) expect(text).not.toMatch(/"ip_|203\.0\.113|2001:0?db8|64:ff9b/i)
  })

  it('stores no network when the body has no address', async () => {
    expect(await networkOf((await owner.create()).id)).toBeNull()
  })
})

describe('POST /api/v1/consents › 400', () => {
  let refused: Owner
  beforeAll(async () => {
    refused = await newOwner(service)
  })
  afterAll(async () => {
    const written = await service.sql`select from consents where account_id = ${refused.accountId}`
    expect(written.length, 'records written by refused requests').toBe(0)
  })
  const refuse = async (fields: object, named: string) =>
    expectRefused(await refused.post({ site_id: refused.siteId, ...fields }), named)

  it.each(bodies.fieldsBeyondLimits)('names %s when its value is out of range', async (field, value) => {
    await refuse({ [field]: value }, field)
  })

  it.each(bodies.noAddresses)('rejects %j as an address', address => refuse({ ip_address: address }, 'ip_address'))

  it('accepts only IP addresses, and returns 400, never 500, for any other text', async () => {
    const part = fc.constantFrom(...'0 1 255 256 ffff :: : . / [ ] # @ -'.split(' '), ' ', '\t')
    const made = fc.array(part, { maxLength: 12 }).map(parts => parts.join(''))
    const address = fc.oneof(made, fc.ipV4(), fc.ipV6())
    const property = fc.asyncProperty(address, async ip_address => {
      const { status } = await owner.post({ site_id: owner.siteId, ip_address })
      expect(status).toBe(isIP(ip_address) ? 201 : 400)
    })
    await fc.assert(property, { numRuns: 300 })
  })
})

describe('POST /api/v1/consents › 413', () => {
  it('accepts a body of 128 KiB and rejects one byte more, with and without Content-Length', async () => {
    const body = JSON.stringify({ site_id: owner.siteId }).padEnd(131_072)
    expect((await owner.post(body)).status).toBe(201)
    const large = await owner.post(`${body} `)
    expect(large.status).toBe(413)
    expect(large.body.error).toBe('payload_too_large')
    const headers = { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' }
    const streamed = await request(service.url + root, {
      method: 'POST',
      headers,
      body: Readable.from([body, ' ']),
    })
    expect(streamed.statusCode).toBe(413)
    expect(await streamed.body.json()).toEqual(large.body)
  })
})
