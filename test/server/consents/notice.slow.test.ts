import { beforeAll, describe, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { useService } from '../../support/service.ts'
import { purgeNow } from '../purge/purge.ts'
import { verified } from '../verify/verified.ts'
import { publishNotice } from './notices.ts'
import { newOwner, type Owner } from './records.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
  await publishNotice(service, owner, { version: 1, languages: ['de', 'en'], validFor: 'P1M' })
})

const noticeOf = async (id: string) => {
  const [row] = await service.sql`select notice_locale, notice_entry, expires_at from consents where id = ${id}`
  return row
}

describe('POST /api/v1/consents › with a published notice', () => {
  it('binds the record to the publication, and sets when an acceptance expires', async () => {
    const { id, created_at } = await owner.create({ accepted: true, notice_locale: 'de' })
    const end = (await noticeOf(id))?.['expires_at'] as Date
    const days = (end.getTime() - Date.parse(created_at)) / 86_400_000
    expect(await noticeOf(id)).toMatchObject({ notice_locale: 'de', notice_entry: expect.any(Number) })
    expect([28, 29, 30, 31]).toContain(days)
    const refusal = await owner.create({ accepted: false, notice_locale: 'en' })
    expect(await noticeOf(refusal.id)).toMatchObject({ notice_locale: 'en', expires_at: null })
  })

  it('returns 400 for a language that was not published, and creates the other rows of a batch', async () => {
    const answer = await owner.post({ site_id: owner.siteId, notice_locale: 'fr' })
    const message = 'notice_locale: the notice of version 1 is published only in de, en'
    expect([answer.status, answer.body]).toEqual([400, { error: 'invalid_request', message }])
    const records = ['fr', 'de'].map(notice_locale => ({ site_id: owner.siteId, notice_locale }))
    const batch = await owner.send('POST', '/batch', { body: { records } })
    expect(batch.body.results.map(({ status }: { status: number }) => status)).toEqual([400, 201])
  })

  it('stores the language of an unpublished version, and reports that its notice is not held', async () => {
    const { id } = await owner.create({ accepted: true, policy_version: 9, notice_locale: 'fr' })
    expect(await noticeOf(id)).toEqual({ notice_locale: 'fr', notice_entry: null, expires_at: null })
  })

  it('moves the expiry with each update, removes it on a refusal, and keeps it through a deletion and a restore', async () => {
    const { id } = await owner.create({ accepted: true })
    await service.sql`update consents set expires_at = '2020-01-01' where id = ${id}`
    await owner.update(id, { preferences: { a: true } })
    const moved = (await noticeOf(id))?.['expires_at'] as Date
    expect(moved.getTime()).toBeGreaterThan(Date.now())
    await owner.remove(id)
    await owner.restore(id)
    expect((await noticeOf(id))?.['expires_at']).toEqual(moved)
    await owner.update(id, { accepted: false })
    expect((await noticeOf(id))?.['expires_at']).toBeNull()
  })
})

describe('POST /api/v1/consents › on a site with strict notices', () => {
  it('returns 400 for a version that is not held, and 201 once it is', async () => {
    const strict = await newOwner(service)
    await service.sql`update sites set strict_notices = true where id = ${strict.siteId}`
    const refused = await strict.post({ site_id: strict.siteId, subject_id: 'x' })
    const message = 'policy_version: the site requires a published notice, and version 1 has none'
    expect([refused.status, refused.body]).toEqual([400, { error: 'invalid_request', message }])
    expect((await strict.list()).body.data).toEqual([])
    await publishNotice(service, strict, { version: 2, languages: ['en'] })
    await service.sql`update sites set policy_version = 2 where id = ${strict.siteId}`
    expect((await strict.create()).policy_version, 'although version 1 is cached').toBe(2)
  })

  it('replays the response to a key used before the site became strict', async () => {
    const strict = await newOwner(service)
    const once = () => strict.post({ site_id: strict.siteId }, { 'idempotency-key': 'k' })
    const first = await once()
    await service.sql`update sites set strict_notices = true where id = ${strict.siteId}`
    await new Promise(resolve => setTimeout(resolve, 1050)) // as long as "none" is cached
    const again = await once()
    expect([again.status, again.text]).toEqual([201, first.text])
  })
})

describe('GET /api/v1/consents/{id}/receipt › 200 › privacy_notice', () => {
  it('names the publication that was held when the record was written, never a later one', async () => {
    const own = await newOwner(service)
    const receiptOf = async (id: string) => (await own.receipt(id)).body
    const early = await own.create({ accepted: true, notice_locale: 'de' })
    const manifest = await publishNotice(service, own, { version: 1, languages: ['de', 'en'], validFor: 'P1Y' })
    await new Promise(resolve => setTimeout(resolve, 1050)) // as long as "none" is cached
    const late = await own.create({ accepted: true, notice_locale: 'en' })
    const { texts, purposes, controller, valid_for, requires_renewal, effective_from } = manifest
    const receipt = await receiptOf(late.id)
    expect(schemaProblems((await own.receipt(late.id)).text)).toEqual([])
    expect(receipt.privacy_notice).toEqual({
      ...{ site_id: own.siteId, policy_version: 1, locale: 'en', notice: 'held' },
      ...{ texts, purposes, controller, valid_for, requires_renewal, effective_from },
      publication: expect.objectContaining({ hash: expect.stringMatching(/^[\da-f]{64}$/) }),
    })
    await coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })
    const { privacy_notice, inclusion } = await receiptOf(late.id)
    expect(privacy_notice.publication.leaf_index).toBeLessThan(inclusion.leaf_index)
    await own.update(early.id, { preferences: { again: true } })
    const notHeld = { site_id: own.siteId, policy_version: 1, locale: 'de', notice: 'not held' }
    expect((await receiptOf(early.id)).privacy_notice).toEqual(notHeld)
    await service.sql`update account_entries set document = replace(document, 'GmbH', 'Ltd') where account_id = ${own.accountId}`
    expect((await receiptOf(late.id)).error, 'once the entry is another').toBe('internal_error')
  })
})

describe('admin verify › the notice of a record', () => {
  it('reports nothing for records with and without a notice, changed, deleted, purged or restored', async () => {
    const own = await newOwner(service)
    await own.create({ accepted: true })
    await publishNotice(service, own, { version: 2, languages: ['de'], validFor: 'P1Y' })
    const ids: string[] = []
    for (const accepted of [true, true, true, false])
      ids.push((await own.create({ accepted, policy_version: 2, notice_locale: 'de', subject_id: 'x' })).id)
    const [changed = '', restored = '', purged = '', refused = ''] = ids
    await own.update(changed, { accepted: false })
    await own.remove(restored)
    await own.restore(restored)
    await own.update(refused, { accepted: true })
    await own.remove(purged)
    await purgeNow(service.sql)
    const [row] = await service.sql`select notice_locale, notice_entry from consents where id = ${purged}`
    expect(row).toEqual({ notice_locale: null, notice_entry: expect.any(Number) })
    expect((await verified(service.sql, { account: own.accountId })).findings.filter(isOf(ids))).toEqual([])
  })

  it.each([
    [
      'a publication of another version',
      (id: string) => service.sql`update consents set notice_entry = 1 where id = ${id}`,
    ],
    ['no notice', (id: string) => service.sql`update consents set notice_entry = null where id = ${id}`],
    ['another language', (id: string) => service.sql`update consents set notice_locale = 'en' where id = ${id}`],
    [
      'a later end',
      (id: string) => service.sql`update consents set expires_at = expires_at + interval '1 day' where id = ${id}`,
    ],
    ['no end', (id: string) => service.sql`update consents set expires_at = null where id = ${id}`],
  ])('reports a record to which SQL gave %s', async (_what, tamper) => {
    const { id } = await owner.create({ accepted: true, notice_locale: 'de' })
    expect((await verified(service.sql, { account: owner.accountId })).findings.filter(isOf([id]))).toEqual([])
    await tamper(id)
    const { findings } = await verified(service.sql, { account: owner.accountId })
    expect(findings.filter(isOf([id]))).toContainEqual(expect.objectContaining({ problem: 'changed' }))
  })
})

const isOf =
  (ids: readonly string[]) =>
  ({ consent_id }: { readonly consent_id: string | null }) =>
    ids.includes(consent_id ?? '')
