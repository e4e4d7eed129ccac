import type { Sql } from 'postgres'
import type { HoldNotice } from '../../src/contract/index.ts'
import { findSecret } from '../db/secrets.ts'
import { Failure } from '../failure.ts'
import { standInOf } from '../subjects/hmac.ts'
import { findSubjects, type HoldRow, listHolds } from './queries.ts'

type FindHold = (subjectId: string | null) => HoldRow | undefined

/** Returns a function that finds the hold of a record's subject that ends last. */
export async function findHolds(sql: Sql, accountId: string): Promise<FindHold> {
  const holds = await listHolds(sql, accountId)
  if (holds.length === 0) return () => undefined
  const subjectSecret = await findSecret(sql, 'subject')
  if (!subjectSecret) throw new Error('the database has holds, but not the secret "subject" that finds their persons')
  const bySubject = new Map(
    holds
      .toSorted((a, b) => a.held_until.getTime() - b.held_until.getTime())
      .map(hold => [hold.subject_hmac, hold] as const),
  )
  return subjectId =>
    subjectId === null ? undefined : bySubject.get(standInOf({ subjectSecret }, { accountId }, subjectId))
}

export async function findHoldOf(sql: Sql, accountId: string, subjectId: string): Promise<HoldNotice | null> {
  const hold = (await findHolds(sql, accountId))(subjectId)
  return hold ? { until: hold.held_until.toISOString(), reason: hold.reason, ticket: hold.ticket } : null
}

/** @throws Failure `conflict` that tells until when, and why */
export async function requireRecordsNotHeld(sql: Sql, accountId: string, ids: readonly string[]): Promise<void> {
  const findHold = await findHolds(sql, accountId)
  const hold = (await findSubjects(sql, accountId, ids)).flatMap(subject => findHold(subject) ?? [])[0]
  if (!hold) return
  const { held_until: until, reason, ticket } = hold
  throw new Failure(
    'conflict',
    `A legal hold keeps the records of this person until ${until.toISOString()} (GDPR Art. 17(3)(e)): ${reason}${ticket === null ? '' : `, ${ticket}`}`,
    { reason: 'held' },
  )
}
