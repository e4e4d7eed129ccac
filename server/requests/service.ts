import type { Sql } from 'postgres'
import {
  type DataSubjectRequest,
  dueAfter,
  type RequestChange,
  type RequestDraft,
  type RequestEntry,
  type RequestPage,
  type RequestQuery,
  type RequestWithHistory,
} from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import type { Config } from '../config.ts'
import { type CursorScope, decodeCursor, encodeCursor } from '../cursor.ts'
import { toJson } from '../db/rows.ts'
import { Failure, unavailable } from '../failure.ts'
import { findHolds, heldFailure, lastHold } from '../holds/held.ts'
import { newId, readInstant } from '../ids.ts'
import { standInOf } from '../subjects/hmac.ts'
import { applyChange, type PurgeDue } from './change.ts'
import type { RequestState } from './queries.ts'
import * as queries from './queries.ts'

export interface RequestDeps {
  readonly sql: Sql
  readonly config: Pick<Config, 'holidays' | 'purgeAfterDays'>
  readonly subjectSecret: Uint8Array
  readonly cursorSecret: Buffer
}

const defaultLimit = 50

const maxAttempts = 10

const dayMs = 86_400_000

/**
 * Idempotent. @throws Failure `conflict` if another one has its ticket; `invalid_request` if it was received in the
 * future
 */
export async function createRequest(
  deps: RequestDeps,
  caller: Caller,
  draft: RequestDraft,
): Promise<DataSubjectRequest> {
  const { sql, config } = deps
  const id = newId()
  const at = readInstant(id)
  requirePast(draft.received_on, at)
  const state: RequestState = {
    kind: draft.kind,
    state: 'open',
    received_on: draft.received_on,
    due_on: dueAfter(draft.received_on, 1, config.holidays),
    subject_ids: draft.subject_ids,
    subject_hmacs: hmacsOf(deps, caller, draft.subject_ids),
    assignee: draft.assignee ?? null,
    extension_reason: null,
    extended_at: null,
    outcome: null,
    outcome_reason: null,
    closed_at: null,
    purge_due_on: null,
    purged_on: null,
    receipts: [],
  }
  const { ticket } = draft
  const audit = { action: 'request_created', caller, at } as const
  const inserted = await queries.insertRequest(sql, { id, ticket, ...state }, audit)
  if (inserted) return await toRequest(sql, caller, inserted)
  const row = await queries.findByTicket(sql, caller.accountId, ticket)
  if (!row) throw unavailable('Another caller is creating this request.')
  const assignees = draft.assignee === undefined ? [null, row.assignee] : [draft.assignee]
  if (!(await queries.wasMadeOf(sql, { ...caller, id: row.id }, { ticket, ...state }, assignees)))
    throw new Failure('conflict', 'The register has another request with this ticket.')
  return await toRequest(sql, caller, row)
}

/** @throws Failure `invalid_request` for a cursor of another account or other filters */
export async function getPage(
  deps: RequestDeps,
  caller: Caller,
  { cursor, limit = defaultLimit, ...query }: RequestQuery,
): Promise<RequestPage> {
  const { sql, cursorSecret } = deps
  const { accountId } = caller
  const scope: CursorScope = { secret: cursorSecret, accountId, filters: { ...query, of: 'requests' } }
  const filters = {
    state: query.state,
    ticket: query.ticket,
    subjectHmac: query.subject_id === undefined ? undefined : standInOf(deps, caller, query.subject_id),
    receivedFrom: query.received_from,
    receivedTo: query.received_to,
    before: cursor === undefined ? undefined : decodeCursor(scope, cursor),
  }
  const rows = await queries.listRequests(sql, accountId, filters, limit + 1)
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const next_cursor = rows.length > limit && last ? encodeCursor(scope, last.id) : null
  return { data: await toRequests(sql, caller, page), limit, next_cursor }
}

/** @throws Failure `not_found` */
export async function getRequest({ sql }: RequestDeps, caller: Caller, id: string): Promise<RequestWithHistory> {
  const { accountId } = caller
  const row = await queries.findRequest(sql, accountId, id)
  if (!row) throw noRequest()
  const entries = await queries.findEntries(sql, accountId, id)
  const history = entries.map(toEntry).filter(({ version }) => version <= row.version) // omits changes since it was read
  return { ...(await toRequest(sql, caller, row)), history }
}

function toEntry(document: string): RequestEntry {
  const { action, actor, at, before, after } = JSON.parse(document)
  return {
    version: after.version,
    action: action.replace(/^request_/, ''),
    changed_by: actor.kind,
    actor_id: actor.id,
    created_at: at,
    before: before && withoutMetadata(before),
    after: withoutMetadata(after),
  }
}

function withoutMetadata({ id: _, version: __, created_at: ___, updated_at: ____, ...state }: Record<string, unknown>) {
  return state
}

/**
 * Uses optimistic locking. Writes nothing if nothing changes.
 * @throws Failure `not_found`; `conflict` if the request's state does not allow it; `invalid_request`
 */
export async function changeRequest(
  deps: RequestDeps,
  caller: Caller,
  id: string,
  change: RequestChange,
): Promise<DataSubjectRequest> {
  const { sql, config } = deps
  const hmacs = change.subject_ids && hmacsOf(deps, caller, change.subject_ids)
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const row = await queries.findRequest(sql, caller.accountId, id)
    if (!row) throw noRequest()
    const at = new Date(Math.max(Date.now(), row.updated_at.getTime())) // a clock set back must not reorder entries
    requirePast(change.received_on, at)
    const due = await findPurgeDue(
      deps,
      caller,
      change.outcome === 'done' ? (change.subject_ids ?? row.subject_ids) : null,
    )
    const changed = applyChange(row, change, { hmacs, at, holidays: config.holidays, due: due.days })
    if (!changed) return await toRequest(sql, caller, row)
    const { state, action } = changed
    if (due.isLeft && action === 'request_closed') await requireNotHeld(sql, caller, state)
    const written = await queries.updateRequest(sql, row, state, { action, caller, at })
    if (written) return await toRequest(sql, caller, written)
  }
  throw unavailable('Too many callers are changing this request at once.')
}

/** `subjects` are null unless an open request is closed. `isLeft`: the service still has records of them. */
async function findPurgeDue(
  { sql, config: { purgeAfterDays: days } }: RequestDeps,
  { accountId }: Caller,
  subjects: readonly string[] | null,
): Promise<{ readonly days: PurgeDue; readonly isLeft: boolean }> {
  const unknown = { purge_due_on: null, purged_on: null }
  if (!subjects) return { days: unknown, isLeft: false }
  const { live, deletedAt } = await queries.findHeld(sql, accountId, subjects)
  if (live === null) return { days: { ...unknown, purged_on: toDay(new Date()) }, isLeft: false }
  if (live || days === null || !deletedAt) return { days: unknown, isLeft: true }
  const purge_due_on = toDay(new Date(deletedAt.getTime() + days * dayMs))
  return { days: { ...unknown, purge_due_on }, isLeft: true }
}

/** @throws Failure `conflict` that names the hold */
async function requireNotHeld(sql: Sql, { accountId }: Caller, state: RequestState): Promise<void> {
  const hold = lastHold(await findHolds(sql, accountId), state.subject_hmacs)
  if (hold && state.kind === 'erasure')
    throw heldFailure(hold, '; the erasure is not done: close the request as refused, with a reason')
}

function toDay(at: Date): string {
  return at.toISOString().slice(0, 10)
}

/** Allows tomorrow in UTC, which has already begun in some time zones. */
function requirePast(received: string | undefined, at: Date): void {
  const tomorrow = toDay(new Date(at.getTime() + dayMs))
  if (received !== undefined && received > tomorrow)
    throw new Failure('invalid_request', 'received_on: must not be in the future')
}

function hmacsOf(deps: Pick<RequestDeps, 'subjectSecret'>, caller: Caller, subjects: readonly string[]): string[] {
  return subjects.map(subject => standInOf(deps, caller, subject))
}

async function toRequest(sql: Sql, caller: Caller, row: queries.RequestRow): Promise<DataSubjectRequest> {
  const [request] = await toRequests(sql, caller, [row])
  return request as DataSubjectRequest
}

async function toRequests(
  sql: Sql,
  { accountId }: Caller,
  rows: readonly queries.RequestRow[],
): Promise<DataSubjectRequest[]> {
  const hmacs = [...new Set(rows.flatMap(row => row.subject_hmacs))]
  const counts = hmacs.length === 0 ? [] : await queries.countSealed(sql, accountId, hmacs)
  const findHold = await findHolds(sql, accountId)
  return rows.map(row => {
    const own = counts.filter(({ subject_hmac }) => row.subject_hmacs.includes(subject_hmac))
    const sealed_proofs = own.reduce((sum, { proofs }) => sum + proofs, 0)
    const sealed_until =
      own
        .map(({ until }) => until)
        .sort()
        .at(-1) ?? null
    const held_until = lastHold(findHold, row.subject_hmacs)?.held_until.toISOString() ?? null
    return { ...toJson<Omit<DataSubjectRequest, queries.Left>>(row), held_until, sealed_proofs, sealed_until }
  })
}

function noRequest(): Failure {
  return new Failure('not_found', 'There is no such request.')
}
