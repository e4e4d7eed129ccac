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

describe('201', () => {
  it('answers with exactly the fields of a record, defaults for what was left out and null for the unknown', async () => {
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

  it('makes created_at the millisecond in the id, and that of the request', async () => {
    const before = Date.now()
    const { id, created_at } = await owner.create()
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(Date.parse(created_at))
    expect(Date.parse(created_at)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(created_at)).toBeLessThanOrEqual(Date.now())
  })

  it("takes the site's current policy version unless the caller names one", async () => {
    const other = await newOwner(service)
    await service.sql`update sites set policy_version = 7 where id = ${other.siteId}`
    expect(await other.create()).toMatchObject({ policy_version: 7 })
    expect(await other.create({ policy_version: 3 })).toMatchObject({ policy_version: 3 })
  })

  it('makes a record of each of two equal bodies: a consent_id is a label, not a key', async () => {
    const body = { consent_id: 'banner', subject_id: 'one' }
    expect((await owner.create(body)).id).not.toBe((await owner.create(body)).id)
  })

  it.each(bodies.edgeFields)('takes %s', async (_name, fields) => {
    const created = await owner.create(fields)
    expectKept(created, fields)
    expect((await owner.get(created.id)).body).toEqual(created)
  })

  it('takes a site_id in upper case as the same UUID', async () => {
    expect(await owner.create({ site_id: owner.siteId.toUpperCase() })).toMatchObject({
      site_id: owner.siteId,
    })
  })

  it.each(bodies.oddTexts)(
    'keeps %s text exactly as sent, and finds it by nothing else',
    async (_name, text) => {
      const fields = { subject_id: text, consent_id: text, user_agent: text, preferences: { [text]: [text] } }
      const created = await owner.create(fields)
      expectKept(created, fields)
      const page = await owner.list({ subject_id: text, consent_id: text })
      expect(page.body.data).toEqual([created])
    },
  )

  it('keeps any text and any preferences that it takes', async () => {
    const texts = { subject_id: bodies.anyText(255), user_agent: bodies.anyText(300) }
    const fields = fc.record({ ...texts, preferences: bodies.anyPreferences() })
    const property = fc.asyncProperty(fields, async sent => {
      expectKept(await owner.create(sent), sent)
    })
    await fc.assert(property, { numRuns: 150 })
  })
})

describe('201, with an address', () => {
  it.each(bodies.networks)('stores of %s no more than %s, and shows none of it', async (address, network) => {
    const answer = await owner.post({ site_id: owner.siteId, ip_address: address })
    expect(answer.status, answer.text).toBe(201)
    expect(await networkOf(answer.body.id)).toBe(network)
    const seen = [
      answer,
      await owner.get(answer.body.id),
      await owner.list(),
      await owner.history(answer.body.id),
    ]
    for (const { text } of seen) expect(text).not.toMatch(/"ip_|203\.0\.113|2001:0?db8|64:ff9b/i)
  })

  it('stores no network without one', async () => {
    expect(await networkOf((await owner.create()).id)).toBeNull()
  })
})

describe('400', () => {
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

  it.each(bodies.fieldsBeyondLimits)('names %s for a value out of its limits', async (field, value) => {
    await refuse({ [field]: value }, field)
  })

  it.each(bodies.readOnlyFields)('names %s, which is not for the caller to send', field =>
    refuse({ [field]: 'x' }, field),
  )

  it.each(bodies.noAddresses)('does not take %j for an address', address =>
    refuse({ ip_address: address }, 'ip_address'),
  )

  it('takes for an address only what is one, and never fails on the rest', async () => {
    const part = fc.constantFrom(...'0 1 255 256 ffff :: : . / [ ] # @ -'.split(' '), ' ', '\t')
    const made = fc.array(part, { maxLength: 12 }).map(parts => parts.join(''))
    const address = fc.oneof(made, fc.ipV4(), fc.ipV6())
    const property = fc.asyncProperty(address, async ip_address => {
      const { status } = await owner.post({ site_id: owner.siteId, ip_address })
      expect(status).toBe(isIP(ip_address) ? 201 : 400)
    })
    await fc.assert(property, { numRuns: 300 })
  })

  it('needs a site_id', async () => expectRefused(await refused.post({ accepted: true }), 'site_id'))

  it.each(bodies.malformedBodies(`"site_id":"${unknownId}"`))(
    'does not take %s for a body',
    async (_why, body) => expectRefused(await refused.post(body)),
  )

  it('takes or refuses a body with any of its bytes altered, and never fails', async () => {
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

  it('knows no query parameter', async () => {
    const answer = await refused.send('POST', '?dry_run=1', { body: { site_id: refused.siteId } })
    expectRefused(answer, 'dry_run')
  })
})

describe('401', () => {
  it('tells a stranger nothing about the body', async () => {
    const answers = ['{', '{}', 'x'.repeat(70_000)].map(body => service.call('POST', root, { body }))
    for (const { status, body } of await Promise.all(answers)) {
      expect(status).toBe(401)
      expect(body.error).toBe('unauthorized')
    }
  })
})

describe('404', () => {
  it("answers for somebody else's site and for one that nobody has byte for byte alike, and writes nothing", async () => {
    const stranger = await newOwner(service)
    const bodies = [stranger.siteId, unknownId].flatMap(site_id => [
      { site_id },
      { site_id, policy_version: 2 },
    ])
    const answers = await Promise.all(bodies.map(body => owner.post(body)))
    expect(answers.map(answer => answer.status)).toEqual([404, 404, 404, 404])
    expect(new Set(answers.map(answer => answer.text)).size).toBe(1)
    expect(answers[0]?.body.error).toBe('not_found')
    const sites = service.sql([stranger.siteId, unknownId])
    expect(await service.sql`select from consents where site_id in ${sites}`).toHaveLength(0)
  })
})

describe('413', () => {
  it('takes a body of 128 KiB and not a byte more, whether its length is announced or not', async () => {
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

describe('415', () => {
  it.each(bodies.otherMediaTypes)('takes no body that is %j', async type => {
    const answer = await owner.post({ site_id: owner.siteId }, { 'content-type': type })
    expect(answer.status).toBe(415)
    expect(answer.body.error).toBe('invalid_request')
  })

  it('takes JSON with a parameter and in any case', async () => {
    const type = 'Application/JSON; charset=utf-8'
    expect((await owner.post({ site_id: owner.siteId }, { 'content-type': type })).status).toBe(201)
  })
})
