import { createHash, createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parseTar } from 'nanotar'
import { beforeAll, describe, expect, it } from 'vitest'
import { wholeAccount } from '../../../server/db/reach.ts'
import { countPurge, purgeBefore } from '../../../server/purge/service.ts'
import { checkSubject } from '../../../server/subjects/check.ts'
import { standInOf } from '../../../server/subjects/hmac.ts'
import { listSealed } from '../../../server/subjects/sealed-queries.ts'
import { purgeStatement, sealedPurgeStatement } from '../../../src/contract/documents/purge-certificate.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { subjectSecret, useService } from '../../support/service.ts'
import { newImporter } from '../consents/imports.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { dumpDatabase, makeKey } from '../keys/keys.ts'
import { insertChains } from '../purge/chains.ts'
import { brokenChains, purgeNow } from '../purge/purge.ts'
import { verified } from '../verify/verified.ts'
import { newSite, sealSince } from './fixtures.ts'

const service = useService()
const maria = 'maria-5d1c@example.com'
const basis = 'GDPR Art. 17(3)(e)'
const dayMs = 24 * 60 * 60 * 1000

let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
  await sealFromStart(owner)
})

const sealFromStart = (own: Owner, siteId = own.siteId) =>
  sealSince(service, { ...own, siteId }, { basis, period: 'P10D' }, new Date(Date.now() - 20 * dayMs))

async function setSeal(own: Owner, sealed_proof: object | null, siteId = own.siteId) {
  const headers = await service.signIn(own)
  return await service.call('PATCH', `/api/v1/sites/${siteId}`, { headers, body: { sealed_proof } })
}

const find = async (own: Pick<Owner, 'key'>, subject_id: string) =>
  (await service.call('POST', '/api/v1/subjects/sealed', { key: own.key, body: { subject_id } })).body.data
const check = async (own: Owner, fields: Record<string, string>) => {
  const query = new URLSearchParams({ subject_id: maria, purpose: 'news', ...fields })
  return (await service.call('GET', `/api/v1/subjects/check?${query}`, { key: own.key })).body
}
const purge = async (own: Owner, ids: string[]) =>
  (await service.call('POST', '/api/v1/subjects/purge', { key: own.key, body: { ids } })).body
const evidence = (own: Pick<Owner, 'key'>, id: string, subject_id = maria) =>
  service.call('POST', `/api/v1/consents/${id}/evidence`, { key: own.key, body: { subject_id } })

/** Records that were answered, changed and deleted at a time. */
function insert(own: Owner, { at, subject = maria }: { readonly at: Date; readonly subject?: string }) {
  const preferences = (version: number) => ({
    news: version === 1,
    ads: false,
    note: `of ${subject}`,
    deep: { a: true },
  })
  return insertChains(service.sql, own, { records: 1, entries: 3, at, subject, preferences })
}

describe('a purge on a site with sealed proofs', () => {
  it('leaves a proof that only the identifier finds, and that verifies', async () => {
    const own = await newOwner(service)
    await sealFromStart(own)
    const at = new Date(Date.now() - dayMs)
    const [id = ''] = await insert(own, { at })
    await purgeNow(service.sql)
    const until = new Date(at.getTime() + 10 * dayMs).toISOString()
    expect(await find(own, maria)).toEqual([
      { record_id: id, site_id: own.siteId, purged_at: expect.any(String), basis, until },
    ])
    const { data } = (await own.history(id)).body
    expect(data.at(-1)).toMatchObject({ action: 'purged', preferences: {} })
    expect(data.at(-1).sealed).toEqual({ basis, until, proof_hash: expect.stringMatching(/^[\da-f]{64}$/) })
    expect((await verified(service.sql, { account: own.accountId })).findings).toEqual([])
    expect(await brokenChains(service.sql, own.accountId)).toEqual([])
  })

  it('leaves nothing of a record without a subject, or whose period has ended', async () => {
    const ids = await insert(owner, { at: new Date(Date.now() - 11 * dayMs) })
    const { id } = await owner.create({ preferences: { news: true } })
    await owner.remove(id)
    await purgeNow(service.sql)
    for (const each of [...ids, id]) expect((await owner.history(each)).body.data.at(-1)).not.toHaveProperty('sealed')
    const { records, certificate } = await purge(owner, [...ids, id])
    for (const record of [...records, ...JSON.parse(certificate).records]) expect(record).not.toHaveProperty('sealed')
    expect(JSON.parse(certificate).statement).toBe(purgeStatement)
  })

  it('leaves nothing of a record that was deleted before the setting was turned on, and its erasure announces nothing', async () => {
    const own = await newOwner(service)
    const { id: before } = await own.create({ subject_id: maria })
    const body = { subject_id: maria }
    const erase = async () =>
      (await service.call('POST', '/api/v1/subjects/erase', { key: own.key, body })).body.certificate
    const unannounced = await erase()
    await delay(2)
    const { since } = (await setSeal(own, { basis, period: 'P5D' })).body.sealed_proof
    const { id: after } = await own.create({ subject_id: maria })
    const announced = await erase()
    expect((await setSeal(own, { basis, period: 'P10D' })).body.sealed_proof).toEqual({ basis, period: 'P10D', since })
    await purgeNow(service.sql)
    expect((await find(own, maria)).map(({ record_id }: { record_id: string }) => record_id)).toEqual([after])
    expect((await own.history(before)).body.data.at(-1)).not.toHaveProperty('sealed')
    expect([unannounced, announced].map(text => JSON.parse(text).sealed_proofs?.length)).toEqual([undefined, 1])
    expect((await verified(service.sql, { account: own.accountId })).findings).toEqual([])
  })

  it('applies to what is deleted since it was turned on last', async () => {
    const own = await newOwner(service)
    const { since } = (await setSeal(own, { basis, period: 'P10D' })).body.sealed_proof
    const { id } = await own.create({ subject_id: maria })
    await own.remove(id)
    expect((await setSeal(own, null)).body.sealed_proof).toBe(null)
    await delay(2)
    const again = (await setSeal(own, { basis, period: 'P10D' })).body.sealed_proof
    expect(again.since > since).toBe(true)
    await purgeNow(service.sql)
    expect(await find(own, maria)).toEqual([])
  })

  it('is certified with the proof that it leaves, and an erasure announces it', async () => {
    const own = await newOwner(service)
    await setSeal(own, { basis, period: 'P10D' })
    const { id } = await own.create({ subject_id: maria })
    const body = { subject_id: maria }
    const erased = (await service.call('POST', '/api/v1/subjects/erase', { key: own.key, body })).body
    expect(JSON.parse(erased.certificate)).toMatchObject({
      statement: 'logically deleted; personal data to be purged after 30 days, but for sealed proofs',
      sealed_proofs: [{ site_id: own.siteId, basis, period: 'P10D' }],
    })
    const { records, certificate } = await purge(own, [id])
    const sealed = { basis, until: new Date(Date.parse(records[0].deleted_at) + 10 * dayMs).toISOString() }
    expect([records, JSON.parse(certificate)]).toMatchObject([
      [{ id, state: 'purged', sealed }],
      { statement: sealedPurgeStatement, records: [{ id, sealed }] },
    ])
    expect([erased.certificate, certificate].flatMap(schemaProblems)).toEqual([])
  })

  it('when the proof is changed or removed past the service, verification reports it', async () => {
    const own = await newOwner(service)
    await sealFromStart(own)
    const [id = ''] = await insert(own, { at: new Date(Date.now() - dayMs) })
    await purgeNow(service.sql)
    const set = (change: string) => service.sql`
      update consent_history set sealed = sealed || ${change}::text::jsonb where account_id = ${own.accountId} and consent_id = ${id} and sealed is not null`
    const found = async () => (await verified(service.sql, { account: own.accountId })).findings.length
    const [{ sealed } = { sealed: {} }] = await service.sql<{ sealed: object }[]>`
      select sealed from consent_history where account_id = ${own.accountId} and consent_id = ${id} and sealed is not null`
    for (const change of [
      { basis: 'another' },
      { until: '2099-01-01T00:00:00.000Z' },
      { subject_hmac: '00'.repeat(32) },
      { answers: [] },
      { answers: 1 },
    ]) {
      await set(JSON.stringify(change))
      expect([change, await found()]).toEqual([change, 1])
      await set(JSON.stringify(sealed))
    }
    expect(await found()).toBe(0)
    await service.sql`
      update consent_history set sealed = null where account_id = ${own.accountId} and consent_id = ${id}`
    expect(await found()).toBe(1)
  })

  it('removes the proof when its time has ended, unless a legal hold keeps it', async () => {
    const own = await newOwner(service)
    await sealFromStart(own)
    const at = new Date(Date.now() - 10 * dayMs + 3000)
    const [id = ''] = await insert(own, { at })
    const [held = ''] = await insert(own, { at, subject: 'held' })
    await purgeNow(service.sql)
    const hold = await service.call('POST', '/api/v1/holds', {
      key: own.key,
      body: { subject_id: 'held', reason: 'a claim', held_until: new Date(Date.now() + dayMs).toISOString() },
    })
    expect(hold.status).toBe(201)
    expect((await purgeNow(service.sql)).get(own.accountId)).toBeUndefined()
    await delay(at.getTime() + 10 * dayMs - Date.now() + 1)
    expect(await countPurge(service.sql, purgeBefore(0), new AbortController().signal)).toContainEqual({
      ...{ account_id: own.accountId, expired: 0, purged: 0, proofs: 2 },
    })
    expect((await purgeNow(service.sql)).get(own.accountId)).toBe(1)
    expect([await find(own, maria), (await find(own, 'held')).length]).toEqual([[], 1])
    const { data } = (await own.history(id)).body
    expect(data.map(({ action }: { action: string }) => action).slice(-2)).toEqual(['purged', 'purged'])
    for (const entry of data.slice(0, -1))
      expect(entry).toMatchObject({ salt: null, preferences: {}, record_hash: null })
    for (const entry of data) expect(entry).not.toHaveProperty('sealed')
    await service.call('DELETE', `/api/v1/holds/${hold.body.id}`, { key: own.key })
    expect((await purgeNow(service.sql)).get(own.accountId)).toBe(1)
    expect(await find(own, 'held')).toEqual([])
    expect((await purgeNow(service.sql)).get(own.accountId)).toBeUndefined()
    expect((await verified(service.sql, { account: own.accountId })).findings).toEqual([])
    expect((await own.history(held)).body.data).toHaveLength(5)
  })
})

describe('GET /api/v1/subjects/check › 200 › with a time', () => {
  it('answers from the sealed proof, and without a time does not', async () => {
    const own = await newOwner(service)
    await setSeal(own, { basis, period: 'P10D' })
    const { id } = await own.create({ subject_id: maria, accepted: true, preferences: { news: true } })
    await delay(5)
    const given = new Date().toISOString()
    await delay(5)
    await own.update(id, { accepted: false, preferences: { news: false } })
    await delay(5)
    const withdrawn = new Date().toISOString()
    await delay(5)
    await own.remove(id)
    await delay(5)
    const deleted = new Date().toISOString()
    const times = [given, withdrawn, deleted]
    const ask = () => Promise.all(times.map(at => check(own, { at })))
    const before = await ask()
    expect(before.map(({ reason }) => reason)).toEqual(['consented', 'withdrawn', 'no_record'])
    await purgeNow(service.sql)
    const after = await ask()
    expect(after.map(({ sealed }) => sealed)).toEqual([true, true, undefined])
    for (const [index, { sealed: _, ...answer }] of after.entries()) expect(answer).toEqual(before[index])
    expect(await check(own, {})).toMatchObject({ reason: 'no_record' })
    expect(await check(own, { at: given, subject_id: 'other' })).toMatchObject({ reason: 'no_record' })
    expect(await check(own, { at: given, purpose: 'ads' })).toMatchObject({ reason: 'purpose_not_answered' })
    const live = await own.create({ subject_id: maria, accepted: true, preferences: { news: true } })
    await delay(5)
    expect(await check(own, { at: new Date().toISOString() })).toMatchObject({ record: { id: live.id } })
  })
})

describe('GET /api/v1/subjects/check › 200 › with a time and several records', () => {
  it('answers about a site whatever the number of newer proofs of another', async () => {
    const own = await newOwner(service)
    const other = await newSite(service, own)
    for (const site of [own.siteId, other]) await sealFromStart(own, site)
    const { id } = await own.create({ subject_id: maria, accepted: true, preferences: { news: true } })
    await delay(5)
    const at = new Date().toISOString()
    await own.remove(id)
    await insertChains(service.sql, own, { records: 1000, entries: 2, siteId: other, subject: maria })
    await purgeNow(service.sql)
    expect((await find(own, maria)).map(({ site_id }: { site_id: string }) => site_id)).not.toContain(own.siteId)
    expect(await check(own, { at, site_id: own.siteId })).toMatchObject({ reason: 'consented', record: { id } })
  })

  it('answers after the purge of each record what it answered before', async () => {
    const own = await newImporter(service)
    await setSeal(own, { basis, period: 'P10D' })
    const other = await newSite(service, own)
    await setSeal(own, { basis, period: 'P10D' }, other)
    const times: string[] = []
    const step = async <T>(work: () => Promise<T>): Promise<T> => {
      const done = await work()
      await delay(5)
      times.push(new Date().toISOString())
      await delay(5)
      return done
    }
    const preferences = { news: true, ads: false }
    const imported = await step(() => own.importOne({ subject_id: maria, preferences }))
    const elsewhere = await step(() => own.create({ subject_id: maria, site_id: other, accepted: true, preferences }))
    await step(() => own.update(imported, { preferences: { news: true, ads: true } }))
    const given = await step(() => own.create({ subject_id: maria, accepted: true, preferences }))
    const refused = await step(() => own.create({ subject_id: maria, accepted: false, preferences: {} }))
    const questions = times.flatMap(at =>
      ['news', 'ads', 'none'].flatMap(purpose => [{}, { site_id: own.siteId }].map(of => ({ ...of, at, purpose }))),
    )
    const ask = async () => {
      const all = await Promise.all(questions.map(question => check(own, question)))
      return all.map(({ reason, record, given_at, witnessed, site_id }, index) => ({
        ...{ ...questions[index], reason, record, given_at, witnessed, site_id },
      }))
    }
    const before = await ask()
    expect(new Set(before.map(({ reason }) => reason)).size).toBeGreaterThan(2)
    for (const id of [given, elsewhere, refused].map(each => each.id).concat(imported)) {
      await own.remove(id)
      await purge(own, [id])
      expect(await ask(), id).toEqual(before)
    }
  })
})

describe('POST /api/v1/consents/:id/evidence', () => {
  it('packs the answers for the identifier, and 404 for any other and any other record', async () => {
    const [id = ''] = await insert(owner, { at: new Date(Date.now() - dayMs) })
    const { id: live } = await owner.create({ subject_id: maria })
    await purgeNow(service.sql)
    const { status, bytes } = await packOf(id)
    expect(status).toBe(200)
    const files = new Map(parseTar(bytes).map(({ name, text }) => [name.replace(`${id}/`, ''), text]))
    expect(JSON.parse(files.get('pack.json') ?? '')).toMatchObject({ presented: { subject_id: maria } })
    expect(JSON.parse(files.get('history.json') ?? '').data.at(-1).sealed.answers).toEqual([
      { version: 1, preferences: { news: true, ads: false } },
      { version: 2, preferences: { news: false, ads: false } },
    ])
    expect(files.get('certificate.html')).toContain(maria)
    const plain = await service.call('GET', `/api/v1/consents/${id}/evidence`, { key: owner.key })
    expect(plain.status).toBe(200)
    const stranger = await newOwner(service)
    expect((await evidence(owner, id, 'other')).status).toBe(404)
    expect((await evidence(owner, live)).status).toBe(404)
    expect((await evidence(stranger, id)).status).toBe(404)
  })
})

async function packOf(id: string) {
  const response = await fetch(`${service.url}/api/v1/consents/${id}/evidence`, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ subject_id: maria }),
  })
  return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) }
}

describe('POST /api/v1/subjects/sealed › 200', () => {
  it('returns nothing for another identifier, account or site', async () => {
    const own = await newOwner(service)
    await sealFromStart(own)
    const other = await newSite(service, own)
    await insert(own, { at: new Date(Date.now() - dayMs) })
    await purgeNow(service.sql)
    const keyOf = async (site: string) => await makeKey(service, await service.signIn(own), { site_ids: [site] })
    expect(await find(own, maria)).toHaveLength(1)
    expect(await find(await keyOf(own.siteId), maria)).toHaveLength(1)
    expect(await find(await keyOf(other), maria)).toEqual([])
    expect(await find(await newOwner(service), maria)).toEqual([])
    expect(await find(own, maria.toUpperCase())).toEqual([])
    expect((await own.list(`include_deleted=true&subject_id=${maria}`)).body.data).toEqual([])
  })

  it('with a record returns its answers, and nothing of another record or for another identifier', async () => {
    const own = await newOwner(service)
    await sealFromStart(own)
    const [id = ''] = await insert(own, { at: new Date(Date.now() - dayMs) })
    const [other = ''] = await insert(own, { at: new Date(Date.now() - dayMs), subject: 'other' })
    await purgeNow(service.sql)
    const ask = async (record_id: string, subject_id = maria, key = own.key) =>
      (await service.call('POST', '/api/v1/subjects/sealed', { key, body: { subject_id, record_id } })).body.data
    const answers = [
      { version: 1, preferences: { news: true, ads: false } },
      { version: 2, preferences: { news: false, ads: false } },
    ]
    expect(await ask(id)).toMatchObject([{ record_id: id, basis, answers }])
    const erasing = await makeKey(service, await service.signIn(own), { scopes: ['erase'] })
    const [proof] = await ask(id, maria, erasing.key)
    expect(proof).toEqual({ record_id: id, site_id: own.siteId, purged_at: proof.purged_at, basis, until: proof.until })
    expect(await Promise.all([ask(other), ask(id, 'other'), ask(own.siteId)])).toEqual([[], [], []])
    expect((await find(own, maria))[0]).not.toHaveProperty('answers')
  })

  it('reads by the same statements for a known and an unknown identifier', async () => {
    await insert(owner, { at: new Date(Date.now() - dayMs) })
    await purgeNow(service.sql)
    const reach = wholeAccount(owner.accountId)
    const statementsOf = async (subject_id: string) => {
      const texts: string[] = []
      const sql = new Proxy(service.sql, {
        apply: (target, self, args) => {
          texts.push(String(args[0]))
          return Reflect.apply(target, self, args)
        },
      })
      const at = new Date(Date.now() - dayMs / 2).toISOString()
      await checkSubject({ sql, subjectSecret }, reach, { subject_id, purpose: 'news', at })
      await listSealed(sql, reach, { subjectHmac: standInOf({ subjectSecret }, owner, subject_id) }, 10)
      return texts
    }
    expect(await statementsOf(maria)).toEqual(await statementsOf('nobody'))
  })

  it('no row of the database names the person, or a hash that can be guessed', async () => {
    const subject = 'zoe-9b2f@example.com'
    await insert(owner, { at: new Date(Date.now() - dayMs), subject })
    await purgeNow(service.sql)
    expect(await find(owner, subject)).toHaveLength(1)
    const dump = await dumpDatabase(service)
    const guesses = ['', owner.accountId, owner.siteId].map(key => createHmac('sha256', key).update(subject).digest())
    for (const guess of [createHash('sha256').update(subject).digest(), ...guesses])
      expect(dump).not.toContain(guess.toString('hex'))
    expect(dump).not.toContain(subject)
  })
})
