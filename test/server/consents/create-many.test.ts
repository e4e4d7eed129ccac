import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { createConsent, createMany } from '../../../server/consents/create.ts'
import type { ConsentDeps } from '../../../server/consents/deps.ts'
import { newPolicies, readPolicies } from '../../../server/consents/deps.ts'
import { claimKey } from '../../../server/consents/idempotency.ts'
import type { Created, Draft } from '../../../server/consents/rows.ts'
import { getConsent } from '../../../server/consents/service.ts'
import { Batcher } from '../../../server/db/batching.ts'
import { nowhere } from '../../../server/net/geo.ts'
import { findPublished, newPublishedNotices } from '../../../server/notices/published.ts'
import type { Consent, ConsentDraft } from '../../../src/contract/index.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner, unknownId } from './records.ts'

const service = useService()
const hasNoTriggers = skippedOnCitus('errors of the database that a trigger makes')
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

/** A node's dependencies. Counts statements; those that contain `failing` are rejected as by a read-only standby (25006). */
function newDeps(failing = '\0') {
  let statements = 0
  const sql = new Proxy(service.sql, {
    apply: (target, self, args: Parameters<Sql>) => {
      const built: unknown = Reflect.apply(target, self, args)
      const text = [args[0]].flat().join('')
      if (/^\s*(with|select)\b/.test(text)) statements += 1
      return text.includes(failing) ? Promise.reject(Object.assign(new Error(), { code: '25006' })) : built
    },
  })
  const deps: ConsentDeps = {
    sql,
    config: { ipStorage: 'truncated' },
    geo: { lookup: () => nowhere } as unknown as ConsentDeps['geo'],
    originSecret: Buffer.alloc(32),
    policies: newPolicies(),
    notices: newPublishedNotices(),
    reads: new Batcher(),
    creates: new Batcher(),
  }
  return { deps, statements: () => statements }
}

const callerOf = ({ accountId, keyId }: Owner) => ({ accountId, siteIds: null, kind: 'api_key', id: keyId }) as const
const draft = (fields: object = {}) => ({ site_id: owner.siteId, ...fields }) as ConsentDraft
const parse = ({ json }: Created) => JSON.parse(json) as Consent
/** Drafts by their index, as `createMany` takes them. */
const indexed = (...drafts: Draft[]) => new Map(drafts.entries())

async function countRecords(subject: string): Promise<number> {
  const rows = await service.sql`select from consents where account_id = ${owner.accountId} and subject_id = ${subject}`
  return rows.length
}

/** Runs `work` while the database rejects every record of the subject `poison`. */
async function withPoison(work: () => Promise<void>): Promise<void> {
  const { sql } = service
  await sql`
    create function refuse_poison() returns trigger language plpgsql as $$
    begin
      if new.subject_id = 'poison' then raise exception using errcode = '22003'; end if;
      return new;
    end $$`
  await sql`create trigger poison before insert on consents for each row execute function refuse_poison()`
  try {
    await work()
  } finally {
    await sql`drop function refuse_poison cascade`
  }
}

describe('createConsent › calls in one tick', () => {
  it('run as one statement for keyed and one for unkeyed creates, and each gets its own result', async () => {
    const { deps, statements } = newDeps()
    const caller = callerOf(owner)
    const create = (fields: object, key: string | null = null) => createConsent(deps, caller, draft(fields), key)
    await create({}, 'used before')
    await create({ policy_version: 7 }) // so that its notice is cached, too
    const before = statements()
    const outcomes = await Promise.allSettled([
      create({ subject_id: 'a', policy_version: 7 }),
      create({ subject_id: 'b' }, 'new'),
      create({ subject_id: 'b' }, 'new'),
      create({ subject_id: 'c' }, 'new'),
      create({}, 'used before'),
      create({ subject_id: 'd' }, 'used before'),
      create({ site_id: unknownId }),
      create({ subject_id: 'e' }),
    ])
    expect(outcomes).toMatchObject([
      { value: { isReplayed: false, json: expect.stringContaining('"policy_version":7') } },
      { value: { isReplayed: false } },
      { value: { isReplayed: true } },
      { reason: { code: 'conflict' } },
      { value: { isReplayed: true } },
      { reason: { code: 'conflict' } },
      { reason: { code: 'not_found' } },
      { value: { isReplayed: false, json: expect.stringContaining('"subject_id":"e"') } },
    ])
    expect(statements() - before).toBe(4) // two inserts, one read of the unknown site, one of the used key
    expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(countRecords))).toEqual([1, 1, 0, 0, 1])
  })

  it('run as one statement per caller, with the caller in the history', async () => {
    const { deps, statements } = newDeps()
    await readPolicies(deps, owner.accountId, [owner.siteId])
    await findPublished(deps, owner.accountId, [{ siteId: owner.siteId, version: 1 }])
    const before = statements()
    const user = { accountId: owner.accountId, siteIds: null, kind: 'user', id: owner.userId } as const
    const [one, other] = await Promise.all([
      createConsent(deps, callerOf(owner), draft(), null),
      createConsent(deps, user, draft(), null),
    ])
    expect(statements() - before).toBe(2)
    for (const [made, kind] of [
      [one, 'api_key'],
      [other, 'user'],
    ] as const) {
      const history = await owner.history((JSON.parse(made.json) as Consent).id)
      expect(history.body.data).toMatchObject([{ changed_by: kind }])
    }
  })

  it('use the site’s current policy version when the cached one is outdated', async () => {
    const other = await newOwner(service)
    const { deps } = newDeps()
    const create = (fields: object = {}, key: string | null = null) =>
      createConsent(deps, callerOf(other), { site_id: other.siteId, ...fields } as ConsentDraft, key)
    await create()
    await service.sql`update sites set policy_version = 2 where account_id = ${other.accountId}`
    const made = await Promise.all([create(), create({ policy_version: 1 }), create({}, 'k'), create({}, 'k')])
    expect(made.map(one => parse(one).policy_version)).toEqual([2, 1, 2, 2])
    expect(made.map(({ isReplayed }) => isReplayed)).toEqual([false, false, false, true])
    const [found] = await service.sql`select count(*)::int as count from consents where account_id = ${other.accountId}`
    expect(found?.['count']).toBe(4)
  })

  it.skipIf(hasNoTriggers)(
    'all succeed except the rejected one, even when the cached policy version is outdated',
    async () => {
      const other = await newOwner(service)
      const { deps } = newDeps()
      const create = (subject_id: string) =>
        createConsent(deps, callerOf(other), { site_id: other.siteId, subject_id } as ConsentDraft, null)
      await create('before')
      await service.sql`update sites set policy_version = 2 where account_id = ${other.accountId}`
      await withPoison(async () => {
        const outcomes = await Promise.allSettled(['good 1', 'poison', 'good 2'].map(create))
        expect(outcomes).toMatchObject([{ value: {} }, { reason: { code: '22003' } }, { value: {} }])
      })
      const rows = await service.sql`select from consents where account_id = ${other.accountId}`
      expect(rows).toHaveLength(3)
    },
  )
})

describe('createMany › the first responses of used keys cannot be read', () => {
  const failing = 'k.body_hash, c.id'

  it('when another record was written, returns an error only for the used key and writes nothing twice', async () => {
    const body = draft({ subject_id: 'used' })
    const used = { draft: body, claim: claimKey('of trouble', body) }
    await createMany(newDeps().deps, callerOf(owner), indexed(used))
    const unkeyed = { draft: draft({ subject_id: 'calm' }), claim: null }
    const results = await createMany(newDeps(failing).deps, callerOf(owner), indexed(unkeyed, used))
    expect([results.get(0), results.get(1)]).toMatchObject([{ isReplayed: false }, { code: '25006' }])
    expect(await countRecords('calm')).toBe(1)
  })

  it('when nothing was written, throws', async () => {
    const item = { draft: draft(), claim: claimKey('repeated', draft()) }
    await createMany(newDeps().deps, callerOf(owner), indexed(item))
    const created = createMany(newDeps(failing).deps, callerOf(owner), indexed(item, item))
    await expect(created).rejects.toMatchObject({ code: '25006' })
  })
})

describe('getConsent › calls in one tick', () => {
  it('run as one statement, and each gets its own result', async () => {
    const { deps, statements } = newDeps()
    const caller = callerOf(owner)
    const [one, gone] = [await owner.create({ subject_id: 'one' }), await owner.create()]
    await owner.remove(gone.id)
    const stranger = await newOwner(service)
    const foreign = await stranger.create()
    const ids = [one.id, unknownId, gone.id, foreign.id, one.id]
    const outcomes = await Promise.allSettled(ids.map(id => getConsent(deps, caller, id, false)))
    const missing = { reason: { code: 'not_found' } }
    const whole = { value: { json: expect.stringContaining('"subject_id":"one"') } }
    expect(outcomes).toMatchObject([whole, missing, missing, missing, whole])
    expect(statements()).toBe(1)
    const both = await Promise.all([
      getConsent(deps, caller, gone.id, true),
      getConsent(deps, caller, gone.id, false).catch(error => error),
    ])
    expect(both).toMatchObject([{ json: expect.stringContaining(gone.id) }, { code: 'not_found' }])
  })

  it('run as one statement per account, and no account reads the records of another', async () => {
    const { deps, statements } = newDeps()
    const stranger = await newOwner(service)
    const [own, foreign] = [await owner.create(), await stranger.create()]
    const get = (who: Owner, id: string) => getConsent(deps, callerOf(who), id, false)
    const outcomes = await Promise.allSettled([
      get(owner, own.id),
      get(stranger, own.id),
      get(stranger, foreign.id),
      get(owner, foreign.id),
    ])
    const missing = { reason: { code: 'not_found' } }
    expect(outcomes).toMatchObject([
      { value: { json: expect.stringContaining(own.id) } },
      missing,
      { value: { json: expect.stringContaining(foreign.id) } },
      missing,
    ])
    expect(statements()).toBe(2)
  })
})
