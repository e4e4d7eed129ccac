import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { documentLimit, documentPageLimit } from '../../../src/contract/index.ts'
import { keyIdOf, newSigningKey } from '../../../src/evidence/keys.ts'
import { newDocument } from '../../support/operator-document.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { makeKey } from '../keys/keys.ts'
import { newSite } from '../subjects/fixtures.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
const path = '/api/v1/subjects/documents'
const maria = 'maria-7f3a@example.com'
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const keep = ({ key }: Pick<Owner, 'key'>, body: object) => service.call('POST', path, { key, body })
const list = async ({ key }: Pick<Owner, 'key'>, query: Record<string, string> = {}) =>
  (await service.call('GET', `${path}?${new URLSearchParams(query)}`, { key })).body
const tickets = async (owner: Owner, query: Record<string, string> = {}) =>
  (await list(owner, query)).data.map(({ document }: { document: string }) => JSON.parse(document).ticket)
const hmacs = ({ key }: Pick<Owner, 'key'>, subject_ids: string[]) =>
  service.call('POST', '/api/v1/subjects/hmacs', { key, body: { subject_ids } })
const details = async ({ accountId }: Owner) =>
  (await verified(service.sql, { account: accountId })).findings.map(({ problem, detail }) => `${problem}: ${detail}`)

describe('POST /api/v1/subjects/documents › 201', () => {
  it('keeps the document byte for byte, once, and writes an entry with its SHA-256', async () => {
    const owner = await newOwner(service)
    const draft = newDocument(owner.accountId)
    const answers = await Promise.all([1, 2, 3].map(() => keep(owner, draft)))
    const [{ status, body }] = answers as [(typeof answers)[0]]
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        ...{ id: expect.any(String), sha256: sha256(draft.document), ...draft },
        ...{ kept_at: expect.any(String), key_known_since: body.kept_at },
      },
    })
    expect(answers.map(each => each.body)).toEqual([body, body, body])
    expect((await list(owner)).data).toEqual([body])
    const { body: entries } = await service.call('GET', '/api/v1/audit?target=document', { key: owner.key })
    const { number, key_id } = JSON.parse(draft.document)
    expect(entries.data).toEqual([
      expect.objectContaining({
        action: 'document_kept',
        actor: expect.objectContaining({ kind: 'api_key', id: owner.keyId }),
        after: expect.objectContaining({ id: body.id, sha256: body.sha256, number, key_id }),
      }),
    ])
    expect(await details(owner)).toEqual([])
  })

  it('when a key of the scope write keeps a withdrawal, succeeds, and tells since when its key is known', async () => {
    const owner = await newOwner(service)
    const headers = await service.signIn(owner)
    const writer = await makeKey(service, headers, { scopes: ['write'] })
    const key = newSigningKey()
    const make = (fields: object) => newDocument(owner.accountId, fields, { key, type: 'withdrawal' })
    const first = await keep(writer, make({ number: 1, previous: null }))
    const second = await keep(writer, make({ number: 2 }))
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body.key_known_since).toBe(first.body.kept_at)
    const erasure = await keep(writer, newDocument(owner.accountId))
    expect(erasure).toMatchObject({ status: 403, body: { reason: 'missing_scope' } })
    expect(await list(writer, { key_id: keyIdOf(key), limit: '1' })).toMatchObject({
      data: [{ id: second.body.id }],
      next_cursor: expect.any(String),
    })
  })
})

describe('POST /api/v1/subjects/documents › 400, 403', () => {
  const cases: [string, (accountId: string) => object][] = [
    ['is of another account', () => newDocument('01939d2c-0000-7000-8000-00000000000a')],
    ['has an invalid signature', id => spoil(newDocument(id))],
    ['is signed by another key', id => ({ ...newDocument(id), public_key: newDocument(id).public_key })],
    ['by HMACs of the profile', id => newDocument(id, { hmac_key: 'profile' })],
    ['in clear text', id => newDocument(id, { subjects: [maria] })],
    ['does not match its schema', id => newDocument(id, { counts: {} })],
    ['is not a receipt of an erasure', id => newDocument(id, { type: 'import_receipt' })],
    ['has no signature', id => ({ ...newDocument(id), document: '{}' })],
    ['must be an Ed25519 key', id => ({ ...newDocument(id), public_key: 'none' })],
    ['must have at most', id => ({ ...newDocument(id), document: ' '.repeat(documentLimit + 1) })],
  ]
  const spoil = (draft: ReturnType<typeof newDocument>) => ({
    ...draft,
    document: draft.document.replace('PRIV-123', 'PRIV-124'),
  })

  it.each(cases)('rejects a document that %s', async (message, make) => {
    const owner = await newOwner(service)
    const answer = await keep(owner, make(owner.accountId))
    expect(answer.status, answer.text).toBe(400)
    expect(answer.body.message).toContain(message)
    expect((await list(owner)).data).toEqual([])
  })

  it('rejects keys that only read, or are restricted to sites', async () => {
    const owner = await newOwner(service)
    const headers = await service.signIn(owner)
    const draft = newDocument(owner.accountId)
    const reader = await makeKey(service, headers, { scopes: ['read'] })
    const ofSite = await makeKey(service, headers, { site_ids: [await newSite(service, owner)] })
    for (const key of [reader, ofSite]) expect((await keep(key, draft)).status).toBe(403)
    expect((await hmacs(ofSite, [maria])).status).toBe(200)
    expect((await hmacs(reader, [maria])).status).toBe(403)
  })
})

describe('GET /api/v1/subjects/documents', () => {
  it('finds by ticket, person, key and the first digits of the SHA-256, newest first, of the account alone', async () => {
    const owner = await newOwner(service)
    const other = await newOwner(service)
    const { body } = await hmacs(owner, [maria, 'customer-4711'])
    const { body: erasure } = await service.call('POST', '/api/v1/subjects/erase', {
      key: owner.key,
      body: { subject_id: maria, dry_run: true },
    })
    expect(body).toEqual({
      account_id: owner.accountId,
      subject_hmacs: [erasure.subject_hmac, expect.stringMatching(/^[\da-f]{64}$/)],
    })
    expect((await hmacs(other, [maria])).body.subject_hmacs).not.toContain(erasure.subject_hmac)
    const key = newSigningKey()
    const [ofMaria, ofCustomer] = body.subject_hmacs
    await keep(owner, newDocument(owner.accountId, { ticket: 'A', subject_hmacs: [ofMaria] }, { key }))
    const b = newDocument(owner.accountId, { ticket: 'B', subject_hmacs: [ofCustomer, ofMaria] })
    await keep(owner, b)
    await keep(owner, newDocument(owner.accountId, { ticket: 'C', subject_hmacs: [ofCustomer] }, { key }))
    expect(await tickets(owner)).toEqual(['C', 'B', 'A'])
    expect(await tickets(owner, { ticket: 'B' })).toEqual(['B'])
    expect(await tickets(owner, { subject_hmac: ofMaria })).toEqual(['B', 'A'])
    expect(await tickets(owner, { key_id: keyIdOf(key) })).toEqual(['C', 'A'])
    expect(await tickets(owner, { sha256: sha256(b.document).slice(0, 8) })).toEqual(['B'])
    expect(await tickets(owner, { sha256: sha256(b.document) })).toEqual(['B'])
    expect(await tickets(other)).toEqual([])
    const first = await list(owner, { limit: '2' })
    const rest = await list(owner, { limit: '2', cursor: first.next_cursor })
    expect([first.data.length, rest.data.length, rest.next_cursor]).toEqual([2, 1, null])
  })

  it('when the documents are large, a page ends early and its cursor goes on', async () => {
    const owner = await newOwner(service)
    const reason = 'x'.repeat(documentLimit - 10_000)
    const count = documentPageLimit / documentLimit + 1
    for (let number = 1; number <= count; number += 1)
      expect((await keep(owner, newDocument(owner.accountId, { reason, ticket: `${number}` }))).status).toBe(201)
    const page = await list(owner)
    expect(page.data).toHaveLength(count - 1)
    expect((await list(owner, { cursor: page.next_cursor })).data).toHaveLength(1)
  })
})

describe('admin verify', () => {
  const change = (owner: Owner, set: string) =>
    service.sql.unsafe(`update operator_documents set ${set} where account_id = '${owner.accountId}'`)

  it.each([
    [`document = replace(document, 'PRIV-123', 'PRIV-124')`],
    [`subject_hmacs = '[]'`],
    [`ticket = 'another'`],
    ['public_key = sha256(public_key)'],
    [`created_at = '2026-01-31'`],
  ])('when %s is done past the service, reports the document', async set => {
    const owner = await newOwner(service)
    const { id } = (await keep(owner, newDocument(owner.accountId))).body
    await change(owner, set)
    expect(await details(owner)).toEqual([expect.stringMatching(`^changed: .*document ${id}`)])
  })

  it('when a document is removed or planted, reports it', async () => {
    const owner = await newOwner(service)
    const { id } = (await keep(owner, newDocument(owner.accountId))).body
    const planted = '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11'
    await service.sql`
      insert into operator_documents select account_id, ${planted}::uuid, sha256('x'), document, public_key, type, number, key_id,
        ticket, subject_hmacs, created_at from operator_documents where account_id = ${owner.accountId}`
    await service.sql`delete from operator_documents where account_id = ${owner.accountId} and id = ${id}`
    expect((await details(owner)).toSorted()).toEqual([
      expect.stringMatching(`^forged: .*document ${planted}`),
      expect.stringMatching(`^lost: .*document ${id} is missing`),
    ])
  })
})
