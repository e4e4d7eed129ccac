import { isIP } from 'node:net'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import * as bodies from './bodies.ts'
import {
  expectKept,
  expectRefused,
  instant,
  newOwner,
  type Owner,
  recordKeys,
  root,
  unknownId,
  uuidV7,
} from './records.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const isText = (value: unknown) => typeof value === 'string' && value !== ''

async function networkOf(id: string): Promise<string | null> {
  const [row] = await service.sql`select ip_network::text as network from consents where id = ${id}`
  return row?.['network']
}

describe('POST /api/v1/consents › 201', () => {
  it('answers with exactly the fields of a record, with defaults for omitted and null for unknown ones', async () => {
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

  it('sets created_at to the millisecond in the id, which is that of the request', async () => {
    const before = Date.now()
    const { id, created_at } = await owner.create()
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(Date.parse(created_at))
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(created_at)).toBeLessThanOrEqual(Date.now())
  })

  it("uses the site's current policy version when the body has none", async () => {
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

  it('creates two records for two equal bodies, because consent_id is a label and not a key', async () => {
    const body = { consent_id: 'banner', subject_id: 'one' }
    expect((await owner.create(body)).id).not.toBe((await owner.create(body)).id)
  })

  it.each(bodies.edgeFields)('accepts %s', async (_name, fields) => {
    const created = await owner.create(fields)
    expectKept(created, fields)
    expect((await owner.get(created.id)).body).toEqual(created)
  })

  it('reads a site_id in upper case as the same UUID', async () => {
    expect(await owner.create({ site_id: owner.siteId.toUpperCase() })).toMatchObject({
      site_id: owner.siteId,
    })
  })

  it.each(bodies.oddTexts)('keeps %s text exactly as sent, and finds it by nothing else', async (_name, text) => {
    const fields = { subject_id: text, consent_id: text, user_agent: text, preferences: { [text]: [text] } }
    const created = await owner.create(fields)
    expectKept(created, fields)
    const page = await owner.list({ subject_id: text, consent_id: text })
    expect(page.body.data).toEqual([created])
  })

  it('stores exactly what it accepts, for any text and preferences', async () => {
    const texts = { subject_id: bodies.anyText(255), user_agent: bodies.anyText(300) }
    const fields = fc.record({ ...texts, preferences: bodies.anyPreferences() })
    const property = fc.asyncProperty(fields, async sent => {
      expectKept(await owner.create(sent), sent)
    })
    await fc.assert(property, { numRuns: 150 })
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

  it.each(
    bodies.wrongTypes({
      site_id: () => false,
      consent_id: isText,
      subject_id: isText,
      accepted: value => value === true,
      preferences: value => JSON.stringify(value) === '{}',
      policy_version: value => value === 1,
      ip_address: () => false,
      user_agent: value => typeof value === 'string',
    }),
  )('does not take for %s the value %j', async (field, value) => {
    await refuse({ [field]: value }, value === 2 ** 53 ? '' : field)
  })

  it.each(bodies.fieldsBeyondLimits)('names %s when its value is out of bounds', async (field, value) => {
    await refuse({ [field]: value }, field)
  })

  it.each(bodies.readOnlyFields)('names %s when the body has it, because it is read-only', field =>
    refuse({ [field]: 'x' }, field),
  )

  it.each(bodies.noAddresses)('rejects %j as an address', address => refuse({ ip_address: address }, 'ip_address'))

  it('accepts only IP addresses, and answers 400 and never 500 to any other text', async () => {
    const part = fc.constantFrom(...'0 1 255 256 ffff :: : . / [ ] # @ -'.split(' '), ' ', '\t')
    const made = fc.array(part, { maxLength: 12 }).map(parts => parts.join(''))
    const address = fc.oneof(made, fc.ipV4(), fc.ipV6())
    const property = fc.asyncProperty(address, async ip_address => {
      const { status } = await owner.post({ site_id: owner.siteId, ip_address })
      expect(status).toBe(isIP(ip_address) ? 201 : 400)
    })
    await fc.assert(property, { numRuns: 300 })
  })

  it('names site_id when it is missing', async () => expectRefused(await refused.post({ accepted: true }), 'site_id'))

  it.each(bodies.malformedBodies(`"site_id":"${unknownId}"`))('does not take %s for a body', async (_why, body) =>
    expectRefused(await refused.post(body)),
  )

  it('answers 201 or 400 and never 500 when bytes of the body are altered', async () => {
    const fields = { accepted: true, preferences: { a: [1.5, 'é\\'] }, ip_address: '::1', policy_version: 2 }
    const valid = Buffer.from(JSON.stringify({ site_id: owner.siteId, ...fields }))
    const changes = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 3 })
    const property = fc.asyncProperty(changes, async bytes => {
      const body = Uint8Array.from(valid)
      for (const [index, byte] of bytes) body[index] = byte
      expect([201, 400, 404]).toContain((await owner.post(body)).status)
    })
    await fc.assert(property, { numRuns: 300 })
  })

  it('rejects any query parameter', async () => {
    const answer = await refused.send('POST', '?dry_run=1', { body: { site_id: refused.siteId } })
    expectRefused(answer, 'dry_run')
  })
})

describe('POST /api/v1/consents › 401', () => {
  it('answers before the body is checked', async () => {
    const answers = ['{', '{}', 'x'.repeat(70_000)].map(body => service.call('POST', root, { body }))
    for (const { status, body } of await Promise.all(answers)) {
      expect(status).toBe(401)
      expect(body.error).toBe('unauthorized')
    }
  })
})

describe('POST /api/v1/consents › 404', () => {
  it('answers identically for a foreign and an unknown site, and writes nothing', async () => {
    const stranger = await newOwner(service)
    const bodies = [stranger.siteId, unknownId].flatMap(site_id => [{ site_id }, { site_id, policy_version: 2 }])
    const answers = await Promise.all(bodies.map(body => owner.post(body)))
    expect(answers.map(answer => answer.status)).toEqual([404, 404, 404, 404])
    expect(new Set(answers.map(answer => answer.text)).size).toBe(1)
    expect(answers[0]?.body.error).toBe('not_found')
    const sites = service.sql([stranger.siteId, unknownId])
    expect(await service.sql`select from consents where site_id in ${sites}`).toHaveLength(0)
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

describe('POST /api/v1/consents › 415', () => {
  it.each(bodies.otherMediaTypes)('rejects a body of the type %j', async type => {
    const answer = await owner.post({ site_id: owner.siteId }, { 'content-type': type })
    expect(answer.status).toBe(415)
    expect(answer.body.error).toBe('invalid_request')
  })

  it('accepts application/json with a parameter and in any case', async () => {
    const type = 'Application/JSON; charset=utf-8'
    expect((await owner.post({ site_id: owner.siteId }, { 'content-type': type })).status).toBe(201)
  })
})
