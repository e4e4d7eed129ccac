import type { Sql } from 'postgres'
import { type Hold, type HoldDraft, parseInstant } from '../../src/contract/index.ts'
import { administrator } from '../audit/entries.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure } from '../failure.ts'
import { newId, readInstant } from '../ids.ts'
import { standInOf } from '../subjects/hmac.ts'
import { deleteHold, type HoldRow, insertHold, listHolds } from './queries.ts'

export interface HoldDeps {
  readonly sql: Sql
  readonly subjectSecret: Uint8Array
}

export async function getHolds({ sql }: HoldDeps, { accountId }: Caller): Promise<{ data: Hold[] }> {
  return { data: (await listHolds(sql, accountId)).map(toHold) }
}

const lastInstant = Date.UTC(10_000, 0) - 1

/** @throws Failure `invalid_request` for an end in the past or after the year 9999 */
export async function addHold(
  deps: HoldDeps,
  caller: Caller,
  { subject_id, reason, ticket, held_until }: HoldDraft,
): Promise<Hold> {
  const until = parseInstant(held_until) ?? 0
  if (until <= Date.now() || until > lastInstant)
    throw new Failure('invalid_request', 'held_until: must be in the future, and before the year 10000')
  const id = newId()
  const hold: HoldRow = {
    ...{ id, reason, ticket: ticket ?? null, subject_hmac: standInOf(deps, caller, subject_id) },
    ...{ held_until: new Date(until), created_at: readInstant(id) },
  }
  const row = await insertHold(deps.sql, caller.accountId, hold, administrator(caller))
  if (!row) throw new Error('the hold was not written')
  return toHold(row)
}

/** @throws Failure `not_found` */
export async function removeHold({ sql }: HoldDeps, caller: Caller, id: string): Promise<Hold> {
  const row = await deleteHold(sql, { accountId: caller.accountId, id, at: new Date() }, administrator(caller))
  if (!row) throw new Failure('not_found', unknownHold)
  return toHold(row)
}

export const unknownHold = 'There is no such hold.'

function toHold({ held_until, created_at, ...hold }: HoldRow): Hold {
  return { ...hold, held_until: held_until.toISOString(), created_at: created_at.toISOString() }
}
