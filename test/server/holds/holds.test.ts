import { describe, expect, it } from 'vitest'
import { countPurge, purgeBefore } from '../../../server/purge/service.ts'
import { readSigned } from '../../../src/evidence/signed.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { dumpDatabase, makeKey } from '../keys/keys.ts'
import { insertChains } from '../purge/chains.ts'
import { brokenChains, purgeNow } from '../purge/purge.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
const path = '/api/v1/holds'
const maria = 'maria-7f3a@example.com'
const daysMs = 24 * 60 * 60 * 1000
const inDays = (days: number) => new Date(Date.now() + days * daysMs).toISOString()

const add = (owner: Pick<Owner, 'key'>, fields: object = {}) =>
  service.call('POST', path, {
    key: owner.key,
    body: { subject_id: maria, reason: 'a claim', held_until: inDays(30), ...fields },
  })
const list = async (owner: Owner) => (await service.call('GET', path, { key: owner.key })).body.data
const remove = (owner: Owner, id: string) => service.call('DELETE', `${path}/${id}`, { key: owner.key })
const erase = (owner: Owner, fields: object = {}) =>
  service.call('POST', '/api/v1/subjects/erase', { key: owner.key, body: { subject_id: maria, ...fields } })
const isLive = async (owner: Owner, id: string) => (await owner.get(id)).status === 200

/** Ends a hold as time would. */
const end = (id: string) => service.sql`update holds set held_until = now() - interval '1 second' where id = ${id}`

describe('POST /api/v1/holds › 201', () => {
  it('answers the hold, lists it, and writes who added and removed it, without the identifier', async () => {
    const owner = await newOwner(service)
    const { status, body: hold } = await add(owner, { ticket: 'LEGAL-7' })
    expect({ status, hold }).toEqual({
      status: 201,
      hold: {
        ...{ id: expect.any(String), reason: 'a claim', ticket: 'LEGAL-7' },
        ...{ subject_hmac: (await erase(owner, { dry_run: true })).body.subject_hmac },
        ...{ held_until: expect.any(String), created_at: expect.any(String) },
      },
    })
    expect(await list(owner)).toEqual([hold])
    expect(await list(await newOwner(service))).toEqual([])
    expect(await dumpDatabase(service)).not.toContain(maria)
    expect((await remove(await newOwner(service), hold.id)).status).toBe(404)
    expect((await remove(owner, hold.id)).body).toEqual(hold)
    expect((await remove(owner, hold.id)).status).toBe(404)
    expect(await list(owner)).toEqual([])
    const { body } = await service.call('GET', '/api/v1/audit?target=hold', { key: owner.key })
    const entries = body.data.map(({ action, actor, before, after }: Record<string, { kind?: string }>) => [
      ...[action, actor?.kind, before, after],
    ])
    expect(entries).toEqual([
      ['hold_removed', 'api_key', hold, null],
      ['hold_added', 'api_key', null, hold],
    ])
    expect((await verified(service.sql, { account: owner.accountId })).findings).toEqual([])
  })

  it('when the hold was changed past the service, verification reports it', async () => {
    const owner = await newOwner(service)
    const { body } = await add(owner)
    await end(body.id)
    const { findings } = await verified(service.sql, { account: owner.accountId })
    expect(findings.map(({ detail }) => detail)).toEqual([expect.stringContaining(`hold ${body.id}`)])
  })
})

describe('POST /api/v1/holds › 400, 403', () => {
  it.each([
    { held_until: inDays(-1) },
    { held_until: '9999-12-31T23:59:59-01:00' },
    { reason: '' },
    { subject_id: '' },
  ])('rejects %j', async fields => {
    expect((await add(await newOwner(service), fields)).status).toBe(400)
  })

  it('rejects a key without the scope erase', async () => {
    const owner = await newOwner(service)
    const { key } = await makeKey(service, await service.signIn(owner), { scopes: ['read', 'write'] })
    expect((await add({ key })).status).toBe(403)
  })
})

describe('a hold', () => {
  it('keeps the records of the person from retention, and no others, until it ends', async () => {
    const owner = await newOwner(service)
    const at = new Date(Date.now() - 40 * daysMs)
    const insert = (subject: string) =>
      insertChains(service.sql, owner, { records: 2, entries: 2, isLive: true, at, subject })
    const own = await insert(maria)
    const others = await insert(maria.toUpperCase())
    const retention = { period: 'P1M', after: 'last_change' }
    const headers = await service.signIn(owner)
    await service.call('PATCH', `/api/v1/sites/${owner.siteId}`, { headers, body: { retention } })
    const [short, long] = [await add(owner, { held_until: inDays(1) }), await add(owner)]
    await end(short.body.id)
    await purgeNow(service.sql, 30)
    expect(await Promise.all([...own, ...others].map(id => isLive(owner, id)))).toEqual([true, true, false, false])
    await end(long.body.id)
    await purgeNow(service.sql, 30)
    expect(await Promise.all(own.map(id => isLive(owner, id)))).toEqual([false, false])
    expect(await brokenChains(service.sql, owner.accountId)).toEqual([])
  })

  it('keeps deleted records from the purge on schedule and at once', async () => {
    const owner = await newOwner(service)
    const [id = ''] = await insertChains(service.sql, owner, { records: 1, entries: 2, subject: maria })
    const [other = ''] = await insertChains(service.sql, owner, { records: 1, entries: 2, subject: 'other' })
    const { body: hold } = await add(owner)
    await purgeNow(service.sql)
    const purge = (ids: string[], fields: object = {}) =>
      service.call('POST', '/api/v1/subjects/purge', { key: owner.key, body: { ids, ...fields } })
    expect(await purge([other, id])).toMatchObject({
      status: 409,
      body: { reason: 'held', message: expect.stringContaining(hold.held_until) },
    })
    const states = async () =>
      (await purge([id, other], { dry_run: true })).body.records.map(({ state }: { state: string }) => state)
    expect(await states()).toEqual(['deleted', 'purged'])
    await remove(owner, hold.id)
    expect((await purge([id])).body.complete).toBe(true)
    expect(await states()).toEqual(['purged', 'purged'])
  })

  it('that is added while a purge runs keeps what the purge has not begun', async () => {
    const owner = await newOwner(service)
    const [id = ''] = await insertChains(service.sql, owner, { records: 1, entries: 2, subject: maria })
    let added = 0
    const sql = new Proxy(service.sql, {
      apply: (target, self, args) => {
        const write = () => Reflect.apply(target, self, args)
        if (!String(args[0]).includes('origins_kept') || added > 0) return write()
        added += 1
        return add(owner).then(write)
      },
    })
    await purgeNow(sql)
    expect(added).toBe(1)
    expect((await owner.history(id)).body.data.at(-1).action).toBe('deleted')
    const [{ id: hold } = { id: '' }] = await list(owner)
    await remove(owner, hold)
    await purgeNow(service.sql)
    expect((await owner.history(id)).body.data.at(-1).action).toBe('purged')
  })

  it('when the person is to be erased, the answer and its certificate tell of it, and the records stay', async () => {
    const owner = await newOwner(service)
    const { id } = await owner.create({ subject_id: maria })
    const removed = await owner.create({ subject_id: maria })
    await owner.remove(removed.id)
    const { body: hold } = await add(owner, { ticket: 'LEGAL-7' })
    await add(owner, { held_until: inDays(1) })
    const held = { until: hold.held_until, reason: 'a claim', ticket: 'LEGAL-7' }
    expect((await erase(owner, { dry_run: true })).body).toMatchObject({ held, erased: 1, certificate: null })
    const { status, body } = await erase(owner)
    expect([status, body]).toMatchObject([
      200,
      { held, erased: 0, marked: 0, remaining: 1, complete: false, records: [] },
    ])
    expect(schemaProblems(body.certificate)).toEqual([])
    const { document } = readSigned(Buffer.from(body.certificate))
    expect(document).toMatchObject({ held, erased: 0, remaining: 1, records: [], statement: null })
    expect(await isLive(owner, id)).toBe(true)
    const isErased = async () => (await owner.history(removed.id)).body.data.at(-1).erased
    expect(await isErased()).toBeUndefined()
    for (const { id } of await list(owner)) await end(id)
    expect((await erase(owner)).body).toMatchObject({ held: null, erased: 1, marked: 1, complete: true })
    expect(await isErased()).toBe(true)
    expect(await countPurge(service.sql, purgeBefore(0), new AbortController().signal)).toEqual(
      expect.arrayContaining([{ account_id: owner.accountId, expired: 0, purged: 2, proofs: 0 }]),
    )
  })
})
