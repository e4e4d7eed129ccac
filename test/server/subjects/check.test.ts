import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../server/ids.ts'
import { useService } from '../../support/service.ts'
import { type Importer, newImporter } from '../consents/imports.ts'
import { makeKey } from '../keys/keys.ts'
import { newSite, publishNotice } from './fixtures.ts'

const service = useService()
let owner: Importer
beforeAll(async () => {
  owner = await newImporter(service)
})

const check = async (query: Record<string, string>) => {
  const search = new URLSearchParams({ purpose: 'marketing', ...query })
  return await service.call('GET', `/api/v1/subjects/check?${search}`, { key: owner.key })
}
const newSubject = () => `person ${newId()}`
const yes = { accepted: true, preferences: { marketing: true } }
const create = (subject_id: string, fields: object = {}) => owner.create({ subject_id, ...yes, ...fields })
const reasonOf = async (subject_id: string, more: Record<string, string> = {}) => {
  const { status, body, text } = await check({ subject_id, ...more })
  expect(status, text).toBe(200)
  return [body.allowed, body.reason]
}
const publish = (notice: Parameters<typeof publishNotice>[2]) => publishNotice(service, owner, notice)

describe('GET /api/v1/subjects/check › 200', () => {
  it('returns the record, and states that its notice is not held', async () => {
    const subject_id = newSubject()
    const { id, created_at } = await create(subject_id, { policy_version: 4 })
    const { body } = await check({ subject_id })
    expect(body).toEqual({
      allowed: true,
      reason: 'consented',
      subject_id,
      purpose: 'marketing',
      site_id: owner.siteId,
      at: expect.any(String),
      record: {
        id,
        site_id: owner.siteId,
        accepted: true,
        answer: true,
        policy_version: 4,
        version: 1,
        created_at,
        stated_at: created_at,
      },
      notice: 'not held',
      expires_at: null,
      renewal: null,
      origin: null,
      given_at: null,
      witnessed: true,
    })
    expect(Math.abs(Date.parse(body.at) - Date.now())).toBeLessThan(60_000)
  })

  it('returns the held notice, what was shown of it, and when the consent expires', async () => {
    const entry = await publish({ version: 11, purposes: ['marketing', 'analytics', 'marketing'], validFor: 'P1Y' })
    const subject_id = newSubject()
    const { created_at } = await create(subject_id, { policy_version: 11, notice_locale: 'de' })
    const { body } = await check({ subject_id })
    expect(body).toMatchObject({
      allowed: true,
      notice: {
        policy_version: 11,
        languages: ['de', 'en'],
        locale: 'de',
        purposes: ['marketing', 'analytics'],
        controller: null,
        valid_for: 'P1Y',
        effective_from: null,
        entry,
      },
      expires_at: expect.stringMatching(/Z$/),
    })
    const days = (Date.parse(body.expires_at) - Date.parse(created_at)) / 86_400_000
    expect([365, 366]).toContain(days)
    expect(await reasonOf(subject_id, { purpose: 'other' })).toEqual([null, 'purpose_not_answered'])
    await create(subject_id, { policy_version: 11, preferences: { other: true } })
    expect(await reasonOf(subject_id, { purpose: 'other' })).toEqual([false, 'purpose_not_in_notice'])
  })

  it.each([
    [{ accepted: false }, [false, 'refused']],
    [{ preferences: { marketing: false } }, [false, 'refused']],
    [{ accepted: false, preferences: { marketing: true } }, [false, 'refused']],
    [{ preferences: {} }, [null, 'purpose_not_answered']],
    [{ preferences: { marketing: 'true' } }, [null, 'purpose_not_answered']],
    [{ preferences: { marketing: 1 } }, [null, 'purpose_not_answered']],
    [{ preferences: { marketing: null } }, [null, 'purpose_not_answered']],
    [{ preferences: { Marketing: true } }, [null, 'purpose_not_answered']],
  ])('answers yes only for true in an accepted record: %j', async (fields, expected) => {
    const subject_id = newSubject()
    await create(subject_id, fields)
    expect(await reasonOf(subject_id)).toEqual(expected)
  })

  it('distinguishes a withdrawal from a refusal, and a deletion from a record', async () => {
    const subject_id = newSubject()
    expect(await reasonOf(subject_id)).toEqual([null, 'no_record'])
    const { id } = await create(subject_id)
    await owner.update(id, { preferences: {} })
    expect(await reasonOf(subject_id)).toEqual([false, 'withdrawn'])
    await owner.update(id, yes)
    expect(await reasonOf(subject_id)).toEqual([true, 'consented'])
    await owner.update(id, { accepted: false })
    expect(await reasonOf(subject_id)).toEqual([false, 'withdrawn'])
    await owner.remove(id)
    expect(await reasonOf(subject_id)).toEqual([null, 'no_record'])
  })

  it('uses the last answer on a site, even if it changed an older record', async () => {
    const subject_id = newSubject()
    const older = await create(subject_id)
    const newer = await create(subject_id)
    const decides = async (more = {}) => {
      const { allowed, record } = (await check({ subject_id, ...more })).body
      return [allowed, record.id]
    }
    expect(await decides()).toEqual([true, newer.id])
    await owner.update(older.id, { accepted: false })
    expect(await decides()).toEqual([false, older.id])
    const withdrawnAt = new Date().toISOString()
    await delay(5)
    await owner.update(newer.id, { preferences: { marketing: true, analytics: true } })
    expect(await decides(), 'an unchanged answer is no newer one').toEqual([false, older.id])
    await owner.update(newer.id, { preferences: { marketing: false } })
    await owner.update(newer.id, { preferences: { marketing: true } })
    expect(await decides()).toEqual([true, newer.id])
    expect(await decides({ at: withdrawnAt })).toEqual([false, older.id])
    await owner.remove(newer.id)
    expect(await decides(), 'a deleted record does not count').toEqual([false, older.id])
  })

  it('does not allow a purpose again when another purpose of an older record is withdrawn', async () => {
    const subject_id = newSubject()
    const older = await create(subject_id, { preferences: { marketing: true, ads: true } })
    const newer = await create(subject_id, { preferences: { marketing: false, ads: false } })
    await owner.update(older.id, { preferences: { marketing: false, ads: true } })
    const { allowed, record } = (await check({ subject_id, purpose: 'ads' })).body
    expect([allowed, record.id]).toEqual([false, newer.id])
    expect((await check({ subject_id })).body.record.id).toBe(older.id)
  })

  it('uses the newest record of a site, and without a site the newest of these that has the purpose', async () => {
    const subject_id = newSubject()
    const site_id = await newSite(service, owner)
    const first = await create(subject_id)
    const other = await create(subject_id, { site_id, preferences: { analytics: true } })
    const decides = async (more: Record<string, string> = {}) => (await check({ subject_id, ...more })).body.record?.id
    expect(await decides()).toBe(first.id)
    expect(await decides({ site_id })).toBe(other.id)
    expect(await decides({ purpose: 'neither' })).toBe(other.id)
    const refusal = await create(subject_id, { accepted: false, preferences: {} })
    expect(await decides({ site_id: owner.siteId })).toBe(refusal.id)
    expect(await decides(), 'the refusal of the site counts, not what was before it').toBe(refusal.id)
    expect(await reasonOf(subject_id, { site_id: '01890000-0000-7000-8000-000000000000' })).toEqual([null, 'no_record'])
  })

  it('does not count a consent from when a newer notice that requires a renewal takes effect', async () => {
    const site_id = await newSite(service, owner)
    const subject_id = newSubject()
    await create(subject_id, { site_id, policy_version: 2 })
    const on = { siteId: site_id, requiresRenewal: true }
    await publish({ ...on, version: 1 })
    await publish({ ...on, version: 3, requiresRenewal: false })
    await publish({ ...on, version: 4, effectiveFrom: new Date(Date.now() + 3_600_000) })
    expect(await reasonOf(subject_id)).toEqual([true, 'consented'])
    await publish({ ...on, version: 5 })
    await service.sql`update log_entries set leaf_index = null where consent_id = account_id and account_id = ${owner.accountId}`
    expect(await reasonOf(subject_id), 'not held yet').toEqual([true, 'consented'])
    await service.sql`update log_entries set leaf_index = -version where consent_id = account_id and account_id = ${owner.accountId}`
    const { body } = await check({ subject_id })
    expect(body).toMatchObject({ allowed: false, reason: 'renewal_required', renewal: { policy_version: 5 } })
    const before = new Date(Date.parse(body.renewal.published_at) - 1).toISOString()
    expect(await reasonOf(subject_id, { at: before })).toEqual([true, 'consented'])
  })
})

describe('GET /api/v1/subjects/check › imported records', () => {
  const importOf = (subject_id: string, given_at: string, fields: object = {}) =>
    owner.importOne({ subject_id, given_at, ...yes, ...fields })
  const no = { accepted: true, preferences: { marketing: false } }
  const onlyWitnessed = { only_witnessed: 'true' }

  it('states the origin and when the answer was given, and that the service did not witness it', async () => {
    const subject_id = newSubject()
    const origin = { system: 'acme', id: '4711', evidence: 'https://acme.example/4711' }
    const changes = [{ given_at: '2020-07-01T00:00:00.500Z', ...no }]
    const id = await importOf(subject_id, '2019-05-01T10:00:00.000Z', { origin, changes })
    const { body } = await check({ subject_id })
    const stated = { record: { id, version: 2, stated_at: '2020-07-01T00:00:00.500Z' } }
    expect(body).toMatchObject({ allowed: false, reason: 'withdrawn', ...stated, notice: 'not held' })
    expect(body).toMatchObject({ origin, given_at: '2020-07-01T00:00:00.500Z', witnessed: false })
    expect(Date.parse(body.record.created_at)).toBeGreaterThan(Date.parse('2026-01-01'))
    expect((await check({ subject_id, ...onlyWitnessed })).body).toMatchObject({
      allowed: null,
      reason: 'no_record',
      record: null,
      origin: null,
      given_at: null,
      witnessed: null,
    })
  })

  it('count only if they were given after the last answer to this service on the site', async () => {
    const subject_id = newSubject()
    const witnessed = await create(subject_id, { preferences: { marketing: false } })
    const decides = async (more = {}) => (await check({ subject_id, ...more })).body.record.id
    await importOf(subject_id, '2020-01-01T00:00:00Z')
    expect(await decides()).toBe(witnessed.id)
    await importOf(subject_id, witnessed.created_at)
    expect(await decides(), 'not if both are of one instant').toBe(witnessed.id)
    await delay(5)
    const later = await importOf(subject_id, new Date(Date.parse(witnessed.created_at) + 1).toISOString())
    expect(await decides()).toBe(later)
    expect(await decides(onlyWitnessed)).toBe(witnessed.id)
    const newest = await create(subject_id)
    expect(await decides()).toBe(newest.id)
  })

  it('uses the latest of several answers, and across sites the newest answer that has the purpose', async () => {
    const subject_id = newSubject()
    const site_id = await newSite(service, owner)
    const latest = await importOf(subject_id, '2021-01-01T00:00:00Z')
    await importOf(subject_id, '2020-01-01T00:00:00Z')
    const other = await importOf(subject_id, '2022-01-01T00:00:00Z', { site_id, preferences: { analytics: true } })
    const decides = async (more = {}) => (await check({ subject_id, ...more })).body.record?.id
    expect(await decides()).toBe(latest)
    expect(await decides({ purpose: 'analytics' })).toBe(other)
    expect(await decides({ purpose: 'neither' })).toBe(other)
    await owner.remove(latest)
    await owner.remove(other)
    expect((await check({ subject_id })).body.given_at).toBe('2020-01-01T00:00:00.000Z')
  })

  it('counts a withdrawal made here on an imported record, even with only_witnessed', async () => {
    const subject_id = newSubject()
    await create(subject_id)
    const id = await importOf(subject_id, '2020-01-01T00:00:00Z')
    expect(await reasonOf(subject_id)).toEqual([true, 'consented'])
    await owner.update(id, { accepted: false })
    for (const more of [{}, onlyWitnessed]) {
      const { body } = await check({ subject_id, ...more })
      expect(body).toMatchObject({ allowed: false, reason: 'withdrawn', record: { id, version: 2 } })
      expect(body).toMatchObject({
        witnessed: true,
        given_at: '2020-01-01T00:00:00.000Z',
        origin: { system: 'usercentrics' },
      })
      expect(body.record.stated_at > body.record.created_at).toBe(true)
    }
  })

  it('never lets an import hide a later withdrawal or change made here', async () => {
    const made = newSubject()
    const witnessed = await create(made)
    await delay(20)
    const given_at = new Date().toISOString()
    await delay(20)
    await owner.update(witnessed.id, { accepted: false })
    await importOf(made, given_at)
    expect(await reasonOf(made)).toEqual([false, 'withdrawn'])
    expect(await reasonOf(made, { at: given_at }), 'but at that time').toEqual([true, 'consented'])

    const changed = newSubject()
    const id = await importOf(changed, '2020-01-01T00:00:00Z')
    await delay(20)
    const later = new Date().toISOString()
    await delay(20)
    await owner.update(id, { accepted: false })
    await importOf(changed, later)
    expect(await reasonOf(changed)).toEqual([false, 'withdrawn'])
  })

  it('when a record was imported, counts a purpose as witnessed only if it was changed here', async () => {
    const subject_id = newSubject()
    const refusal = await create(subject_id, { preferences: { marketing: false } })
    const id = await importOf(subject_id, '2015-01-01T00:00:00Z', { preferences: { marketing: true, ads: true } })
    await owner.update(id, { preferences: { marketing: true, ads: false } })
    for (const more of [{}, onlyWitnessed]) {
      const { body } = await check({ subject_id, ...more })
      expect(body).toMatchObject({ reason: 'refused', record: { id: refusal.id }, witnessed: true })
      const { body: ads } = await check({ subject_id, purpose: 'ads', ...more })
      expect(ads).toMatchObject({ reason: 'withdrawn', record: { id }, witnessed: true })
    }
    await owner.remove(refusal.id)
    const { body } = await check({ subject_id })
    const stated = { id, stated_at: '2015-01-01T00:00:00.000Z', version: 2 }
    expect(body).toMatchObject({ reason: 'consented', record: stated, witnessed: false })
    expect(await reasonOf(subject_id, onlyWitnessed)).toEqual([null, 'no_record'])
  })

  it('answers about the past from when each answer was given, under the policy version at that time', async () => {
    const subject_id = newSubject()
    const changes = [
      { given_at: '2020-07-01T00:00:00.000Z', ...no },
      { given_at: '2021-07-01T00:00:00.000Z', ...yes },
    ]
    await importOf(subject_id, '2019-05-01T10:00:00.000Z', { changes })
    expect(await reasonOf(subject_id, { at: '2019-05-01T09:59:59.999Z' })).toEqual([null, 'no_record'])
    const { body } = await check({ subject_id, at: '2019-05-01T10:00:00Z' })
    const then = '2019-05-01T10:00:00.000Z'
    expect(body).toMatchObject({
      allowed: true,
      given_at: then,
      record: { stated_at: then, version: 1 },
      witnessed: false,
    })
    expect(await reasonOf(subject_id, { at: '2021-06-30T23:59:59.999Z' })).toEqual([false, 'withdrawn'])
    expect(await reasonOf(subject_id, { at: '2021-07-01T00:00:00Z' })).toEqual([true, 'consented'])
    expect(await reasonOf(subject_id, { at: '2021-07-01T00:00:00Z', ...onlyWitnessed })).toEqual([null, 'no_record'])
  })
})

it('GET /api/v1/subjects/check › 400 › when the time is in the future', async () => {
  const { status, body } = await check({ subject_id: 'x', at: '2999-01-01T00:00:00Z' })
  expect([status, body.error]).toEqual([400, 'invalid_request'])
})

describe('POST /api/v1/subjects/check', () => {
  const checkAll = (body: object, key = owner.key) =>
    service.call('POST', '/api/v1/subjects/check', { key, body: { purpose: 'marketing', ...body } })

  it('200 › answers each identifier in its place as a single check does, also one that is asked twice', async () => {
    const [given, refused, silent, unknown] = [newSubject(), newSubject(), newSubject(), 'a"b\\c, {null} \u{1f600}']
    const record = await create(given, { policy_version: 7 })
    await create(refused, { preferences: { marketing: false } })
    await create(silent, { preferences: {} })
    const { status, body } = await checkAll({ subject_ids: [unknown, given, refused, silent, given] })
    expect(status).toBe(200)
    expect(body).toMatchObject({ purpose: 'marketing', site_id: null, at: expect.any(String) })
    const yesAnswer = {
      ...{ allowed: true, reason: 'consented', expires_at: null, witnessed: true },
      ...{ record_id: record.id, site_id: owner.siteId, policy_version: 7 },
    }
    const nothing = { expires_at: null, witnessed: null, record_id: null, site_id: null, policy_version: null }
    expect(body.answers[0]).toEqual({ allowed: null, reason: 'no_record', ...nothing })
    expect([body.answers[1], body.answers[4]]).toEqual([yesAnswer, yesAnswer])
    expect(body.answers.slice(2, 4).map(({ reason }: { reason: string }) => reason)).toEqual([
      'refused',
      'purpose_not_answered',
    ])
  })

  it('200 › names near matches with live records of unknown identifiers, if asked to', async () => {
    const person = newId()
    const [one, other, gone] = [`Maria-${person}`, `maria-${person} `, ` MARIA-${person}`]
    await create(one)
    await create(other)
    await owner.remove((await create(gone)).id)
    const subject_ids = [`maria-${person}`, one, newSubject()]
    const { body } = await checkAll({ subject_ids, near_matches: true })
    expect(body.answers.map(({ near_matches }: { near_matches?: string[] }) => near_matches)).toEqual([
      [one, other],
      undefined,
      undefined,
    ])
    expect((await checkAll({ subject_ids })).body.answers[0]).not.toHaveProperty('near_matches')
  })

  it('200 › shows a key that is restricted to sites what a single check shows it', async () => {
    const [subject_id, site_id] = [newSubject(), await newSite(service, owner)]
    await create(subject_id)
    const { key } = await makeKey(service, await service.signIn(owner), { scopes: ['read'], site_ids: [site_id] })
    const { body } = await checkAll({ subject_ids: [subject_id, subject_id.toUpperCase()], near_matches: true }, key)
    expect(body.answers).toMatchObject([{ reason: 'no_record' }, { reason: 'no_record' }])
    expect(JSON.stringify(body)).not.toContain('near_matches')
  })

  it('404 › when the site is unknown, so that a typo is not taken for a list of strangers', async () => {
    const { status } = await checkAll({ subject_ids: ['x'], site_id: newId() })
    expect(status).toBe(404)
  })

  it.each([
    [{ subject_ids: [] }, 'must not be empty'],
    [{ subject_ids: Array.from({ length: 1001 }, String) }, 'at most 1000'],
    [{ subject_ids: [''] }, 'subject_ids.0'],
    [{ subject_ids: ['x'], at: '2999-01-01T00:00:00Z' }, 'must not be in the future'],
  ])('400 › rejects %.60j', async (body, message) => {
    const { status, text } = await checkAll(body)
    expect(status).toBe(400)
    expect(text).toContain(message)
  })
})

describe('GET /api/v1/subjects/check › many records', () => {
  it('compares the newest of 20,000 records within a second', async () => {
    const subject_id = newSubject()
    const { id } = await create(subject_id)
    await service.sql`
      insert into consents (account_id, id, site_id, subject_id, accepted, preferences, policy_version, version,
        record_hash, chain_head, created_at, updated_at)
      select account_id, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, site_id, subject_id, false, '{}',
        1, 1, record_hash, chain_head, created_at, updated_at
      from consents, generate_series(1, 20000) as n where id = ${id}`
    await service.sql`analyze consents`
    const start = performance.now()
    expect((await check({ subject_id })).body.record.id).toBe(id)
    expect(performance.now() - start).toBeLessThan(1000)
  })
})
