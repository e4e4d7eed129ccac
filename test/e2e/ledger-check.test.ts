import type { Sql } from 'postgres'
import { describe, expect, it } from 'vitest'
import { newId } from '../../server/ids.ts'
import { useService } from '../support/service.ts'
import { type Ledger, newLedger, type RecordHistory, type Target, write } from './ledger.ts'
import { findContradictions } from './ledger-check.ts'

const service = useService()

/** A record that was changed and not removed, as its client knows it, and everything around it. */
interface Victim {
  readonly sql: Sql
  readonly ledger: Ledger
  readonly track: RecordHistory
  readonly id: string
}

/** What must not go unnoticed. */
const wrongs: [name: string, commit: (victim: Victim) => unknown, found: RegExp][] = [
  ['a record that is lost', ({ sql, id }) => forget(sql, id), /is lost/],
  ['a record that nobody made', ({ ledger, track }) => ledger.histories.delete(track.label), /never begun/],
  ['a record that was made twice', ({ sql, id }) => repeat(sql, id), /more than once/],
  ['a refused write that is stored', ({ track }) => last(track, 'refused'), /has the refused write/],
  ['an acknowledged write that is not', ({ track }) => track.steps.push(step('gone')), /lacks the acknowledged/],
  ['writes out of order', ({ track }) => track.steps.reverse(), /after a later one/],
  ['an entry that nobody wrote', ({ track }) => track.steps.pop(), /nobody wrote/],
  ['an entry that is missing', ({ sql, id }) => drop(sql, id), /has version 2 in place of 1/],
  [
    'an entry that was altered',
    ({ sql, id }) => sql`update consent_history set accepted = not accepted where consent_id = ${id}`,
    /wrong hash at 1/,
  ],
  [
    'an entry of another actor',
    ({ sql, id }) => sql`update consent_history set actor_id = ${newId()} where consent_id = ${id}`,
    /wrong hash/,
  ],
  [
    'a record that its history does not explain',
    ({ sql, id }) => sql`update consents set accepted = not accepted where id = ${id}`,
    /another state/,
  ],
  [
    'a record whose subject was altered',
    ({ sql, id }) => sql`update consents set subject_id = 'somebody' where id = ${id}`,
    /wrong payload hash at 1/,
  ],
]

describe('ledger check', () => {
  it.each(wrongs)('finds no contradiction in a correct database, and %s', async (_name, commit, found) => {
    const target: Target = { url: service.url, ...(await service.newAccount()) }
    const ledger = newLedger()
    await write(target, ledger, { clients: 4 }, () => victimOf(ledger) !== undefined)
    expect(await findContradictions(target, service.sql, ledger)).toEqual([])
    const track = victimOf(ledger) as RecordHistory
    await commit({ sql: service.sql, ledger, track, id: track.id ?? '' })
    expect((await findContradictions(target, service.sql, ledger)).join('\n')).toMatch(found)
  })
})

/** Two acknowledged writes, and no other. */
function victimOf({ histories }: Ledger): RecordHistory | undefined {
  return [...histories.values()].find(
    ({ steps }) =>
      steps.map(({ action }) => action).join() === 'created,updated' && steps.every(({ outcome }) => outcome === 'ok'),
  )
}

function step(name: string) {
  return { name, action: 'updated', outcome: 'ok' } as const
}

function last({ steps }: RecordHistory, outcome: 'refused'): void {
  const step = steps.at(-1)
  if (step) step.outcome = outcome
}

async function forget(sql: Sql, id: string): Promise<void> {
  await sql`delete from consent_history where consent_id = ${id}`
  await sql`delete from idempotency_keys where consent_id = ${id}`
  await sql`delete from consents where id = ${id}`
}

async function drop(sql: Sql, id: string): Promise<void> {
  await sql`delete from consent_history where consent_id = ${id} and version = 1`
}

async function repeat(sql: Sql, id: string): Promise<void> {
  const twin = newId()
  await sql`create temporary table twin (like consents)`
  await sql`insert into twin select * from consents where id = ${id}`
  await sql`update twin set id = ${twin}`
  await sql`insert into consents select * from twin`
  await sql`drop table twin`
}
