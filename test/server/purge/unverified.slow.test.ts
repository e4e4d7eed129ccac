import type { Sql } from 'postgres'
import { beforeEach, describe, expect, it } from 'vitest'
import { toArrayLiteral } from '../../../server/db/fragments.ts'
import { purgeJob } from '../../../server/purge/service.ts'
import { maxEntriesPerPurge } from '../../../server/verify/records.ts'
import { useService } from '../../support/service.ts'
import { verified } from '../verify/verified.ts'
import { insertChains } from './chains.ts'
import { purgeNow, purgeVerified } from './purge.ts'

const service = useService()
let sql: Sql
beforeEach(async () => {
  sql = service.sql
  await sql`truncate accounts, checkpoints, log_entries cascade`
})

const preferences = (version: number) => ({ step: version })
const idsOf = (findings: readonly { consent_id: string | null }[]) => findings.map(each => each.consent_id).sort()

describe('a purge, when the histories of some records do not verify', () => {
  it('skips and reports these records, and purges all others', async () => {
    const [one, other] = [await service.newAccount(), await service.newAccount()]
    const ids = await insertChains(sql, one, { records: 450, entries: 3, preferences })
    await insertChains(sql, other, { records: 2, entries: 3 })
    const [entry = '', row = '', log = '', lost = ''] = [ids[0], ids[150], ids[151], ids[449]]
    await sql`update consent_history set preferences = '{"step":9}' where consent_id = ${entry} and version = 2`
    await sql`update consents set subject_id = 'another' where id = ${row}`
    await sql`update log_entries set hash = ${Buffer.alloc(32)} where consent_id = ${log} and version = 1`
    await sql`delete from consent_history where consent_id = ${lost} and version = 2`
    const tampered = [entry, row, log, lost].sort()
    const before = await historyOf(tampered)

    const { counts, unverified } = await purgeVerified(sql)
    expect(counts).toEqual(new Map([[one.accountId, 446]]).set(other.accountId, 2))
    expect(idsOf(unverified)).toEqual(tampered)
    for (const { account_id } of unverified) expect(account_id).toBe(one.accountId)
    const told = unverified.find(({ consent_id }) => consent_id === entry)
    expect(told).toMatchObject({ version: 2, detail: expect.stringContaining('is not what was recorded') })
    const left = await sql<{ id: string }[]>`select id from consents where purged_at is null order by id`
    expect(left.map(({ id }) => id)).toEqual(tampered)
    expect(await historyOf(tampered)).toEqual(before)

    const { findings } = await verified(sql)
    expect([...new Set(idsOf(findings))]).toEqual(tampered)
    expect(idsOf((await purgeVerified(sql)).unverified)).toEqual(tampered)
  })

  it('continues even if more records do not verify than may fail in one run', async () => {
    const account = await service.newAccount()
    const at = new Date(Date.now() - 60_000)
    const ids = await insertChains(sql, account, { records: 1010, entries: 2, at })
    await sql`
      update consent_history set accepted = false
      where consent_id = any (${toArrayLiteral(ids)}::uuid[]) and version = 1`
    await insertChains(sql, account, { records: 250, entries: 2 })
    const { counts, unverified } = await purgeVerified(sql)
    expect(counts).toEqual(new Map([[account.accountId, 250]]))
    expect(idsOf(unverified)).toEqual(ids.sort())
  })

  it('skips a history longer than one statement strips, whether its purge has started or not', async () => {
    const account = await service.newAccount()
    const shape = { records: 1, entries: maxEntriesPerPurge + 600, preferences }
    const [id = ''] = await insertChains(sql, account, shape)
    const version = maxEntriesPerPurge + 300
    const tamper = () =>
      sql`update consent_history set preferences = '{"step":9}' where consent_id = ${id} and version = ${version}`
    const restore = () => sql`
      update consent_history set preferences = ${sql.json(preferences(version))}
      where consent_id = ${id} and version = ${version}`
    await tamper()
    const before = await historyOf([id])
    expect(await purgeVerified(sql)).toMatchObject({
      counts: new Map(),
      unverified: [{ consent_id: id, version }],
    })
    expect(await historyOf([id])).toEqual(before)

    await restore()
    await sql.unsafe(`alter table consent_history add constraint unstrippable
      check (salt is not null or version <> ${version})`)
    await expect(purgeVerified(sql)).rejects.toThrow(`the record ${id} of the account ${account.accountId}: 23514`)
    await sql`alter table consent_history drop constraint unstrippable`
    await tamper()
    const begun = await historyOf([id])
    expect(begun.filter(({ salt }) => salt === null)).toHaveLength(maxEntriesPerPurge)
    expect(await purgeVerified(sql)).toMatchObject({
      counts: new Map(),
      unverified: [{ consent_id: id, version }],
    })
    expect(await historyOf([id])).toEqual(begun)

    await restore()
    await purgeNow(sql)
    expect((await verified(sql)).findings).toEqual([])
    const [row] = await sql`select count(*)::integer as n from consent_history where salt is not null`
    expect(row).toEqual({ n: 1 }) // that of the purge
  })

  it('lists them in the server’s log', async () => {
    const account = await service.newAccount()
    const [id = ''] = await insertChains(sql, account, { records: 5, entries: 2 })
    await sql`update consent_history set preferences = '{"a":1}' where consent_id = ${id} and version = 1`
    const told = `purged 4 records, and skipped 1 whose history does not verify: ${id}`
    await expect(purgeJob(sql, { purgeAfterDays: 0 }).run(new AbortController().signal)).rejects.toThrow(told)
  })
})

it('a change between the verification and the purge of a record is reported by the next verification', async () => {
  const account = await service.newAccount()
  const [id = ''] = await insertChains(sql, account, { records: 5, entries: 3, preferences })
  let isTampered = false
  const tampering = new Proxy(sql, {
    apply: (target, thisArg, [strings, ...values]) => {
      const run = () => Reflect.apply(target, thisArg, [strings, ...values])
      if (isTampered || !String(strings).includes('hashes as')) return run()
      isTampered = true
      return sql`update consent_history set accepted = false where consent_id = ${id} and version = 2`.then(run)
    },
  })
  expect(await purgeNow(tampering)).toEqual(new Map([[account.accountId, 5]]))
  expect(isTampered).toBe(true)
  const detail = 'what it left of the entries before it, of the record or of itself is not what was recorded'
  expect((await verified(sql)).findings).toMatchObject([
    { consent_id: id, version: 2, detail: expect.stringContaining('its content') },
    { consent_id: id, version: 4, detail },
  ])
})

function historyOf(ids: readonly string[]) {
  return sql<{ consent_id: string; salt: Buffer | null }[]>`
    select consent_id, version, preferences, salt from consent_history
    where consent_id = any (${toArrayLiteral(ids)}::uuid[]) order by consent_id, version`
}
