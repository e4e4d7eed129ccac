import type { Fragment, JSONValue, Sql } from 'postgres'
import type { AuditAction, DataSubjectRequest } from '../../src/contract/index.ts'
import { administrator, afterAccount, auditEntry, lockedAccount, target, targetId } from '../audit/entries.ts'
import { detailsDigest, requestState } from '../audit/states.ts'
import type { Caller } from '../auth/caller.ts'
import { empty, staticFragment, toArrayLiteral } from '../db/fragments.ts'
import type { Row } from '../db/rows.ts'

/** What is left of the person now. */
export type Left = 'held_until' | 'sealed_proofs' | 'sealed_until'

export type RequestRow = Row<Omit<DataSubjectRequest, Left>>

export type RequestState = Omit<RequestRow, 'id' | 'ticket' | 'version' | 'created_at' | 'updated_at'>

export type RequestAction = Extract<AuditAction, `request_${string}`>

export interface RequestAudit {
  readonly action: RequestAction
  readonly caller: Caller
  readonly at: Date
}

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
    extended_at, outcome, outcome_reason, closed_at, purge_due_on, purged_on, receipts, version, created_at, updated_at`,
)

function entry(sql: Sql, { action, caller, at }: RequestAudit, before: Fragment): Fragment {
  const { accountId } = caller
  return sql`change as (
      select ${target(sql, 'request', sql`r.id`)} as target, ${before} as before, ${requestState(sql)} as after from changed r
    ), ${auditEntry(sql, { accountId, actor: administrator(caller), action, at })}`
}

function json(sql: Sql, value: object | null) {
  return value === null ? null : sql.json(value as JSONValue)
}

/** Returns undefined if the account has a request with this ticket. */
export async function insertRequest(
  sql: Sql,
  { id, ticket, ...state }: RequestState & { readonly id: string; readonly ticket: string },
  audit: RequestAudit,
): Promise<RequestRow | undefined> {
  const { caller, at } = audit
  const [row] = await sql<RequestRow[]>`
    with ${lockedAccount(sql, caller.accountId)}, changed as (
      insert into subject_requests (account_id, id, ticket, kind, state, received_on, due_on, subject_ids, subject_hmacs,
        assignee, created_at, updated_at)
      select account_id, ${id}::uuid, ${ticket}, ${state.kind}, ${state.state}, ${state.received_on}::date,
        ${state.due_on}::date, ${json(sql, state.subject_ids)}::jsonb, ${json(sql, state.subject_hmacs)}::jsonb,
        ${state.assignee}, ${at}::timestamptz, ${at}::timestamptz
      from account where account_id = ${caller.accountId}
      on conflict (account_id, ticket) do nothing
      returning *
    ), ${entry(sql, audit, sql`null::jsonb`)}
    select ${columns(sql)} from changed`
  return row
}

/** Returns undefined unless the request is at `version`. */
export async function updateRequest(
  sql: Sql,
  { id, version }: Pick<RequestRow, 'id' | 'version'>,
  state: RequestState,
  audit: RequestAudit,
): Promise<RequestRow | undefined> {
  const { caller, at } = audit
  const [row] = await sql<RequestRow[]>`
    with ${lockedAccount(sql, caller.accountId)}, present as materialized (
      select * from subject_requests
      where account_id = ${caller.accountId} and id = ${id} and version = ${version} and ${afterAccount(sql)}
      for no key update
    ), changed as (
      update subject_requests s set
        kind = ${state.kind}, state = ${state.state}, received_on = ${state.received_on}, due_on = ${state.due_on},
        subject_ids = ${json(sql, state.subject_ids)}, subject_hmacs = ${json(sql, state.subject_hmacs)},
        assignee = ${state.assignee}, extension_reason = ${state.extension_reason}, extended_at = ${state.extended_at},
        outcome = ${state.outcome}, outcome_reason = ${state.outcome_reason}, closed_at = ${state.closed_at},
        purge_due_on = ${state.purge_due_on}, purged_on = ${state.purged_on},
        receipts = ${json(sql, state.receipts)}, version = ${version + 1}, updated_at = ${at}
      from present p where s.account_id = ${caller.accountId} and s.id = ${id} and p.id = s.id
      returning s.*
    ), ${entry(sql, audit, sql`(select ${requestState(sql)} from present r)`)}
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

/** Of the records with these identifiers, which a purge takes from them. `deletedAt` is of the last deletion. */
export async function findHeld(
  sql: Sql,
  accountId: string,
  subjects: readonly string[],
): Promise<{ readonly live: boolean | null; readonly deletedAt: Date | null }> {
  const [row] = await sql<{ live: boolean | null; deletedAt: Date | null }[]>`
    select bool_or(deleted_at is null) as live, max(deleted_at) as "deletedAt" from consents
    where account_id = ${accountId} and subject_id = any (${toArrayLiteral(subjects)}::text[])`
  return row ?? { live: null, deletedAt: null }
}

export interface SealedCount {
  readonly subject_hmac: string
  readonly proofs: number
  readonly until: string
}

/** Of the persons with these HMACs. */
export function countSealed(sql: Sql, accountId: string, hmacs: readonly string[]): Promise<SealedCount[]> {
  return sql<SealedCount[]>`
    select h.sealed->>'subject_hmac' as subject_hmac, count(*)::integer as proofs,
      max((h.sealed->>'until') collate "C") as until
    from consent_history h
    where h.account_id = ${accountId} and h.sealed is not null
      and h.sealed->>'subject_hmac' = any (${toArrayLiteral(hmacs)}::text[])
    group by 1`
}

/** Documents of the administrators' log, oldest first. */
export async function findEntries(sql: Sql, accountId: string, id: string): Promise<string[]> {
  const rows = await sql<{ document: string }[]>`
    select e.document from account_entries e
    where e.account_id = ${accountId} and ${targetId(sql)} = ${id} order by e.version`
  return rows.map(({ document }) => document)
}

/** Returns true if a request was made with these values. Ignores `due_on`, which depends on the configured holidays. */
export async function wasMadeOf(
  sql: Sql,
  { accountId, id }: { readonly accountId: string; readonly id: string },
  { ticket, kind, received_on, subject_hmacs }: Pick<RequestRow, 'ticket' | 'kind' | 'received_on' | 'subject_hmacs'>,
  assignees: readonly (string | null)[],
): Promise<boolean> {
  const digests = assignees.map(assignee =>
    detailsDigest(sql, {
      ticket: sql`${ticket}::text`,
      hmacs: sql`${json(sql, subject_hmacs)}::jsonb`,
      assignee: sql`${assignee}::text`,
      reasons: sql`null, null`,
    }),
  )
  const rows = await sql`
    select 1 from (
      select e.document::jsonb->'after' as made from account_entries e
      where e.account_id = ${accountId} and ${targetId(sql)} = ${id} order by e.version limit 1) as first
    where made->>'kind' = ${kind} and made->>'received_on' = ${received_on}
      and made->>'details_sha256' in (${digests.reduce((all, digest) => sql`${all}, ${digest}`)})`
  return rows.length > 0
}
