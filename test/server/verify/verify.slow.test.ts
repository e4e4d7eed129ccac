import type { Sql } from 'postgres'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner, type Signer } from '../../../server/evidence/signer.ts'
import { analyzeFilled } from '../../../server/verify/queries.ts'
import { linkOf, type State, system } from '../../../src/evidence/chain.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { insertChains } from '../purge/chains.ts'
import { purgeNow } from '../purge/purge.ts'
import { verified } from './verified.ts'

const hasPlansElsewhere = skippedOnCitus('statistics of the planner, which are those of other nodes')
const service = useService()
let [sql, signer, owner] = [] as unknown as [Sql, Signer, Owner]

/** One account, whose records and creation are all covered: three of one version, one of three. */
let id: string
beforeEach(async () => {
  sql = service.sql
  await sql`truncate accounts, checkpoints, log_entries cascade`
  await sql`delete from key_statements`
  signer = await openSigner(sql, null)
  owner = await newOwner(service)
  await owner.create()
  const record = await owner.create({ subject_id: 'maria', preferences: { a: 1 } })
  id = record.id
  await owner.update(id, { accepted: true })
  await coverAll({ sql, signer })
  await owner.update(id, { accepted: false })
  await owner.create()
  await coverAll({ sql, signer })
})

const kept = async () =>
  (await sql<{ document: string }[]>`select document from checkpoints order by tree_size`).map(
    ({ document }) => document,
  )

const found = async (keptBefore: string[] = []) => (await verified(sql, { kept: keptBefore })).findings

it('a verification reports nothing in an untouched database, also with kept checkpoints, and counts everything', async () => {
  const { findings, inspected } = await verified(sql, { kept: await kept() })
  const { administration } = inspected
  expect({ findings, inspected }).toEqual({
    findings: [],
    inspected: { accounts: 1, records: 3, entries: 5, administration, checkpoints: 2, timestamps: 0 },
  })
  expect(JSON.parse((await kept()).at(-1) ?? '').tree_size).toBe(5 + administration)
  expect((await verified(sql, { account: owner.accountId })).findings).toEqual([])
})

it.skipIf(hasPlansElsewhere)(
  'a verification refreshes the planner’s statistics of tables filled by a bulk load',
  async () => {
    await sql`truncate accounts cascade`
    await sql`analyze consents, consent_history, log_entries`
    owner = await newOwner(service)
    await insertChains(sql, owner, { records: 100, entries: 3 })
    const estimated = async () =>
      (await sql`select reltuples from pg_class where relname = 'consent_history'`)[0]?.['reltuples']
    expect(await estimated()).toBe(0)
    await sql`select pg_stat_force_next_flush()`.catch(() => {})
    await expect
      .poll(async () => {
        await analyzeFilled(sql)
        return await estimated()
      })
      .toBeGreaterThanOrEqual(300)
  },
)

it('a statement of a verification may take longer than one of a request', async () => {
  const url = inject('clusterUrl')
  if (!url) return
  const unlimited = connect({ target: { url: `${url}/postgres` }, max: 1, isUnlimited: true })
  expect(await unlimited`select 1 as one from pg_sleep(5.6)`).toEqual([{ one: 1 }])
  await unlimited.end()
})

it('a verification reports nothing while records are created, updated, deleted and covered', async () => {
  const writers = Array.from({ length: 3 }, async () => {
    for (let round = 0; round < 8; round += 1) {
      const { id } = await owner.create()
      await owner.update(id, { preferences: { b: 2 } })
      await Promise.all([owner.remove(id), owner.update(id, { accepted: true }), coverAll({ sql, signer })])
    }
  })
  const findings: object[] = []
  let isOver = false
  const reader = (async () => {
    while (!isOver) findings.push(...(await found(await kept())))
  })()
  await Promise.all(writers)
  isOver = true
  await reader
  expect([...findings, ...(await found(await kept()))]).toEqual([])
})

it('a history rewritten with its log is detected by the checkpoint, and the account is reported', async () => {
  await rewrite()
  expect(await found()).toMatchObject([
    {
      account_id: owner.accountId,
      consent_id: null,
      problem: 'changed',
      detail: expect.stringContaining('root'),
    },
  ])
})

it('a history rewritten with its log and new checkpoints is detected only by a kept checkpoint', async () => {
  const before = await kept()
  await rewrite()
  await sql`update log_entries set leaf_index = null`
  await sql`delete from checkpoints`
  await sql`update accounts set checkpoint_size = 0`
  await expect(coverAll({ sql, signer })).rejects.toThrow('the checkpoint of 6 leaves')
  await coverAll({ sql, signer: await openSigner(sql, null) }) // a node that has signed nothing of it yet
  expect(await found()).toEqual([])
  expect(await found(before)).toMatchObject([
    { account_id: owner.accountId, consent_id: null, detail: expect.stringContaining('kept checkpoint') },
  ])
})

it('an end truncated in all tables is detected only by a kept checkpoint', async () => {
  const before = await kept()
  await sql`delete from checkpoints where tree_size = 6`
  expect(await found()).toContainEqual(
    expect.objectContaining({ problem: 'lost', detail: expect.stringContaining('6 leaves') }),
  )
  await sql`update accounts set checkpoint_size = 4`
  const cut = await sql<{ consent_id: string; version: number }[]>`
    delete from log_entries where leaf_index >= 4 returning consent_id, version`
  for (const { consent_id, version } of cut) {
    await sql`delete from consent_history where consent_id = ${consent_id} and version = ${version}`
    if (version === 1) await sql`delete from consents where id = ${consent_id}`
    else await setBack(consent_id, version - 1)
  }
  expect(await found()).toEqual([])
  expect(await found(before)).toMatchObject([{ account_id: owner.accountId, problem: 'shortened' }])
})

it('a removed account is detected only by its kept checkpoint', async () => {
  const before = await kept()
  await sql`truncate accounts, checkpoints, log_entries cascade`
  expect(await found()).toEqual([])
  expect(await found(before)).toMatchObject([{ account_id: owner.accountId, problem: 'lost' }])
})

describe('a stored checkpoint', () => {
  const where = () => sql`where account_id = ${owner.accountId} and tree_size = 4`
  it.each<[string, () => Promise<unknown>, RegExp]>([
    ['its root', () => sql`update checkpoints set root_hash = ${Buffer.alloc(32)} ${where()}`, /columns/],
    ['the one before it', () => sql`update checkpoints set from_size = 2 ${where()}`, /is missing/],
    ['its time', () => sql`update checkpoints set created_at = now() ${where()}`, /columns/],
    ['its frontier', () => sql`update checkpoints set frontier = ${Buffer.alloc(64)} ${where()}`, /frontier/],
    ['its tiles', () => sql`update checkpoints set tiles = ${Buffer.alloc(32)} ${where()}`, /tiles/],
    [
      'its document',
      () => sql`update checkpoints set document = document || ' ' ${where()}`,
      /document is not a signed checkpoint/,
    ],
    [
      'its signature',
      () => sql`
        update checkpoints set document = replace(document, '"signature":"', '"signature":"A') ${where()}`,
      /document is not a signed checkpoint/,
    ],
    ['its key', () => sql`delete from key_statements`, /which is unknown/],
  ])('reports a change of %s', async (_, change, detail) => {
    await change()
    expect((await found()).filter(({ account_id }) => account_id !== null)).toMatchObject([
      { account_id: owner.accountId, consent_id: null, detail: expect.stringMatching(detail) },
    ])
  })
})

it('entries whose log index was removed or changed are reported', async () => {
  await sql`update log_entries set leaf_index = null where consent_id = ${id} and version = 2`
  await owner.create() // waits for its place, as it should
  expect(await found()).toMatchObject([
    { account_id: owner.accountId, consent_id: null, problem: 'lost', detail: expect.stringMatching(/^leaf \d+ /) },
    { account_id: owner.accountId, consent_id: id, version: 2, problem: 'changed' },
  ])
  await sql`update log_entries set leaf_index = 77 where consent_id = ${id} and version = 2`
  const findings = await found()
  expect(findings).toContainEqual(expect.objectContaining({ consent_id: id, version: 2, problem: 'forged' }))
  expect(findings.filter(({ consent_id }) => ![null, id].includes(consent_id))).toEqual([])
})

describe('a change that leaves the hash unchanged', () => {
  it.each<[string, () => Promise<unknown>, object[]]>([
    [
      'a system actor with an id of zeros',
      async () => {
        await owner.remove(id)
        await purgeNow(sql)
        await sql`update consent_history set actor_id = '00000000-0000-0000-0000-000000000000' where changed_by = 'system'`
      },
      [{ version: 5 }],
    ],
    [
      'a number with more digits than a double, in the history',
      () => sql`
        update consent_history set preferences = '{"a": 1.00000000000000000001}' where consent_id = ${id} and version = 2`,
      [{ version: 2 }],
    ],
    [
      'a number with more digits than a double, in the record',
      () => sql`update consents set preferences = '{"a": 1.00000000000000000001}' where id = ${id}`,
      [{ version: null }],
    ],
  ])('is reported: %s', async (_, change, expected) => {
    await change()
    expect(await found()).toMatchObject(expected.map(one => ({ ...one, consent_id: id, problem: 'changed' })))
  })
})

it('numbers with all digits of a double are not reported', async () => {
  await owner.create({
    preferences: { a: 0.1234567890123456, b: 5e-324, c: 9007199254740991, d: '1'.repeat(40) },
  })
  expect(await found()).toEqual([])
})

it('a verification of an unknown account fails', async () => {
  await expect(verified(sql, { account: id })).rejects.toThrow(`no account ${id}`)
})

/** Makes the last change of the record another one, with every hash as it must be, and the log's too. */
async function rewrite(): Promise<void> {
  const [entry] = await sql`select * from consent_history where consent_id = ${id} and version = 3`
  const [before] = await sql<
    { hash: Buffer }[]
  >`select hash from consent_history where consent_id = ${id} and version = 2`
  const state: State = { accepted: true, preferences: { forged: true }, policy_version: 1 }
  const at = entry?.['created_at'] as Date
  const event = {
    id,
    version: 3,
    action: 'updated',
    actor: system,
    at,
    previous: before?.hash ?? null,
    state,
  } as const
  const { salt, payloadHash, hash } = linkOf(event)
  await sql`
    update consent_history set accepted = true, preferences = ${sql.json({ forged: true })}, changed_by = 'system',
      actor_id = null, salt = ${salt}, payload_hash = ${payloadHash}, hash = ${hash}
    where consent_id = ${id} and version = 3`
  await sql`
    update consents set accepted = true, preferences = ${sql.json({ forged: true })}, chain_head = ${hash} where id = ${id}`
  await sql`update log_entries set hash = ${hash} where consent_id = ${id} and version = 3`
}

async function setBack(consentId: string, version: number): Promise<void> {
  await sql`
    update consents c set version = h.version, chain_head = h.hash, accepted = h.accepted, preferences = h.preferences,
      updated_at = h.created_at
    from consent_history h
    where c.account_id = h.account_id and c.id = ${consentId} and h.consent_id = ${consentId} and h.version = ${version}`
}
