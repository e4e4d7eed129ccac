import type { Sql } from 'postgres'
import type { HoldNotice } from '../../src/contract/index.ts'
import { findSecret } from '../db/secrets.ts'
import { Failure } from '../failure.ts'
import { standInOf } from '../subjects/hmac.ts'
import { findSubjects, type HoldRow, listHolds } from './queries.ts'

/** Both are null, or missing, of a record without a subject. */
interface Held {
  readonly subject_id?: string | null
  /** In hexadecimal; of a record whose subject is sealed. */
  readonly subject_hmac?: string
}

export interface FindHold {
  (record: Held): HoldRow | undefined
  /** Of the holds. */
  readonly ids: readonly string[]
}

/** Returns a function that finds the hold of a record's subject that ends last. */
export async function findHolds(sql: Sql, accountId: string): Promise<FindHold> {
  const holds = await listHolds(sql, accountId)
  const ids = holds.map(({ id }) => id)
  if (holds.length === 0) return Object.assign(() => undefined, { ids })
  const subjectSecret = await findSecret(sql, 'subject')
  if (!subjectSecret) throw new Error('the database has holds, but not the secret "subject" that finds their persons')
  const bySubject = new Map(
    holds
      .toSorted((a, b) => a.held_until.getTime() - b.held_until.getTime())
      .map(hold => [hold.subject_hmac, hold] as const),
  )
  const find = ({ subject_id, subject_hmac }: Held) =>
    bySubject.get(subject_hmac ?? (subject_id ? standInOf({ subjectSecret }, { accountId }, subject_id) : ''))
  return Object.assign(find, { ids })
}

export async function findHoldOf(sql: Sql, accountId: string, subjectId: string): Promise<HoldNotice | null> {
  const hold = (await findHolds(sql, accountId))({ subject_id: subjectId })
  return hold ? { until: hold.held_until.toISOString(), reason: hold.reason, ticket: hold.ticket } : null
}

/** @throws Failure `conflict` that tells until when, and why */
export async function requireRecordsNotHeld(sql: Sql, accountId: string, ids: readonly string[]): Promise<void> {
  const findHold = await findHolds(sql, accountId)
  const hold = (await findSubjects(sql, accountId, ids)).flatMap(subject_id => findHold({ subject_id }) ?? [])[0]
  if (hold) throw heldFailure(hold)
}

export function heldFailure({ held_until: until, reason, ticket }: HoldRow, advice = ''): Failure {
  const why = `${reason}${ticket === null ? '' : `, ${ticket}`}`
  return new Failure(
    'conflict',
    `A legal hold keeps the records of this person until ${until.toISOString()} (GDPR Art. 17(3)(e)): ${why}${advice}`,
    { reason: 'held' },
  )
}

/** The last of the holds on persons, by their HMACs in hexadecimal. */
export function lastHold(findHold: FindHold, hmacs: readonly string[]): HoldRow | null {
  const holds = hmacs.flatMap(subject_hmac => findHold({ subject_hmac }) ?? [])
  return holds.toSorted((a, b) => a.held_until.getTime() - b.held_until.getTime()).at(-1) ?? null
}
