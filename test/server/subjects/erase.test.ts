import { beforeAll, describe, expect, it } from 'vitest'
import { wholeAccount } from '../../../server/db/reach.ts'
import { signerOf } from '../../../server/evidence/signer.ts'
import { findUnmarked } from '../../../server/subjects/queries.ts'
import { eraseSubject, newProgress } from '../../../server/subjects/service.ts'
import { ErasureCertificate } from '../../../src/contract/documents/erasure-certificate.ts'
import { newSigningKey, readPublicKey } from '../../../src/evidence/keys.ts'
import { readSigned } from '../../../src/evidence/signed.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { type ServiceResponse, useService } from '../../support/service.ts'
import { expectRefused, inTurns, newOwner, type Owner } from '../consents/records.ts'
import { insertChains } from '../purge/chains.ts'
import { brokenChains, purgeNow, purgeVerified } from '../purge/purge.ts'
import { losing, newSite } from './fixtures.ts'

const key = newSigningKey()
const service = useService({ signer: signerOf(key) })
const path = '/api/v1/subjects/erase'
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const erase = (body: object, own: { key: string } = owner) => service.call('POST', path, { key: own.key, body })

/** What a certificate says, once its signature was found to be the service's. */
function certified({ body }: ServiceResponse): ErasureCertificate {
  const { document, isSignedBy } = readSigned(Buffer.from(body.certificate))
  const publicKey = readPublicKey(key.export({ type: 'pkcs8', format: 'pem' }) as string)
  expect(isSignedBy(publicKey)).toBe(true)
  expect(schemaProblems(body.certificate)).toEqual([])
  return ErasureCertificate.parse(document)
}

describe('POST /api/v1/subjects/erase › 200', () => {
  it('deletes every live record of exactly the subject, returns their ids, and certifies it', async () => {
    const own = await newOwner(service)
    const other = await newSite(service, own)
    const subject_id = 'maria@example.com'
    const [first, second] = [await own.create({ subject_id }), await own.create({ subject_id })]
    const third = await own.create({ subject_id, site_id: other })
    await own.remove(second.id)
    const kept = await Promise.all(
      ['Maria@example.com', 'maria@example.com ', 'other'].map(subject => own.create({ subject_id: subject })),
    )
    const foreign = await owner.create({ subject_id })
    const answer = await erase({ subject_id, reason: 'asked — ünd signed', ticket: 'T-1' }, own)
    expect(answer.status, answer.text).toBe(200)
    const sites = [own.siteId, other].sort().map(site_id => ({ site_id, records: 1 }))
    expect(answer.body).toEqual({
      erased: 2,
      remaining: 0,
      deleted: 3,
      complete: true,
      marked: 1,
      dry_run: false,
      sites,
      records: [first, third].map(({ id, site_id }) => ({ id, site_id, deleted_at: expect.any(String) })),
      already_deleted: [],
      unverified: [],
      held: null,
      certificate: expect.any(String),
      subject_hmac: expect.stringMatching(/^[\da-f]{64}$/),
    })
    const certificate = certified(answer)
    expect(certificate).toMatchObject({
      statement: 'logically deleted; personal data to be purged after 30 days',
      subject_hmac: answer.body.subject_hmac,
      request_id: answer.headers['x-request-id'],
      records: answer.body.records.map(({ id, deleted_at }: Record<string, unknown>) => ({ id, deleted_at })),
      account_id: own.accountId,
      erased_by: { kind: 'api_key', id: own.keyId },
      ticket: 'T-1',
      reason: 'asked — ünd signed',
      erased: 2,
      deleted: 3,
      remaining: 0,
      purge_after_days: 30,
    })
    expect(certificate.sites.find(({ site_id }) => site_id === own.siteId)).toEqual({
      site_id: own.siteId,
      erased: 1,
      deleted: 2,
      remaining: 0,
    })
    expect(answer.body.certificate).not.toMatch(/destroyed|maria/i)
    for (const { id } of [first, third]) {
      expect((await own.get(id)).status).toBe(404)
      const last = (await own.history(id)).body.data.at(-1)
      expect(last).toMatchObject({ action: 'deleted', changed_by: 'api_key', actor_id: own.keyId })
      const told = answer.body.records.find((record: { id: string }) => record.id === id)
      expect(told.deleted_at).toBe(last.created_at)
    }
    for (const { id } of kept) expect((await own.get(id)).status).toBe(200)
    expect((await owner.get(foreign.id)).status).toBe(200)
    expect(await brokenChains(service.sql, own.accountId)).toEqual([])

    const again = await erase({ subject_id }, own)
    expect(again.body).toMatchObject({ erased: 0, remaining: 0, complete: true, sites: [] })
    expect(certified(again)).toMatchObject({
      statement: null,
      records: [],
      erased: 0,
      deleted: 3,
      ticket: null,
      reason: null,
      subject_hmac: certificate.subject_hmac,
    })
    const elsewhere = certified(await erase({ subject_id, ticket: 'T-1' }))
    expect(elsewhere.subject_hmac).not.toBe(certificate.subject_hmac)
  })

  it('only counts and lists in a dry run', async () => {
    const own = await newOwner(service)
    const { id } = await own.create({ subject_id: 'one' })
    const { status, body } = await erase({ subject_id: 'one', dry_run: true }, own)
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        erased: 1,
        remaining: 1,
        deleted: 0,
        complete: false,
        marked: 0,
        dry_run: true,
        sites: [{ site_id: own.siteId, records: 1 }],
        records: [{ id, site_id: own.siteId, deleted_at: null }],
        already_deleted: [],
        unverified: [],
        held: null,
        certificate: null,
        subject_hmac: expect.any(String),
      },
    })
    expect((await own.get(id)).status).toBe(200)
  })

  it('when ids are given, deletes only these, and returns which of them were deleted before', async () => {
    const own = await newOwner(service)
    const subject_id = 'some'
    const [one, two] = [await own.create({ subject_id }), await own.create({ subject_id })]
    const [three, four] = [await own.create({ subject_id }), await own.create({ subject_id })]
    const other = await own.create({ subject_id: 'another person' })
    const foreign = await owner.create({ subject_id })
    await own.remove(two.id)
    const ids = [one.id, two.id, four.id.toUpperCase(), other.id, foreign.id, own.siteId]
    const dry = await erase({ subject_id, ids, dry_run: true }, own)
    expect(dry.body).toMatchObject({
      erased: 2,
      remaining: 3,
      deleted: 1,
      complete: false,
      certificate: null,
    })
    expect(new Set(dry.body.records.map(({ id }: { id: string }) => id))).toEqual(new Set([one.id, four.id]))
    const { status, body } = await erase({ subject_id, ids }, own)
    expect(status).toBe(200)
    expect(body).toMatchObject({ erased: 2, remaining: 1, deleted: 3, complete: true })
    const [, deletion] = (await own.history(two.id)).body.data
    expect(body.already_deleted).toEqual([{ id: two.id, site_id: own.siteId, deleted_at: deletion.created_at }])
    for (const { id } of [three, other]) expect((await own.get(id)).status).toBe(200)
    expect((await owner.get(foreign.id)).status).toBe(200)
    const again = await erase({ subject_id, ids }, own)
    expect(again.body).toMatchObject({ erased: 0, records: [], complete: true })
    expect(again.body.already_deleted).toHaveLength(3)
    expect(again.body.already_deleted).toEqual(expect.arrayContaining(body.records))
  })

  it('deletes and lists at most 1000 records per call', async () => {
    const account = await service.newAccount()
    const shape = { records: 1203, entries: 1, isLive: true, subject: 'pages' }
    const all = (await insertChains(service.sql, account, shape)).toSorted()
    const subject_id = 'pages'
    const first = await erase({ subject_id, dry_run: true }, account)
    const firstIds = first.body.records.map(({ id }: { id: string }) => id)
    expect(firstIds).toEqual(all.slice(0, 1000))
    const after = firstIds.at(-1)
    const second = await erase({ subject_id, dry_run: true, after }, account)
    expect(second.body.records.map(({ id }: { id: string }) => id)).toEqual(all.slice(1000))
    expect([first.body.erased, second.body.erased]).toEqual([1203, 203])
    expect([first.body.remaining, second.body.remaining]).toEqual([1203, 1203])
    const erased: string[] = []
    for (let isComplete = false; !isComplete; ) {
      const { body } = await erase({ subject_id }, account)
      expect(body.records.length).toBeLessThanOrEqual(1000)
      erased.push(...body.records.map(({ id }: { id: string }) => id))
      isComplete = body.complete
    }
    expect(erased.toSorted()).toEqual(all)
  })

  it('when the caller is a user, names the user in the certificate', async () => {
    const headers = await service.signIn(owner)
    const answer = await service.call('POST', path, { headers, body: { subject_id: 'nobody' } })
    expect(certified(answer).erased_by).toEqual({ kind: 'user', id: owner.userId })
  })

  it('when its deadline has passed, stops, and the next call continues', async () => {
    const account = await service.newAccount()
    await insertChains(service.sql, account, { records: 450, entries: 2, isLive: true, subject: 'many' })
    const caller = { kind: 'api_key', id: account.keyId, accountId: account.accountId, siteIds: null } as const
    const deps = {
      sql: service.sql,
      config: { purgeAfterDays: null },
      signer: signerOf(key),
      subjectSecret: Buffer.alloc(32),
    }
    const progress = newProgress('r-1', performance.now() + 20)
    const first = await eraseSubject(deps, caller, { subject_id: 'many' }, progress)
    expect([0, 200]).toContain(first.erased) // 0 if the deadline came before the first batch
    expect(first).toMatchObject({ remaining: 450 - first.erased, complete: false })
    const second = await erase({ subject_id: 'many' }, account)
    expect(second.body).toMatchObject({ erased: first.remaining, remaining: 0, complete: true })
    expect(certified(second)).toMatchObject({ erased: first.remaining, deleted: 450 })
    expect(await brokenChains(service.sql, account.accountId)).toEqual([])
    await purgeNow(service.sql)
    expect(certified(await erase({ subject_id: 'many' }, account))).toMatchObject({ deleted: 0, sites: [] })
  })

  it('marks records deleted earlier in batches, and reads each once', async () => {
    const account = await service.newAccount()
    const ids = await insertChains(service.sql, account, { records: 450, entries: 2, subject: 'before' })
    const page = { skip: [], after: ids.toSorted()[299] ?? null, limit: 200 }
    const left = await findUnmarked(service.sql, wholeAccount(account.accountId), 'before', page)
    expect(left.map(({ id }) => id)).toEqual(ids.toSorted().slice(300))
    const { body } = await erase({ subject_id: 'before', ids: [] }, account)
    expect(body).toMatchObject({ erased: 0, deleted: 450, marked: 450, complete: true })
    expect((await erase({ subject_id: 'before', ids: [] }, account)).body).toMatchObject({ marked: 0, complete: true })
    expect(await brokenChains(service.sql, account.accountId)).toEqual([])
  })

  it.each(['after', 'before'])(
    'counts every record once if a connection is lost %s a batch was written',
    async moment => {
      const account = await service.newAccount()
      await insertChains(service.sql, account, { records: 450, entries: 2, isLive: true, subject: 'lost' })
      const node = await service.addNode({ signer: signerOf(key), sql: losing(service.sql, moment) })
      const body = { subject_id: 'lost' }
      const answer = await node.call('POST', path, { key: account.key, body })
      expect(answer.body).toMatchObject({ erased: 450, remaining: 0, complete: true })
      expect(answer.body.sites).toEqual([{ site_id: account.siteId, records: 450 }])
      const named = new Set(answer.body.records.map(({ id }: { id: string }) => id))
      expect(named.size).toBe(450)
      expect(certified(answer)).toMatchObject({ erased: 450, deleted: 450, remaining: 0 })
    },
  )

  it('deletes all other records if one cannot be deleted, and counts that one as remaining', async () => {
    const account = await service.newAccount()
    const shape = { records: 31, entries: 1, isLive: true, subject: 'stuck' }
    const ids = await insertChains(service.sql, account, shape)
    await service.sql`
      insert into log_entries (account_id, consent_id, version, hash)
      values (${account.accountId}, ${ids[7] ?? ''}, 2, ${Buffer.alloc(32)})`
    const answer = await erase({ subject_id: 'stuck' }, account)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ erased: 30, remaining: 1, complete: false })
    expect(certified(answer)).toMatchObject({ erased: 30, deleted: 30, remaining: 1 })
    expect((await erase({ subject_id: 'stuck' }, account)).body).toMatchObject({ erased: 0, remaining: 1 })
  })

  it('leaves every record and chain valid when called twice concurrently with creates and updates', async () => {
    const own = await newOwner(service)
    const ids = await insertChains(service.sql, own, {
      records: 300,
      entries: 1,
      isLive: true,
      subject: 'racing',
    })
    const more = Array.from({ length: 30 }, (_, index) => index)
    const [one, two, updates, creates] = await Promise.all([
      erase({ subject_id: 'racing' }, own),
      erase({ subject_id: 'racing' }, own),
      inTurns(ids.slice(100, 200), 4, id => own.update(id, { preferences: { changed: true } })),
      inTurns(more, 2, () => own.create({ subject_id: 'racing' })),
    ])
    for (const { status } of updates) expect([200, 404]).toContain(status)
    const last = await erase({ subject_id: 'racing' }, own)
    expect(last.body).toMatchObject({ remaining: 0, complete: true })
    const erased = [one, two, last].reduce((sum, { body }) => sum + body.erased, 0)
    expect(erased).toBe(ids.length + creates.length)
    expect(await brokenChains(service.sql, own.accountId)).toEqual([])
    const [twice] = await service.sql`
      select consent_id from consent_history where account_id = ${own.accountId} and action = 'deleted'
      group by consent_id having count(*) > 1`
    expect(twice).toBeUndefined()
  })
})

describe('POST /api/v1/subjects/erase › quota', () => {
  it('never rejects an erasure, and is not exceeded', async () => {
    const account = await service.newAccount({ monthlyQuota: 1 })
    const answers = []
    for (let count = 0; count < 3; count += 1) answers.push(await erase({ subject_id: 'x' }, account))
    expect(answers.map(({ status, headers }) => [status, headers['x-quota-remaining']])).toEqual([
      [200, '0'],
      [200, '0'],
      [200, '0'],
    ])
    expect((await service.call('GET', '/api/v1/consents', { key: account.key })).status).toBe(429)
    await service.quota.settle()
    const [row] = await service.sql`
      select used::integer from usage where account_id = ${account.accountId}`
    expect(row).toEqual({ used: 1 })
  })
})

describe('POST /api/v1/subjects/erase › 400', () => {
  it.each([
    [{ subject_id: 'x'.repeat(256) }, 'subject_id'],
    [{ subject_id: 'x', reason: 'x'.repeat(501) }, 'reason'],
    [{ subject_id: 'x', ticket: 'x'.repeat(101) }, 'ticket'],
    [{ subject_id: 'x', ids: Array.from({ length: 1001 }, () => '0'.repeat(36)) }, 'ids'],
  ])('names the invalid field of %j', async (body, named) => {
    expectRefused(await erase(body), named)
  })
})

describe('POST /api/v1/subjects/erase › 200 › records whose histories do not verify', () => {
  it('lists them separately from those that a purge will remove, and a purge removes exactly the others', async () => {
    const own = await newOwner(service)
    const subject_id = 'tampered@example.com'
    const records = await Promise.all(Array.from({ length: 4 }, () => own.create({ subject_id })))
    const [row = '', entry = '', before = ''] = records.map(({ id }) => id)
    await service.sql`update consents set country = 'FR' where id = ${row}`
    await service.sql`update consent_history set accepted = not accepted where consent_id = ${entry}`
    await own.remove(before)
    await service.sql`update consent_history set accepted = not accepted where consent_id = ${before} and version = 1`
    const ids = records.map(({ id }) => id)
    const answer = await erase({ subject_id, ids }, own)
    expect(answer.body).toMatchObject({ erased: 3, already_deleted: [{ id: before }], complete: true })
    expect(answer.body.unverified.toSorted()).toEqual([row, entry, before].sort())
    const certificate = certified(answer)
    expect(certificate.records).toHaveLength(3)
    expect(certificate.unverified).toEqual([row, entry].sort())
    expect(certificate.statement).toBe('logically deleted; personal data to be purged after 30 days')
    const { unverified } = await purgeVerified(service.sql)
    expect(unverified.map(({ consent_id }) => consent_id).sort()).toEqual(answer.body.unverified.toSorted())
  })

  it('when no record verifies, states no purge', async () => {
    const own = await newOwner(service)
    const { id } = await own.create({ subject_id: 'alone' })
    await service.sql`update consents set country = 'FR' where id = ${id}`
    const { statement, records, unverified } = certified(await erase({ subject_id: 'alone' }, own))
    expect([statement, records.length, unverified]).toEqual([null, 1, [id]])
  })
})
