import type { Fragment, Sql } from 'postgres'
import type { SignatureScheme, Webhook, WebhookAttempt } from '../../src/contract/index.ts'
import { type Administrator, afterAccount, auditEntry, lockedAccount, target } from '../audit/entries.ts'
import { shownUrl, webhookState } from '../audit/states.ts'
import type { Accounts } from '../db/accounts.ts'
import { staticFragment, toArrayLiteral } from '../db/fragments.ts'
import type { Row } from '../db/rows.ts'

export interface WebhookKey {
  readonly accountId: string
  readonly id: string
}

/** A record with an event that was not delivered yet. Times are Unix milliseconds. */
export interface Undelivered {
  /** The account's id for the administrators' log. */
  readonly record: string
  /** From which on its events are to be delivered. */
  readonly position: number
  /** Attempts at the first of them that failed. */
  readonly failed: number
  readonly since: number
  readonly next: number
}

export type WebhookRow = Row<Pick<Webhook, 'id' | 'url' | 'types' | 'site_ids' | 'created_at'>> & {
  readonly signature: SignatureScheme
  readonly secret: Buffer
  readonly previous_secret: Buffer | null
  readonly previous_secret_until: Date | null
  readonly failing_since: Date | null
  /** With the user, password and query that `url` lacks. */
  readonly target: string
  /** -1 before the first event. */
  readonly position: number
  readonly undelivered: readonly Undelivered[]
  readonly failures: number
  readonly paused_at: Date | null
  readonly retry_at: Date | null
  readonly next_turn_at: Date
  readonly attempts: readonly WebhookAttempt[]
}

const columns = staticFragment(
  sql => sql`w.id, w.url as target, ${shownUrl(sql)} as url, w.types, w.site_ids, w.signature, w.secret, w.previous_secret,
    w.previous_secret_until, w.position::float8 as position, w.undelivered, w.failures, w.failing_since, w.paused_at,
    w.retry_at, w.next_turn_at, w.attempts, w.created_at`,
)

export async function countWebhooks(sql: Sql, accountId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from webhooks where account_id = ${accountId}`
  return row?.count ?? 0
}

export function listWebhooks(sql: Sql, accountId: string): Promise<WebhookRow[]> {
  return sql<WebhookRow[]>`
    select ${columns(sql)} from webhooks w where w.account_id = ${accountId} order by w.id desc`
}

export async function findWebhook(sql: Sql, { accountId, id }: WebhookKey): Promise<WebhookRow | undefined> {
  const [row] = await sql<WebhookRow[]>`
    select ${columns(sql)} from webhooks w where w.account_id = ${accountId} and w.id = ${id}`
  return row
}

export interface NewRow extends Pick<WebhookRow, 'target' | 'types' | 'site_ids' | 'signature' | 'secret'> {
  readonly createdAt: Date
  /** -1 for the first event. */
  readonly after: number
}

/** Inserts nothing if the account lacks one of the sites. */
export async function insertWebhook(
  sql: Sql,
  { accountId, id }: WebhookKey,
  { target: url, types, site_ids: siteIds, signature, secret, createdAt: at, after }: NewRow,
  actor: Administrator,
): Promise<WebhookRow | undefined> {
  const [row] = await sql<WebhookRow[]>`
    with ${lockedAccount(sql, accountId)}, inserted as (
      insert into webhooks (account_id, id, url, types, site_ids, signature, secret, position, next_turn_at, created_at)
      select account_id, ${id}::uuid, ${url}, ${types && sql.json(types)}::jsonb, ${siteIds && sql.json(siteIds)}::jsonb,
        ${signature}, ${secret}::bytea, ${after}::bigint, ${at}::timestamptz, ${at}::timestamptz
      from account where account_id = ${accountId} and ${hasSites(sql, accountId, siteIds)}
      returning *
    ), change as (
      select ${target(sql, 'webhook', sql`w.id`)} as target, null::jsonb as before, ${webhookState(sql)} as after
      from inserted w
    ), ${auditEntry(sql, { accountId, actor, action: 'webhook_created', at })}
    select ${columns(sql)} from inserted w`
  return row
}

function hasSites(sql: Sql, accountId: string, siteIds: readonly string[] | null | undefined): Fragment {
  if (!siteIds) return sql`true`
  return sql`${siteIds.length} = (
    select count(*) from sites where account_id = ${accountId} and id = any (${toArrayLiteral(siteIds)}::uuid[]))`
}

export type ChangeAction =
  | 'webhook_updated'
  | 'webhook_secret_rotated'
  | 'webhook_rewound'
  | 'webhook_failing'
  | 'webhook_recovered'

/** `set`: assignments of the update. `condition`: nothing is changed if the row `w` does not meet it. */
export interface Change {
  readonly action: ChangeAction
  readonly actor: Administrator
  readonly at: Date
  readonly set: Fragment
  readonly condition?: Fragment
}

/** Ends a turn that has begun, which then cannot save its progress. */
export async function changeWebhook(
  sql: Sql,
  { accountId, id }: WebhookKey,
  { action, actor, at, set, condition = sql`true` }: Change,
): Promise<WebhookRow | undefined> {
  const [row] = await sql<WebhookRow[]>`
    with ${lockedAccount(sql, accountId)}, present as materialized (
      select * from webhooks w
      where w.account_id = ${accountId} and w.id = ${id} and ${condition} and ${afterAccount(sql)} for no key update
    ), changed as (
      update webhooks w set ${set}, turn = null
      from present p where w.account_id = ${accountId} and w.id = ${id} and p.id = w.id
      returning w.*
    ), change as (
      select ${target(sql, 'webhook', sql`w.id`)} as target, (select ${webhookState(sql)} from present w) as before,
        ${webhookState(sql)} as after
      from changed w
    ), ${auditEntry(sql, { accountId, actor, action, at })}
    select ${columns(sql)} from changed w`
  return row
}

export interface Settings {
  readonly url?: string | undefined
  readonly types?: readonly string[] | null | undefined
  readonly site_ids?: readonly string[] | null | undefined
  readonly paused?: boolean | undefined
}

/** So many failures in a row: the endpoint is down, and an event or two are enough to see if that has changed. */
export const downAfter = 10

/** Tries everything that is undelivered at once. */
export async function updateWebhook(
  sql: Sql,
  key: WebhookKey,
  { url, types, site_ids, paused }: Settings,
  { actor, at }: { readonly actor: Administrator; readonly at: Date },
): Promise<WebhookRow | undefined> {
  const set = sql`
    url = coalesce(${url ?? null}, w.url),
    types = ${types === undefined ? sql`w.types` : sql`${types && sql.json(types)}::jsonb`},
    site_ids = ${site_ids === undefined ? sql`w.site_ids` : sql`${site_ids && sql.json(site_ids)}::jsonb`},
    paused_at = ${paused === undefined ? sql`w.paused_at` : paused ? sql`coalesce(w.paused_at, ${at}::timestamptz)` : sql`null`},
    undelivered = (
      select coalesce(jsonb_agg(u.item || jsonb_build_object('next', ${at.getTime()}::bigint)), '[]')
      from jsonb_array_elements(w.undelivered) as u (item)),
    retry_at = case when jsonb_array_length(w.undelivered) > 0 then ${at}::timestamptz end, failures = 0,
    next_turn_at = ${at}`
  const condition = hasSites(sql, key.accountId, site_ids)
  return await changeWebhook(sql, key, { action: 'webhook_updated', actor, at, set, condition })
}

export async function deleteWebhook(
  sql: Sql,
  { accountId, id }: WebhookKey,
  { actor, at }: { readonly actor: Administrator; readonly at: Date },
): Promise<WebhookRow | undefined> {
  const [row] = await sql<WebhookRow[]>`
    with ${lockedAccount(sql, accountId)}, present as materialized (
      select * from webhooks where account_id = ${accountId} and id = ${id} and ${afterAccount(sql)} for update
    ), deleted as (
      delete from webhooks w using present p where w.account_id = ${accountId} and w.id = ${id} and p.id = w.id
      returning w.*
    ), change as (
      select ${target(sql, 'webhook', sql`w.id`)} as target, ${webhookState(sql)} as before, null::jsonb as after
      from deleted w
    ), ${auditEntry(sql, { accountId, actor, action: 'webhook_removed', at })}
    select ${columns(sql)} from deleted w`
  return row
}

/** Of more records nothing is sent until one of these is delivered. */
export const maxUndelivered = 100

export interface DueRow {
  readonly account_id: string
  readonly id: string
}

/**
 * Those with an event to send or to send again, in the order of their accounts. `position >= -1` is always true: it keeps
 * the planner from reading the entries of all accounts.
 */
export function listDue(
  sql: Sql,
  accounts: Accounts,
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<DueRow[]> {
  return sql<DueRow[]>`
    select w.account_id, w.id from webhooks w
    where w.account_id ${accounts} and w.paused_at is null and w.next_turn_at <= ${at} and (
      w.retry_at <= ${at} or (w.failing_since is not null and w.retry_at is null)
      or jsonb_array_length(w.undelivered) < ${maxUndelivered} and (
        exists (
          select 1 from log_entries l
          where l.account_id = w.account_id and l.account_id ${accounts} and l.leaf_index is null and w.position >= -1)
        or exists (
          select 1 from log_entries l
          where l.account_id = w.account_id and l.account_id ${accounts} and l.leaf_index > w.position)))
    order by w.account_id, w.next_turn_at, w.id limit ${limit}`
}

/** Undefined if another node was faster. */
export async function beginTurn(
  sql: Sql,
  { account_id, id }: DueRow,
  { turn, at, until }: { readonly turn: string; readonly at: Date; readonly until: Date },
): Promise<WebhookRow | undefined> {
  const [row] = await sql<WebhookRow[]>`
    update webhooks w set turn = ${turn}, next_turn_at = ${until}
    where w.account_id = ${account_id} and w.id = ${id} and w.next_turn_at <= ${at} and w.paused_at is null
    returning ${columns(sql)}`
  return row
}

export interface Progress {
  readonly position: number
  readonly undelivered: readonly Undelivered[]
  /** Null if nothing is undelivered. */
  readonly retryAt: Date | null
  readonly failures: number
  readonly attempts: readonly WebhookAttempt[]
  readonly nextTurnAt: Date
}

/** Returns false if the turn was ended. */
export async function saveProgress(
  sql: Sql,
  { account_id, id }: DueRow,
  turn: string,
  { position, undelivered, retryAt, failures, attempts, nextTurnAt }: Progress,
): Promise<boolean> {
  const rows = await sql`
    update webhooks set position = ${position}, undelivered = ${sql.json(undelivered.map(each => ({ ...each })))},
      retry_at = ${retryAt}, failures = ${failures},
      attempts = ${sql.json(attempts.map(each => ({ ...each })))}, next_turn_at = ${nextTurnAt}
    where account_id = ${account_id} and id = ${id} and turn = ${turn} returning 1`
  return rows.length > 0
}
