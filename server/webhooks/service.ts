import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import {
  type NewWebhook,
  parseInstant,
  type SecretRotation,
  type Webhook,
  type WebhookAttempt,
  type WebhookChange,
  type WebhookDetails,
  type WebhookDraft,
  type WebhookRewind,
} from '../../src/contract/index.ts'
import { publicKeyText, secretText } from '../../src/evidence/webhook-signature.ts'
import { administrator } from '../audit/entries.ts'
import type { Caller } from '../auth/caller.ts'
import { findNewestPosition, findPositionBefore } from '../events/queries.ts'
import { placeEntries, requestMs } from '../evidence/log.ts'
import { Failure, noSite } from '../failure.ts'
import { newId, readInstant } from '../ids.ts'
import { readTarget } from './address.ts'
import {
  changeWebhook,
  countWebhooks,
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  updateWebhook,
  type WebhookRow,
} from './queries.ts'
import type { Sender } from './sender.ts'

export interface WebhookDeps {
  readonly sql: Sql
  readonly sender: Sender
}

const maxWebhooks = 50

const defaultOverlapHours = 24

export async function getWebhooks({ sql }: WebhookDeps, { accountId }: Caller): Promise<{ data: Webhook[] }> {
  return { data: (await listWebhooks(sql, accountId)).map(toWebhook) }
}

/** @throws Failure `not_found` */
export async function getWebhook(deps: WebhookDeps, caller: Caller, id: string): Promise<WebhookDetails> {
  const row = await requireWebhook(deps, caller, id)
  return { ...toWebhook(row), attempts: [...row.attempts] }
}

/**
 * Concurrent requests can still create more than the most.
 * @throws Failure `invalid_request` for the URL, `not_found` for a site, `conflict` if there are too many
 */
export async function createWebhook(
  { sql, sender }: WebhookDeps,
  caller: Caller,
  { url, types = null, site_ids = null, signature = 'v1' }: WebhookDraft,
): Promise<NewWebhook> {
  const { accountId } = caller
  const target = readTarget(url, sender.allowed).href
  if ((await countWebhooks(sql, accountId)) >= maxWebhooks)
    throw new Failure('conflict', `The account has ${maxWebhooks} webhooks, the most that one can have.`)
  const id = newId()
  const row = await insertWebhook(
    sql,
    { accountId, id },
    {
      ...{ target, types, site_ids, signature, secret: randomBytes(32), createdAt: readInstant(id) },
      after: await findEnd(sql, accountId),
    },
    administrator(caller),
  )
  if (!row) throw noSite()
  return toNew(row)
}

/** The last position that is given when every entry of now has one. */
async function findEnd(sql: Sql, accountId: string): Promise<number> {
  const placed = await placeEntries({ sql, signal: AbortSignal.timeout(requestMs) }, accountId)
  return placed ? placed.size - 1 : ((await findNewestPosition(sql, accountId)) ?? -1)
}

/** @throws Failure `invalid_request` for the URL, `not_found` also for a site */
export async function changeSettings(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
  { url, ...change }: WebhookChange,
): Promise<Webhook> {
  const target = url === undefined ? undefined : readTarget(url, deps.sender.allowed).href
  const key = { accountId: caller.accountId, id }
  const row = await updateWebhook(deps.sql, key, { ...change, url: target }, changeOf(caller))
  if (row) return toWebhook(row)
  await requireWebhook(deps, caller, id)
  throw noSite()
}

/** @throws Failure `not_found` */
export async function removeWebhook({ sql }: WebhookDeps, caller: Caller, id: string): Promise<Webhook> {
  const row = await deleteWebhook(sql, { accountId: caller.accountId, id }, changeOf(caller))
  if (!row) throw unknown()
  return toWebhook(row)
}

/** @throws Failure `not_found` */
export async function rotateSecret(
  { sql }: WebhookDeps,
  caller: Caller,
  id: string,
  { overlap_hours = defaultOverlapHours }: SecretRotation,
): Promise<NewWebhook> {
  const change = changeOf(caller)
  const until = new Date(change.at.getTime() + overlap_hours * 60 * 60 * 1000)
  const set = sql`secret = ${randomBytes(32)}, previous_secret = w.secret, previous_secret_until = ${until},
    next_turn_at = ${change.at}`
  const row = await changeWebhook(
    sql,
    { accountId: caller.accountId, id },
    { ...change, action: 'webhook_secret_rotated', set },
  )
  if (!row) throw unknown()
  return toNew(row)
}

/** @throws Failure `not_found` */
export async function sendTest(deps: WebhookDeps, caller: Caller, id: string): Promise<WebhookAttempt> {
  const row = await requireWebhook(deps, caller, id)
  const body = JSON.stringify({ type: 'test' })
  return await deps.sender.send(row, { id: `${id}_test_${newId()}`, body, position: null })
}

/** @throws Failure `not_found`; `invalid_request` unless it has one start; `conflict` for a position that the log lacks */
export async function rewind(
  { sql }: WebhookDeps,
  caller: Caller,
  id: string,
  { after, from }: WebhookRewind,
): Promise<Webhook> {
  const { accountId } = caller
  if ((after === undefined) === (from === undefined))
    throw new Failure('invalid_request', 'Either after or from is required.')
  const end = await findEnd(sql, accountId)
  const start = from === undefined ? after : await findPositionBefore(sql, accountId, parseInstant(from) ?? 0)
  const position = start ?? -1
  if (position > end) throw new Failure('conflict', `The log ends at the position ${end}.`)
  const change = changeOf(caller)
  const rewound = sql.json({ at: change.at.toISOString(), after: position })
  const set = sql`
    position = ${position}, rewound = ${rewound}::jsonb, undelivered = '[]', retry_at = null, failures = 0,
    failing_since = null, next_turn_at = ${change.at}`
  const row = await changeWebhook(sql, { accountId, id }, { ...change, action: 'webhook_rewound', set })
  if (!row) throw unknown()
  return toWebhook(row)
}

function changeOf(caller: Caller) {
  return { actor: administrator(caller), at: new Date() }
}

async function requireWebhook({ sql }: WebhookDeps, { accountId }: Caller, id: string): Promise<WebhookRow> {
  const row = await findWebhook(sql, { accountId, id })
  if (!row) throw unknown()
  return row
}

export const unknownWebhook = 'There is no such webhook.'

function unknown(): Failure {
  return new Failure('not_found', unknownWebhook)
}

function toNew(row: WebhookRow): NewWebhook {
  return { ...toWebhook(row), secret: row.signature === 'v1' ? secretText(row.secret) : null }
}

function toWebhook(row: WebhookRow): Webhook {
  const { id, url, types, site_ids, signature, undelivered, position, failing_since, paused_at, retry_at } = row
  const next = retry_at && new Date(Math.max(retry_at.getTime(), row.next_turn_at.getTime()))
  const previous = row.previous_secret_until
  return {
    ...{ id, url, types, site_ids, signature },
    public_key: signature === 'v1a' ? publicKeyText(row.secret) : null,
    state: paused_at ? 'paused' : failing_since ? 'failing' : 'active',
    failing_since: failing_since?.toISOString() ?? null,
    position: position < 0 ? null : position,
    undelivered: undelivered.length,
    next_attempt_at: paused_at ? null : (next?.toISOString() ?? null),
    previous_secret_until: previous && previous.getTime() > Date.now() ? previous.toISOString() : null,
    created_at: row.created_at.toISOString(),
  }
}
