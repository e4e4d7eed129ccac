import { beforeAll, describe, expect, it } from 'vitest'
import { hashOf } from '../../../server/auth/credential.ts'
import { type Signed, type TestAccount, useService } from '../../support/service.ts'
import { instant, uuidV7 } from '../consents/records.ts'
import { dumpDatabase } from '../keys/keys.ts'
import { bannerLimits, noOrigins, origins, path, visit } from './sites.ts'

const service = useService({ bannerLimits })

let account: TestAccount
let session: Signed

beforeAll(async () => {
  account = await service.newAccount()
  session = await service.signIn(account)
})

function create(body: unknown, headers: Record<string, string> = session) {
  return service.call('POST', path, { body, headers })
}

describe('POST /api/v1/sites › 201', () => {
  it('returns the site and its token, which work immediately', async () => {
    const { status, body } = await create({ name: ' Café “Ω” 🍪 ' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(uuidV7),
      name: ' Café “Ω” 🍪 ',
      policy_version: 1,
      retention: null,
      sealed_proof: null,
      strict_notices: false,
      archived_at: null,
      allowed_origins: [],
      created_at: expect.stringMatching(instant),
      updated_at: body.created_at,
      token: expect.stringMatching(/^st-[\dA-Za-z]{93}$/),
    })
    const record = { site_id: body.id }
    const created = await service.call('POST', '/api/v1/consents', { key: account.key, body: record })
    expect([created.status, created.body.policy_version]).toEqual([201, 1])
    expect((await visit(service, body.token)).status).toBe(201)
  })

  it('stores the policy version, and the origins in order', async () => {
    const given = { name: 'b', policy_version: 2_147_483_647, allowed_origins: origins }
    const { body } = await create(given)
    expect(body).toMatchObject(given)
    for (const origin of origins) {
      const answer = await visit(service, body.token, { origin })
      expect([origin, answer.status, answer.body.policy_version]).toEqual([origin, 201, 2_147_483_647])
    }
    expect((await visit(service, body.token, { origin: 'https://evil.example' })).status).toBe(403)
  })

  it('returns the token once: no list contains it, and the database stores only its hash', async () => {
    const { token, id } = (await create({ name: 'c' })).body
    expect((await visit(service, token)).status).toBe(201)
    const list = await service.call('GET', path, { headers: session })
    const changed = await service.call('PATCH', `${path}/${id}`, { headers: session, body: { name: 'd' } })
    const dump = await dumpDatabase(service)
    for (const text of [list.text, changed.text, dump]) {
      expect(text).toContain(id)
      expect(text).not.toContain(token.slice(50))
      expect(text).not.toContain(token.slice(47, 80))
    }
    expect(dump).toContain(hashOf(token).toString('hex'))
  })

  it('accepts a hundred origins', async () => {
    const allowed_origins = many(100)
    expect((await create({ name: 'e', allowed_origins })).body.allowed_origins).toEqual(allowed_origins)
  })
})

describe('POST /api/v1/sites › 409', () => {
  it('is returned if an active site has the name, unless duplicates are allowed', async () => {
    const { body: first } = await create({ name: 'Shop' })
    const change = (body: object, id = first.id) =>
      service.call('PATCH', `${path}/${id}`, { headers: session, body }).then(({ status }) => status)
    const refused = await create({ name: 'Shop' })
    expect([refused.status, refused.body.error]).toEqual([409, 'conflict'])
    expect((await create({ name: 'shop' })).status).toBe(201)
    const { body: second } = await create({ name: 'Shop', allow_duplicate: true })
    expect([await change({ name: 'Shop' }), await change({ name: 'shop' })]).toEqual([200, 409])
    expect(await change({ archived: true }, second.id)).toBe(200)
    expect(await change({ archived: true })).toBe(200)
    expect((await create({ name: 'Shop' })).status).toBe(201)
    expect(await change({ archived: false })).toBe(409)
    expect(await change({ archived: false, allow_duplicate: true })).toBe(200)
  })
})

describe('POST /api/v1/sites › 400', () => {
  it.each(noOrigins)('rejects the origin %j and creates nothing', async origin => {
    await expectRefused({ name: 'a', allowed_origins: [origin] }, 'allowed_origins')
  })

  it.each<[string, object | null, string]>([
    ['a name of 101 characters', { name: '🍪'.repeat(101) }, 'name'],
    ['an origin twice', { name: 'a', allowed_origins: [origins[0], origins[0]] }, 'allowed_origins'],
    ['101 origins', { name: 'a', allowed_origins: many(101) }, 'allowed_origins'],
  ])('rejects %s and creates nothing', async (_name, body, named) => {
    await expectRefused(body, named)
  })

  async function expectRefused(body: unknown, named: string) {
    const before = await service.call('GET', path, { headers: session })
    const answer = await create(body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
    expect(answer.body.message).toContain(named)
    expect((await service.call('GET', path, { headers: session })).text).toBe(before.text)
  }
})

function many(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `https://shop-${index}.example.com`)
}
