import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { createConsent, createConsents } from '../../../server/consents/create.ts'
import type { Deps } from '../../../server/consents/deps.ts'
import { claimOf } from '../../../server/consents/idempotency.ts'
import { Policies } from '../../../server/consents/policies.ts'
import type { Made } from '../../../server/consents/rows.ts'
import { getConsent } from '../../../server/consents/service.ts'
import { Together } from '../../../server/db/batching.ts'
import { nowhere } from '../../../server/net/geo.ts'
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

/** What a node has; its statements are counted, and one that says so fails in the way of a database that was taken over. */
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
  const deps: Deps = {
    sql,
    config: { ipStorage: 'truncated' },
    geo: { lookup: () => nowhere } as unknown as Deps['geo'],
    policies: new Policies(),
    reads: new Together(),
    creates: new Together(),
  }
  return { deps, statements: () => statements }
}

const callerOf = ({ accountId, keyId }: Owner) => ({ accountId, kind: 'api_key', id: keyId }) as const
const draft = (fields: object = {}) => ({ site_id: owner.siteId, ...fields }) as ConsentDraft
const parsed = (made: Made) => (made instanceof Error ? made : (JSON.parse(made.shown) as Consent))

async function countOf(subject: string): Promise<number> {
  const rows =
    await service.sql`select from consents where account_id = ${owner.accountId} and subject_id = ${subject}`
  return rows.length
}

/** Does work while the database refuses every record of one subject. */
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

describe('creates of one moment', () => {
  it('are one statement, those with a key another, and each is answered as it would be alone', async () => {
    const { deps, statements } = newDeps()
    const caller = callerOf(owner)
    const create = (fields: object, key: string | null = null) =>
      createConsent(deps, caller, draft(fields), key)
    await create({}, 'used before')
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
      { value: { isReplayed: false, shown: expect.stringContaining('"policy_version":7') } },
      { value: { isReplayed: false } },
      { value: { isReplayed: true } },
      { reason: { code: 'conflict' } },
      { value: { isReplayed: true } },
      { reason: { code: 'conflict' } },
      { reason: { code: 'not_found' } },
      { value: { isReplayed: false, shown: expect.stringContaining('"subject_id":"e"') } },
    ])
    expect(statements() - before).toBe(4) // besides those two one for the unknown site, and one for the key that was used
    expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(countOf))).toEqual([1, 1, 0, 0, 1])
  })

  it('of two callers are two statements, and each history has its own', async () => {
    const { deps, statements } = newDeps()
    await deps.policies.read(deps.sql, owner.accountId, [owner.siteId])
    const before = statements()
    const user = { accountId: owner.accountId, kind: 'user', id: owner.userId } as const
    const [one, other] = await Promise.all([
      createConsent(deps, callerOf(owner), draft(), null),
      createConsent(deps, user, draft(), null),
    ])
    expect(statements() - before).toBe(2)
    for (const [made, kind] of [
      [one, 'api_key'],
      [other, 'user'],
    ] as const) {
      const history = await owner.history((JSON.parse(made.shown) as Consent).id)
      expect(history.body.data).toMatchObject([{ changed_by: kind }])
    }
  })

  it('are made of the policy that the site has, and not of one that it had', async () => {
    const other = await newOwner(service)
    const { deps } = newDeps()
    const create = (fields: object = {}, key: string | null = null) =>
      createConsent(deps, callerOf(other), { site_id: other.siteId, ...fields } as ConsentDraft, key)
    await create()
    await service.sql`update sites set policy_version = 2 where account_id = ${other.accountId}`
    const made = await Promise.all([
      create(),
      create({ policy_version: 1 }),
      create({}, 'k'),
      create({}, 'k'),
    ])
    expect(made.map(one => (parsed(one) as Consent).policy_version)).toEqual([2, 1, 2, 2])
    expect(made.map(({ isReplayed }) => isReplayed)).toEqual([false, false, false, true])
    const [found] =
      await service.sql`select count(*)::int as count from consents where account_id = ${other.accountId}`
    expect(found?.['count']).toBe(4)
  })

  it.skipIf(hasNoTriggers)('of which one cannot be stored are made but for that one', async () => {
    await withPoison(async () => {
      const { deps } = newDeps()
      const subjects = ['good 1', 'poison', 'good 2']
      const create = (subject_id: string) => createConsent(deps, callerOf(owner), draft({ subject_id }), null)
      const outcomes = await Promise.allSettled(subjects.map(create))
      expect(outcomes).toMatchObject([{ value: {} }, { reason: { code: '22003' } }, { value: {} }])
      expect(await Promise.all(subjects.map(countOf))).toEqual([1, 0, 1])
    })
  })

  it.skipIf(hasNoTriggers)('are so too where their site has another policy by now', async () => {
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
  })

  it('of which some are written are not tried again for the trouble of the others', async () => {
    const { deps: calm } = newDeps()
    const used = {
      draft: draft({ subject_id: 'used' }),
      claim: claimOf('of trouble', draft({ subject_id: 'used' })),
    }
    const caller = callerOf(owner)
    await createConsents(calm, caller, [used])
    const { deps } = newDeps('k.body_hash, c.id')
    const made = await createConsents(deps, caller, [
      { draft: draft({ subject_id: 'calm' }), claim: null },
      used,
    ])
    expect(made).toMatchObject([{ isReplayed: false }, { code: '25006' }])
    expect(await countOf('calm')).toBe(1)
  })
})

describe('creates of which none is written', () => {
  it('fail as a whole where the answers to their keys cannot be read: they may be tried again', async () => {
    const item = { draft: draft(), claim: claimOf('repeated', draft()) }
    await createConsents(newDeps().deps, callerOf(owner), [item])
    const { deps } = newDeps('k.body_hash, c.id')
    await expect(createConsents(deps, callerOf(owner), [item, item])).rejects.toMatchObject({ code: '25006' })
  })
})

describe('reads of one moment', () => {
  it('are one statement, and each is answered as it would be alone', async () => {
    const { deps, statements } = newDeps()
    const caller = callerOf(owner)
    const [one, gone] = [await owner.create({ subject_id: 'one' }), await owner.create()]
    await owner.remove(gone.id)
    const stranger = await newOwner(service)
    const foreign = await stranger.create()
    const ids = [one.id, unknownId, gone.id, foreign.id, one.id]
    const outcomes = await Promise.allSettled(ids.map(id => getConsent(deps, caller, id, false)))
    const missing = { reason: { code: 'not_found' } }
    const whole = { value: expect.stringContaining('"subject_id":"one"') }
    expect(outcomes).toMatchObject([whole, missing, missing, missing, whole])
    expect(statements()).toBe(1)
    const both = await Promise.all([
      getConsent(deps, caller, gone.id, true),
      getConsent(deps, caller, gone.id, false).catch(error => error),
    ])
    expect(both).toMatchObject([expect.stringContaining(gone.id), { code: 'not_found' }])
  })

  it('of two tenants are two statements, and none sees what is the other’s', async () => {
    const { deps, statements } = newDeps()
    const stranger = await newOwner(service)
    const [own, foreign] = [await owner.create(), await stranger.create()]
    const ask = (who: Owner, id: string) => getConsent(deps, callerOf(who), id, false)
    const outcomes = await Promise.allSettled([
      ask(owner, own.id),
      ask(stranger, own.id),
      ask(stranger, foreign.id),
      ask(owner, foreign.id),
    ])
    const missing = { reason: { code: 'not_found' } }
    expect(outcomes).toMatchObject([
      { value: expect.stringContaining(own.id) },
      missing,
      { value: expect.stringContaining(foreign.id) },
      missing,
    ])
    expect(statements()).toBe(2)
  })
})
