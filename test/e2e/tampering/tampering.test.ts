import { randomBytes } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { migrate } from '../../../server/db/migrate.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import type { DatabaseFinding } from '../../../src/contract/index.ts'
import { purgeVerified } from '../../server/purge/purge.ts'
import { verified } from '../../server/verify/verified.ts'
import { isLongRun, newDatabase } from '../campaign.ts'
import { allowNulls } from './columns.ts'
import { change, type Edit, type Edited, edits, turnPurged, type Victim } from './edits.ts'
import { ofImported, ofMade } from './imported.ts'
import { populate } from './population.ts'
import { chanceOf } from './random.ts'

const seed = process.env['CONSENTCTL_TEST_SEED'] ?? randomBytes(4).toString('hex')
const purgedEdits = 300
/** Of each kind. */
const importedEdits = Number(process.env['CONSENTCTL_TEST_IMPORTED_EDITS'] ?? 3)
const size = isLongRun
  ? { accounts: 20, records: 100_000, edits: 1000 }
  : { accounts: 5, records: Math.max(3000, 200 * importedEdits), edits: 200 }
const [original, copy] = ['consentctl_untouched', 'consentctl_tampered']

describe.skipIf(!inject('clusterUrl'))('admin verify › after edits by a superuser', () => {
  let sql: Sql
  let url: string
  beforeAll(async () => {
    process.stderr.write(`CONSENTCTL_TEST_SEED=${seed}\n`)
    url = await newDatabase(original)
    sql = connect({ target: { url }, max: 10 })
    await migrate(sql)
    await populate(sql, await openSigner(sql, null), chanceOf(seed), size)
  }, 600_000)
  afterAll(async () => {
    await sql.end()
    const admin = postgres(`${inject('clusterUrl')}/postgres`, { max: 1, onnotice: () => {} })
    for (const name of [original, copy]) await admin`drop database if exists ${admin(name)} with (force)`
    await admin.end()
  })

  it('when there are no edits, reports nothing', { timeout: 300_000 }, async () => {
    const start = performance.now()
    const { findings, inspected } = await verified(sql)
    const seconds = (performance.now() - start) / 1000
    const rate = Math.round(inspected.records / seconds)
    process.stderr.write(`${inspected.records} records, ${inspected.entries} entries: ${rate} records a second\n`)
    expect(findings).toEqual([])
    expect(inspected).toMatchObject({ accounts: size.accounts })
    expect(inspected.records).toBeGreaterThanOrEqual(size.records)
  })

  it('names exactly the edited records', {
    timeout: 600_000,
  }, async () => {
    const victims = await sql<Victim[]>`
      select account_id, id, version, purged_at is not null as purged from consents order by md5(id::text || ${seed})
      limit ${3 * size.edits}`
    const done = await onCopy(async tampered => {
      const made: Edited[] = []
      const chance = chanceOf(`${seed} edits`)
      for (const [one, other] of pairs(victims).slice(0, size.edits)) {
        made.push(await chance.one(edits)(tampered, chance, one, other))
      }
      return { made, ...(await verified(tampered)) }
    })
    expect(done.made).toHaveLength(size.edits)
    const named = new Set(done.findings.map(({ consent_id }) => consent_id))
    const missed = done.made.filter(edit => !isFound(edit, named, done.findings))
    expect(missed).toEqual([])
    const allowed = new Set([null, ...done.made.flatMap(({ records, madeUp = [] }) => [...records, ...madeUp])])
    expect(done.findings.filter(({ consent_id }) => !allowed.has(consent_id))).toEqual([])
  })

  it(`reports ${purgedEdits} records edited before their purge or refuses to purge them, and ${purgedEdits} purged ones whose states or times were swapped`, {
    timeout: 600_000,
  }, async () => {
    await onCopy(async tampered => {
      const victims = (isPurged: boolean, except: readonly string[] = []) => tampered<Victim[]>`
        select account_id, id, version, purged_at is not null as purged from consents
        where deleted_at is not null and (purged_at is not null) = ${isPurged} and id <> all (${except})
        order by md5(id::text || ${seed}) limit ${purgedEdits}`
      const chance = chanceOf(`${seed} purge`)
      const edit = async (work: Edit, all: readonly Victim[]) => {
        expect(all).toHaveLength(purgedEdits)
        for (const one of all) await work(tampered, chance, one, one)
        return all.map(({ id }) => id)
      }
      const before = await edit(change, await victims(false))
      const refused = (await purgeVerified(tampered)).unverified
      const purged = await tampered<{ id: string }[]>`select id from consents where purged_at is not null`
      process.stderr.write(`${refused.length} purges refused, ${purged.length} records purged\n`)
      const named = new Set([...refused, ...(await verified(tampered)).findings].map(({ consent_id }) => consent_id))
      expect(before.filter(id => !named.has(id))).toEqual([])

      const after = await edit(turnPurged, await victims(true, before))
      const found = new Set((await verified(tampered)).findings.map(({ consent_id }) => consent_id))
      expect(after.filter(id => !found.has(id))).toEqual([])
    })
  })

  it(`reports every record whose import was swapped, moved, hidden or forged, or its account if the log was rewritten too (${importedEdits} of each kind)`, {
    timeout: 600_000,
  }, async () => {
    await onCopy(async tampered => {
      const chance = chanceOf(`${seed} imports`)
      const pool = (isImported: boolean) => tampered<Victim[]>`
        select account_id, id, version, false as purged from consents
        where deleted_at is null and (given_at is not null) = ${isImported} order by md5(id::text || ${seed})`
      const made: Edited[] = []
      for (const [kinds, victims] of [
        [ofImported, pairs(await pool(true))],
        [ofMade, pairs(await pool(false))],
      ] as const)
        for (const kind of kinds)
          for (const [one, other] of victims.splice(0, importedEdits))
            made.push(await kind(tampered, chance, one, other))
      expect(made).toHaveLength(importedEdits * (ofImported.length + ofMade.length))
      const { findings } = await verified(tampered)
      const named = new Set(findings.map(({ consent_id }) => consent_id))
      const logs = new Set(findings.filter(({ consent_id }) => consent_id === null).map(({ account_id }) => account_id))
      const isNamed = ({ account, records }: Edited) =>
        records.length > 0 ? records.every(id => named.has(id)) : logs.has(account)
      expect(made.filter(edit => !isNamed(edit))).toEqual([])
    })
  })

  async function onCopy<T>(work: (tampered: Sql) => Promise<T>): Promise<T> {
    await sql.end()
    const admin = postgres(`${inject('clusterUrl')}/postgres`, { max: 1, onnotice: () => {} })
    await admin`drop database if exists ${admin(copy)} with (force)`
    await admin`create database ${admin(copy)} template ${admin(original)}`
    await admin.end()
    sql = connect({ target: { url }, max: 10 })
    const tampered = postgres(url.replace(original, copy), {
      max: 1,
      connection: { session_replication_role: 'replica' },
    })
    try {
      await allowNulls(tampered)
      return await work(tampered)
    } finally {
      await tampered.end()
    }
  }
})

/** Records two by two, of the same account. */
function pairs(victims: readonly Victim[]): [Victim, Victim][] {
  const single = new Map<string, Victim>()
  return victims.flatMap(victim => {
    const other = single.get(victim.account_id)
    if (other) single.delete(victim.account_id)
    else single.set(victim.account_id, victim)
    return other ? [[other, victim] as [Victim, Victim]] : []
  })
}

function isFound(
  { account, records, leaves = [] }: Edited,
  named: Set<string | null>,
  findings: DatabaseFinding[],
): boolean {
  const gaps = findings
    .filter(
      ({ account_id, consent_id, problem }) => account_id === account && consent_id === null && problem === 'lost',
    )
    .map(({ detail }) => /^lea(?:f|ves) (\d+)(?: to (\d+))?/.exec(detail))
  const isGap = (leaf: number) => gaps.some(gap => gap && leaf >= Number(gap[1]) && leaf <= Number(gap[2] ?? gap[1]))
  return records.every(id => named.has(id)) && leaves.every(isGap) && records.length + leaves.length > 0
}
