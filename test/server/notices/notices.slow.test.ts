import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { publishDraft } from '../../../server/notices/queries.ts'
import type { Notice } from '../../../src/contract/index.ts'
import { mediaBytes, type Signed, type TestAccount, useService } from '../../support/service.ts'
import { insertChains } from '../purge/chains.ts'

const service = useService()

let account: TestAccount
let session: Signed

beforeEach(async () => {
  account = await service.newAccount()
  session = await service.signIn(account)
})

const at = (rest: string, siteId = account.siteId) => `/api/v1/sites/${siteId}/notices${rest}`

function call(method: string, rest: string, body?: unknown) {
  return service.call(method, at(rest), { body, headers: session })
}

const german = 'Wir möchten Ihnen schreiben. 🍪\r\n'
const put = (version: number, draft: object = {}) => call('PUT', `/${version}`, draft)
const upload = (version: number, language: string, content: string | Uint8Array = german, type = 'text/markdown') =>
  call('PUT', `/${version}/texts/${language}`, mediaBytes(content, type))
const publish = (version: number, body: object = {}) => call('POST', `/${version}/publish`, body)

async function policyVersion(): Promise<number> {
  const { body } = await service.call('GET', '/api/v1/sites', { headers: session })
  return body.data[0].policy_version
}

async function published(version: number, draft: object = {}): Promise<Notice> {
  await put(version, draft)
  await upload(version, 'de')
  const { status, body } = await publish(version)
  expect(status).toBe(200)
  return body
}

async function entries(): Promise<{ version: number; document: string; hash: string; leaf: number | null }[]> {
  return await service.sql`
    select e.version, e.document, encode(l.hash, 'hex') as hash, l.leaf_index::int as leaf
    from account_entries e join log_entries l on l.account_id = e.account_id and l.consent_id = e.account_id
      and l.version = e.version
    where e.account_id = ${account.accountId} order by e.version`
}

describe('POST /api/v1/sites/:id/notices/:version/publish', () => {
  it('writes an entry with the whole manifest, covers it with a checkpoint, and sets the policy version', async () => {
    const details = {
      purposes: [{ key: 'marketing', title: 'Werbung', language: 'DE', iri: 'https://w3id.org/dpv#Marketing' }],
      controller: 'Shop GmbH',
      valid_for: 'P1Y',
      requires_renewal: true,
      effective_from: '2026-01-31T10:00:00+01:00',
    }
    const { body: draft } = await put(2, details)
    await upload(2, 'de-de')
    await upload(2, 'en', '%PDF-1.7', 'application/pdf')
    const { body } = await publish(2)
    const { body: read } = await call('GET', '/2')
    expect(body).toEqual(read)
    expect(body).toMatchObject({ state: 'published', revision: draft.revision + 2, leaf_index: expect.any(Number) })
    const entry = (await entries()).find(({ document }) => document.includes('notice_published'))
    const { target, before, after, actor } = JSON.parse(entry?.document ?? '')
    expect(entry).toMatchObject({ version: body.published_entry, leaf: body.leaf_index })
    expect(
      createHash('sha256')
        .update(entry?.document ?? '')
        .digest('hex'),
    ).toBe(entry?.hash)
    expect({ target, before, actor: actor.kind }).toEqual({
      target: { kind: 'notice', id: account.siteId, policy_version: 2 },
      before: null,
      actor: 'user',
    })
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
    expect(after).toEqual({
      site_id: account.siteId,
      policy_version: 2,
      texts: [
        { language: 'de-DE', media_type: 'text/markdown', size: Buffer.byteLength(german), sha256: sha256(german) },
        { language: 'en', media_type: 'application/pdf', size: 8, sha256: sha256('%PDF-1.7') },
      ],
      ...details,
      purposes: [{ ...details.purposes[0], language: 'de' }],
      effective_from: '2026-01-31T09:00:00.000Z',
    })
    expect(await policyVersion()).toBe(2)
  })

  it('changes nothing when repeated, and keeps a policy version set since', async () => {
    const first = await published(3)
    const before = await entries()
    expect((await publish(3, { revision: first.revision })).body).toEqual(first)
    expect(await entries()).toEqual(before)
    await service.call('PATCH', `/api/v1/sites/${account.siteId}`, { body: { policy_version: 1 }, headers: session })
    expect((await publish(3)).body).toEqual(first)
    expect(await policyVersion()).toBe(1)
    expect((await publish(3, { revision: first.revision + 1 })).status).toBe(409)
  })

  it('completes after an interruption at each of its steps', async () => {
    await put(2)
    const { revision } = (await upload(2, 'de')).body
    const { sql } = service
    const key = { accountId: account.accountId, siteId: account.siteId, version: 2 }
    const event = { actor: { kind: 'user', id: account.userId }, at: new Date() } as const
    expect(await publishDraft(sql, key, revision - 1, event)).toBe(false)
    expect(await publishDraft(sql, key, revision, event)).toBe(true)
    expect((await call('GET', '/2')).body).toMatchObject({ state: 'published', leaf_index: null })
    expect(await policyVersion()).toBe(1)
    expect((await publish(2)).body).toMatchObject({ leaf_index: expect.any(Number) })
    expect(await policyVersion()).toBe(2)
  })

  it('does not change the site’s policy version for a notice that is older or not yet in effect', async () => {
    await published(5, { effective_from: '2999-01-01T00:00:00Z' })
    expect(await policyVersion()).toBe(1)
    await published(3)
    await published(2)
    expect(await policyVersion()).toBe(3)
  })

  it('rejects a draft without texts, a draft that changed since it was read, and a missing draft', async () => {
    await put(1)
    expect((await publish(1)).status).toBe(409)
    const { body } = await upload(1, 'de')
    await upload(1, 'en')
    const changed = await publish(1, { revision: body.revision })
    expect([changed.status, changed.body.message]).toEqual([
      409,
      `The draft has changed: it has revision ${body.revision + 1}.`,
    ])
    expect([(await publish(2)).status, (await publish(0)).status]).toEqual([404, 404])
  })

  it('reports back-dated entries that it adds to the log', async () => {
    await published(1)
    await put(2)
    await upload(2, 'de')
    const [id] = await insertChains(service.sql, account, {
      records: 1,
      entries: 1,
      isLive: true,
      at: new Date('2025-01-01'),
    })
    const reported: string[] = []
    const node = await service.addNode({
      onBackdated: (_, entries) => void reported.push(...entries.map(({ consent_id }) => consent_id)),
    })
    const { status } = await node.call('POST', at('/2/publish'), {
      body: {},
      headers: { ...session, origin: node.url },
    })
    expect(status).toBe(200)
    expect(reported).toEqual([id])
  })

  it('rejects a draft that was deleted and recreated since it was read', async () => {
    await put(1)
    const { revision } = (await upload(1, 'de')).body
    await call('DELETE', '/1')
    await put(1)
    await upload(1, 'de', 'neu')
    expect((await publish(1, { revision })).status).toBe(409)
    expect((await call('GET', '/1')).body.state).toBe('draft')
  })

  it('when texts are uploaded concurrently on other nodes, publishes once, and includes or rejects each text', async () => {
    const other = await service.addNode()
    for (let round = 1; round <= 5; round += 1) {
      await put(round)
      await upload(round, 'de')
      const late = other.call('PUT', at(`/${round}/texts/fr`), {
        body: mediaBytes(`tard ${round}`, 'text/plain'),
        headers: { ...session, origin: other.url },
      })
      const records = [1, 2, 3].map(() =>
        service.call('POST', '/api/v1/consents', { key: account.key, body: { site_id: account.siteId } }),
      )
      const both = [
        publish(round),
        other.call('POST', at(`/${round}/publish`), { body: {}, headers: { ...session, origin: other.url } }),
      ]
      const [{ status: uploaded }, ...answers] = await Promise.all([late, ...both])
      for (const answer of await Promise.all(records)) expect(answer.status).toBe(201)
      for (const answer of answers) expect(answer.status).toBe(200)
      const { body } = await call('GET', `/${round}`)
      expect(body.texts.map(({ language }: { language: string }) => language)).toEqual(
        uploaded === 200 ? ['de', 'fr'] : ['de'],
      )
      const all = (await entries()).map(({ document }) => JSON.parse(document))
      const own = all.filter(({ action, target }) => action === 'notice_published' && target.policy_version === round)
      expect(own.map(({ after }) => after.texts)).toEqual([body.texts])
    }
  })
})

describe('a published notice', () => {
  it('is not changed by any route', async () => {
    await published(1, { controller: 'Shop GmbH' })
    const before = await service.sql`select n::text, t::text from notices n natural join notice_texts t order by 1, 2`
    const answers = [
      await put(1, {}),
      await put(1, { controller: 'Shop GmbH' }),
      await upload(1, 'de', 'otherwise'),
      await upload(1, 'de'),
      await upload(1, 'fr', 'more'),
      await call('DELETE', '/1/texts/de'),
      await call('DELETE', '/1/texts/fr'),
      await call('DELETE', '/1'),
    ]
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 409))
    expect(await service.sql`select n::text, t::text from notices n natural join notice_texts t order by 1, 2`).toEqual(
      before,
    )
  })
})

describe('PUT /api/v1/sites/:id/notices/:version', () => {
  it('replaces the details, and counts a revision only if they change', async () => {
    const { body: first } = await put(1, { controller: 'a', valid_for: 'P90D' })
    expect(first).toMatchObject({ state: 'draft', valid_for: 'P90D', requires_renewal: false, texts: [] })
    expect((await put(1, { controller: 'a', valid_for: 'P90D' })).body).toEqual(first)
    expect((await put(1)).body).toMatchObject({ revision: first.revision + 1, controller: null, valid_for: null })
    expect((await call('GET', '')).body.data).toHaveLength(1)
  })

  it.each([
    { valid_for: 'P0D' },
    { valid_for: 'PT1H' },
    { valid_for: 'P101Y' },
    { valid_for: '1 year' },
    { effective_from: '2026-01-31' },
    { controller: '' },
    { controller: 'x'.repeat(1001) },
    { purposes: [{ key: 'a' }] },
    { purposes: [{ key: 'a', title: 'A', language: 'german!' }] },
    { purposes: [{ key: 'a', title: 'A', iri: 'javascript:alert(1)' }] },
    {
      purposes: [
        { key: 'a', title: 'A' },
        { key: 'a', title: 'B' },
      ],
    },
    { texts: [] },
  ])('rejects %j', async draft => {
    expect((await put(1, draft)).status).toBe(400)
  })

  it('returns 404 for an unknown site or version', async () => {
    const unknown = await service.call('PUT', at('/1', account.accountId), { body: {}, headers: session })
    expect([unknown.status, (await put(0)).status, (await call('PUT', '/2147483648', {})).status]).toEqual([
      404, 404, 404,
    ])
  })
})

describe('texts of a notice', () => {
  it('are returned byte for byte, as a download that cannot execute scripts', async () => {
    const hostile = '<script>fetch("/api/v1/keys")</script>\0\u202e'
    await put(1)
    expect((await upload(1, 'DE-de', hostile, 'text/html; charset=utf-8')).status).toBe(200)
    const { text, headers } = await call('GET', '/1/texts/de-DE')
    expect(text).toBe(hostile)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': 'attachment; filename="notice-1-de-DE.html"',
      'content-security-policy': "sandbox; default-src 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    })
    expect((await call('GET', '/1/texts/fr')).status).toBe(404)
  })

  it('replace each other in a draft, and can be removed', async () => {
    const { revision } = (await put(1)).body
    expect((await upload(1, 'de')).body.revision).toBe(revision + 1)
    expect((await upload(1, 'de')).body.revision).toBe(revision + 1)
    expect((await upload(1, 'de', 'neu')).body).toMatchObject({
      revision: revision + 2,
      texts: [{ language: 'de', size: 3 }],
    })
    expect((await call('DELETE', '/1/texts/de')).status).toBe(204)
    expect((await call('DELETE', '/1/texts/de')).status).toBe(404)
    await upload(1, 'en')
    expect((await call('DELETE', '/1')).status).toBe(204)
    expect([(await call('DELETE', '/1')).status, (await upload(1, 'en')).status]).toEqual([404, 404])
  })

  it('have at most 1 MiB, one of four media types, UTF-8 unless a PDF, and a language', async () => {
    await put(1)
    const most = Buffer.alloc(1024 * 1024, 'x')
    expect((await upload(1, 'de', most)).status).toBe(200)
    expect((await upload(1, 'en', Buffer.concat([most, most.subarray(0, 1)]))).status).toBe(413)
    const odd = [
      await upload(1, 'en', '{}', 'application/json'),
      await upload(1, 'en', 'x', 'image/svg+xml'),
      await call('PUT', '/1/texts/en'),
      await upload(1, 'en', ''),
      await upload(1, 'en', Buffer.from([0xff])),
      await upload(1, 'en', '%PDF', 'text/plain; charset=iso-8859-1'),
      await upload(1, 'not a language'),
      await upload(1, 'x'.repeat(36)),
    ]
    expect(odd.map(({ status }) => status)).toEqual([415, 415, 415, 400, 400, 415, 400, 400])
    expect((await upload(1, 'en', Buffer.from([0xff]), 'application/pdf')).status).toBe(200)
  })

  it('are limited to 100', async () => {
    await put(1)
    await service.sql`
      insert into notice_texts select account_id, site_id, policy_version, 'x' || i, 'text/plain', '', ''
      from notices, generate_series(1, 100) as i where account_id = ${account.accountId}`
    const { status, body } = await upload(1, 'de')
    expect([status, body.message]).toEqual([400, 'A notice has at most 100 texts.'])
  })
})
