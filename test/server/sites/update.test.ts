import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Site } from '../../../src/contract/index.ts'
import { type Signed, type TestAccount, useService } from '../../support/service.ts'
import { makeKey } from '../keys/keys.ts'
import { verified } from '../verify/verified.ts'
import { bannerLimits, origins, path, visit } from './sites.ts'

const service = useService({ bannerLimits })

let account: TestAccount
let session: Signed

beforeEach(async () => {
  account = await service.newAccount()
  session = await service.signIn(account)
})

function change(body: unknown, id = account.siteId, headers: Record<string, string> = session) {
  return service.call('PATCH', `${path}/${id}`, { body, headers })
}

async function site(): Promise<Site> {
  const { body } = await service.call('GET', path, { headers: session })
  return body.data.find(({ id }: Site) => id === account.siteId)
}

describe('PATCH /api/v1/sites/:id › 200', () => {
  it.each<[string, Partial<Site>]>([
    ['the name', { name: ' Ω 🍪 ' }],
    ['the policy version', { policy_version: 7 }],
    ['the policy version, back', { policy_version: 1 }],
    ['the origins', { allowed_origins: origins }],
    ['the retention', { retention: { period: 'P100Y', after: 'expiry' } }],
    ['the strictness', { strict_notices: true }],
    [
      'all of them',
      {
        name: 'b',
        policy_version: 2,
        allowed_origins: ['https://b.example'],
        retention: { period: 'P1D', after: 'creation' },
      },
    ],
  ])('changes %s and nothing else', async (_name, fields) => {
    await change({ policy_version: 3 })
    const before = await site()
    await delay(2)
    const answer = await change(fields)
    expect([answer.status, answer.body]).toEqual([200, { ...before, ...fields, updated_at: expect.any(String) }])
    expect(Date.parse(answer.body.updated_at)).toBeGreaterThan(Date.parse(before.updated_at))
    expect(await site()).toEqual(answer.body)
  })

  it.each<[string, (site: Site) => object]>([
    ['nothing', () => ({})],
    ['the name it has', ({ name }) => ({ name })],
    ['everything as it is', ({ name, policy_version, allowed_origins }) => ({ name, policy_version, allowed_origins })],
  ])('does not change a site, including updated_at, for %s', async (_name, body) => {
    await change({ policy_version: 3, allowed_origins: origins })
    const before = await site()
    await delay(2)
    const answer = await change(body(before))
    expect([answer.status, answer.body]).toEqual([200, before])
    expect(await site()).toEqual(before)
  })

  it('treats a different order of the origins as a change', async () => {
    await change({ allowed_origins: origins })
    const before = await site()
    await delay(2)
    const { body } = await change({ allowed_origins: origins.toReversed() })
    expect(body.allowed_origins).toEqual(origins.toReversed())
    expect(body.updated_at).not.toBe(before.updated_at)
  })

  it('applies to the banner on this node immediately and on another node within a second', async () => {
    const other = await service.addNode({ bannerLimits })
    const { siteToken } = account
    const [before, after] = ['https://before.example', 'https://after.example']
    await change({ allowed_origins: [before] })
    for (const node of [service, other]) {
      expect((await visit(node, siteToken, { origin: before })).body.policy_version).toBe(1)
    }
    await change({ allowed_origins: [after], policy_version: 2 })
    const changed = performance.now()
    expect((await visit(service, siteToken, { origin: before })).status).toBe(403)
    expect((await visit(service, siteToken, { origin: after })).body.policy_version).toBe(2)
    while ((await visit(other, siteToken, { origin: after })).status !== 201) {
      expect(performance.now() - changed).toBeLessThan(1500)
      await delay(10)
    }
    expect((await visit(other, siteToken, { origin: before })).status).toBe(403)
  })

  it('keeps concurrent changes of different fields', async () => {
    await Promise.all([
      change({ name: 'new' }),
      change({ policy_version: 5 }),
      change({ allowed_origins: ['https://a.example'] }),
    ])
    expect(await site()).toMatchObject({
      name: 'new',
      policy_version: 5,
      allowed_origins: ['https://a.example'],
    })
  })
})

describe('PATCH /api/v1/sites/:id › archived', () => {
  const create = (body = {}, key = account.key) =>
    service.call('POST', '/api/v1/consents', { key, body: { site_id: account.siteId, ...body } })
  const list = async (query = '') => (await service.call('GET', path + query, { headers: session })).body.data

  it('rejects tokens and new records on every node, and keeps existing records, histories and the log', async () => {
    const other = await service.addNode({ bannerLimits })
    const { body: record } = await create({ accepted: true })
    expect((await visit(other, account.siteToken)).status).toBe(201)
    const answer = await change({ archived: true })
    expect([answer.status, answer.body.archived_at]).toEqual([200, answer.body.updated_at])
    expect((await change({ archived: true })).body).toEqual(answer.body)
    expect([await list(), await list('?include_archived=true')]).toEqual([[], [answer.body]])

    expect((await visit(service, account.siteToken)).status).toBe(401)
    await vi.waitFor(async () => expect((await visit(other, account.siteToken)).status).toBe(401), { timeout: 1500 })
    for (const body of [{}, { policy_version: 1 }]) {
      const refused = await create(body)
      expect([refused.status, refused.body.message]).toEqual([404, 'There is no such site, or it is archived.'])
    }
    const importer = await makeKey(service, session, { scopes: ['import'] })
    const row = { site_id: account.siteId, origin: { system: 'x', id: '1' }, given_at: '2021-03-04T05:06:07Z' }
    const records = [{ ...row, policy_version: 1, accepted: true, preferences: {}, file_sha256: '0'.repeat(64) }]
    const batch = await service.call('POST', '/api/v1/consents/batch', { key: importer.key, body: { records } })
    expect(batch.body.results.map(({ status }: { status: number }) => status)).toEqual([404])

    const one = `/api/v1/consents/${record.id}`
    const withdrawal = { key: account.key, body: { accepted: false } }
    expect((await service.call('PUT', one, withdrawal)).status).toBe(200)
    expect((await service.call('GET', `${one}/history`, { key: account.key })).body.data).toHaveLength(2)
    const [entry] = await service.sql`
      select document::jsonb->'after'->>'archived_at' as at from account_entries
      where account_id = ${account.accountId} and document::jsonb->>'action' = 'site_updated' order by version`
    expect(entry?.['at']).toBe(answer.body.archived_at)
    expect((await verified(service.sql, { account: account.accountId })).findings).toEqual([])

    expect((await change({ archived: false })).body.archived_at).toBeNull()
    expect([(await create()).status, (await visit(service, account.siteToken)).status]).toEqual([201, 201])
    expect(await list()).toHaveLength(1)
  })
})
