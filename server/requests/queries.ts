import type { Fragment, JSONValue, Sql } from 'postgres'
import type { DataSubjectRequest, RequestEntry } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { empty, staticFragment } from '../db/fragments.ts'
import type { Row } from '../db/rows.ts'

export type RequestRow = Row<DataSubjectRequest>

export type RequestState = Omit<RequestRow, 'id' | 'ticket' | 'version' | 'created_at' | 'updated_at'>

/** Contains no identifier in clear. */
export interface Audit {
  readonly action: 'created' | 'updated' | 'extended' | 'closed'
  readonly caller: Caller
  readonly at: Date
  readonly before: object | null
  readonly after: object
}

export type RequestEntryRow = Row<RequestEntry>

export interface RequestFilters {
  readonly state: 'open' | 'closed' | undefined
  readonly ticket: string | undefined
  readonly subjectHmac: string | undefined
  readonly receivedFrom: string | undefined
  readonly receivedTo: string | undefined
  readonly before: string | undefined
}

const columns = staticFragment(
  sql => sql`id, ticket, kind, state, received_on, due_on, subject_ids, subject_hmacs, assignee, extension_reason,
    extended_at, outcome, outcome_reason, closed_at, receipts, version, created_at, updated_at`,
)

/** The join with the account's row lets Citus insert on the account's node. */
function entry(sql: Sql, { action, caller, at, before, after }: Audit): Fragment {
  return sql`entry as (
      insert into subject_request_entries (
        account_id, request_id, version, action, changed_by, actor_id, created_at, before, after)
      select a.account_id, c.id, c.version, ${action}, ${caller.kind}, ${caller.id}::uuid, ${at}::timestamptz,
        ${json(sql, before)}::jsonb, ${json(sql, after)}::jsonb
      from changed c join accounts a on a.account_id = ${caller.accountId}
    )`
}

function json(sql: Sql, value: object | null) {
  return value === null ? null : sql.json(value as JSONValue)
}

/** Returns undefined if the account has a request with this ticket. */
export async function insertRequest(
  sql: Sql,
  { id, ticket, ...state }: RequestState & { readonly id: string; readonly ticket: string },
  audit: Audit,
): Promise<RequestRow | undefined> {
  const { caller, at } = audit
  const [row] = await sql<RequestRow[]>`
    with changed as (
      insert into subject_requests (account_id, id, ticket, kind, state, received_on, due_on, subject_ids, subject_hmacs,
        assignee, created_at, updated_at)
      values (${caller.accountId}, ${id}, ${ticket}, ${state.kind}, ${state.state}, ${state.received_on},
        ${state.due_on}, ${json(sql, state.subject_ids)}, ${json(sql, state.subject_hmacs)}, ${state.assignee},
        ${at}, ${at})
      on conflict (account_id, ticket) do nothing
      returning *
    ), ${entry(sql, audit)}
    select ${columns(sql)} from changed`
  return row
}

/** Returns undefined unless the request is at `version`. */
export async function updateRequest(
  sql: Sql,
  { id, version }: Pick<RequestRow, 'id' | 'version'>,
  state: RequestState,
  audit: Audit,
): Promise<RequestRow | undefined> {
  const { caller, at } = audit
  const [row] = await sql<RequestRow[]>`
    with changed as (
      update subject_requests set
        kind = ${state.kind}, state = ${state.state}, received_on = ${state.received_on}, due_on = ${state.due_on},
        subject_ids = ${json(sql, state.subject_ids)}, subject_hmacs = ${json(sql, state.subject_hmacs)},
        assignee = ${state.assignee}, extension_reason = ${state.extension_reason}, extended_at = ${state.extended_at},
        outcome = ${state.outcome}, outcome_reason = ${state.outcome_reason}, closed_at = ${state.closed_at},
        receipts = ${json(sql, state.receipts)}, version = ${version + 1}, updated_at = ${at}
      where account_id = ${caller.accountId} and id = ${id} and version = ${version}
      returning *
    ), ${entry(sql, audit)}
    select ${columns(sql)} from changed`
  return row
}

export async function findRequest(sql: Sql, accountId: string, id: string): Promise<RequestRow | undefined> {
  const [row] = await sql<RequestRow[]>`
    select ${columns(sql)} from subject_requests where account_id = ${accountId} and id = ${id}`
  return row
}

export async function findByTicket(sql: Sql, accountId: string, ticket: string): Promise<RequestRow | undefined> {
  const [row] = await sql<RequestRow[]>`
    select ${columns(sql)} from subject_requests where account_id = ${accountId} and ticket = ${ticket}`
  return row
}

export function listRequests(
  sql: Sql,
  accountId: string,
  filters: RequestFilters,
  limit: number,
): Promise<RequestRow[]> {
  return sql<RequestRow[]>`
    select ${columns(sql)} from subject_requests where account_id = ${accountId} ${conditions(sql, filters)}
    order by id desc limit ${limit}`
}

function conditions(sql: Sql, filters: RequestFilters): Fragment {
  const { state, ticket, subjectHmac, receivedFrom, receivedTo, before } = filters
  let all = empty(sql)
  if (state === 'open') all = sql`${all} and state <> 'closed'`
  if (state === 'closed') all = sql`${all} and state = 'closed'`
  if (ticket !== undefined) all = sql`${all} and ticket = ${ticket}`
  if (subjectHmac !== undefined) all = sql`${all} and subject_hmacs @> ${sql.json([subjectHmac])}`
  if (receivedFrom !== undefined) all = sql`${all} and received_on >= ${receivedFrom}`
  if (receivedTo !== undefined) all = sql`${all} and received_on <= ${receivedTo}`
  if (before !== undefined) all = sql`${all} and id < ${before}`
  return all
}

export function findEntries(sql: Sql, accountId: string, id: string): Promise<RequestEntryRow[]> {
  return sql<RequestEntryRow[]>`
    select version, action, changed_by, actor_id, created_at, before, after from subject_request_entries
    where account_id = ${accountId} and request_id = ${id} order by version`
}
