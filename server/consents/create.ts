import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { BatchRow, type ConsentDraft } from '../../src/contract/index.ts'
import { toNearForm } from '../../src/contract/near-form.ts'
import { type Actor, type Facts, hashRecord, linkOf, newSalt } from '../../src/evidence/chain.ts'
import type { Caller } from '../auth/caller.ts'
import { type Reach, reaches } from '../db/reach.ts'
import { type Failure, noSiteInUse, unavailable } from '../failure.ts'
import { newId, readInstant } from '../ids.ts'
import { nowhere, type Place } from '../net/geo.ts'
import { networkOf } from '../net/request.ts'
import { findExpiry, findPublished, findRejection, type HeldNotice, type SiteVersion } from '../notices/published.ts'
import type { ConsentDeps } from './deps.ts'
import { guessPolicies, readPolicies } from './deps.ts'
import { claimKey, keyLifetimeMs, replay } from './idempotency.ts'
import { findFirstAnswers, insertConsents } from './insert-queries.ts'
import type { View } from './queries.ts'
import type { Created, CreateResult, Draft, FirstAnswer, NewRecord } from './rows.ts'

type Drafts = ReadonlyMap<number, Draft>
type Results = Map<number, CreateResult>

interface CreateBatch {
  readonly deps: ConsentDeps
  readonly caller: Caller
  readonly drafts: Drafts
  readonly results: Results
  readonly view: View
}

/** The insert skips a record if its site's policy changed or its key expired meanwhile. */
const maxAttempts = 3

/** A whole batch at once would block other requests. */
const itemsPerTurn = 100

interface Extras extends Pick<Draft, 'place' | 'gpc'> {
  /** Body that must be repeated with the key. Default: the draft. */
  readonly body?: object
}

/**
 * Batches a create with the caller's others of the same tick. A key of the last 24 hours replays its
 * first response.
 * @throws Failure `not_found` for a site; `conflict` for a key used with another body, a purged record, or a duplicate
 * (db/errors.ts)
 */
export function createConsent(
  deps: ConsentDeps,
  caller: Caller,
  draft: ConsentDraft,
  key: string | null,
  { body = draft, ...extras }: Extras = {},
): Promise<Created> {
  const claim = key === null ? null : claimKey(key, body)
  // A keyed insert can block on another request's key.
  const batch = `${caller.accountId} ${caller.kind} ${caller.id} ${claim ? 'keyed' : 'unkeyed'}`
  return deps.creates.run(batch, { draft, claim, ...extras }, async items => {
    const results = await createMany(deps, caller, new Map(items.entries()))
    return items.map((_, index) => getResult(results, index))
  })
}

/** Creates all in one statement. Results are in row order. */
export async function createRows(
  deps: ConsentDeps,
  caller: Caller,
  rows: readonly unknown[],
  view: View,
): Promise<CreateResult[]> {
  const drafts = new Map<number, Draft>()
  const results: Results = new Map()
  await forEachYielding(rows.entries(), ([index, row]) => {
    const { data, error } = BatchRow.safeParse(row)
    if (!data) return results.set(index, error)
    const { idempotency_key: key, ...draft } = data
    return drafts.set(index, { draft, claim: key === undefined ? null : claimKey(key, draft) })
  })
  // Records of a second attempt would be out of order.
  if (drafts.size > 0) await readPolicies(deps, caller.accountId, siteIds(drafts))
  for (const [index, result] of await createMany(deps, caller, drafts, view)) results.set(index, result)
  return rows.map((_, index) => getResult(results, index))
}

/** Throws only if nothing was written; afterwards an error becomes the result of the remaining drafts. */
export async function createMany(
  deps: ConsentDeps,
  caller: Caller,
  drafts: Drafts,
  view: View = 'whole',
): Promise<Results> {
  const results = rejectUnreached(caller, drafts)
  const batch: CreateBatch = { deps, caller, drafts, results, view }
  let isWritten = false
  try {
    for (let attempt = 0; attempt < maxAttempts && results.size < drafts.size; attempt += 1) {
      const { records, rejected } = await buildRecords(batch, attempt > 0)
      const written = await insertRecords(batch, records)
      isWritten ||= written.length > 0
      await replayKeys(batch, written)
      for (const [index, failure] of rejected) if (!results.has(index)) results.set(index, failure)
      await rejectUnknownSites(batch)
    }
    for (const index of openDrafts(batch).keys()) results.set(index, unavailable('The site was changed concurrently.'))
  } catch (error) {
    if (!isWritten) throw error
    for (const index of openDrafts(batch).keys()) results.set(index, error as Error)
  }
  return results
}

function rejectUnreached(reach: Reach, drafts: Drafts): Results {
  const unreached = [...drafts].filter(([, { draft }]) => !reaches(reach, draft.site_id))
  return new Map(unreached.map(([index]) => [index, noSiteInUse()]))
}

function openDrafts({ drafts, results }: CreateBatch): Drafts {
  return new Map([...drafts].filter(([index]) => !results.has(index)))
}

interface Built {
  readonly records: ReadonlyMap<number, NewRecord>
  /** Drafts that contradict the notice, unless their key replays a response. */
  readonly rejected: ReadonlyMap<number, Failure>
}

/**
 * Builds one record per key, which later drafts with that key replay. Only a current policy version rejects a draft.
 */
async function buildRecords(batch: CreateBatch, isCurrent: boolean): Promise<Built> {
  const { deps, caller } = batch
  const open = openDrafts(batch)
  const undecided = new Map([...open].filter(([, { draft }]) => draft.policy_version === undefined))
  const policies = await guessPolicies(deps, caller.accountId, siteIds(undecided))
  const versions = new Map<number, SiteVersion>()
  const rejected = new Map<number, Failure>() // after the replay of keys
  for (const [index, { draft }] of open) {
    const version = draft.policy_version ?? policies.get(draft.site_id)
    if (version === undefined) rejected.set(index, noSiteInUse())
    else versions.set(index, { siteId: draft.site_id, version })
  }
  const noticeOf = await findPublished(deps, caller.accountId, versions.values())
  const records = new Map<number, NewRecord>()
  const keys = new Set<string>()
  await forEachYielding(versions, ([index, siteVersion]) => {
    const { draft, claim, place, gpc } = open.get(index) as Draft
    const { version } = siteVersion
    const found = noticeOf(siteVersion)
    const rejection = findRejection(found, version, draft)
    if (rejection) return isCurrent || draft.policy_version !== undefined ? rejected.set(index, rejection) : undefined
    if (claim && keys.has(claim.key)) return
    if (claim) keys.add(claim.key)
    return records.set(index, buildRecord(deps, caller, draft, version, { place, gpc, notice: found.notice }))
  })
  return { records, rejected }
}

interface Written {
  readonly index: number
  readonly answer: FirstAnswer | null
}

async function insertRecords(
  { deps: { sql }, caller, drafts, results, view }: CreateBatch,
  records: ReadonlyMap<number, NewRecord>,
): Promise<Written[]> {
  if (records.size === 0) return []
  const rows = [...records].map(([index, record]) => {
    const { draft, claim } = drafts.get(index) as Draft
    return { index, record, claim, isSitesPolicy: draft.policy_version === undefined }
  })
  const inserted = await insertConsents(sql, caller.accountId, {
    rows,
    actor: caller,
    freeBefore: keysFreeBefore(),
    view,
  })
  const json = new Map(inserted.map(row => [row.id, row.json]))
  const ids = new Set([...records.values()].map(({ id }) => id))
  // An unrecognized record would be inserted again.
  if (inserted.some(({ id }) => !ids.has(id))) throw new Error('the database returned a record that was not sent')
  const written: Written[] = []
  for (const { index, record, claim } of rows) {
    const text = json.get(record.id)
    if (text === undefined) continue
    results.set(index, { json: text, isReplayed: false })
    written.push({ index, answer: claim && { json: text, key: claim.key, body_hash: claim.bodyHash } })
  }
  return written
}

function keysFreeBefore(): Date {
  return new Date(Date.now() - keyLifetimeMs)
}

/** Replays to later drafts what an earlier one of the batch wrote: an earlier one that was rejected used no key. */
async function replayKeys(batch: CreateBatch, written: readonly Written[]): Promise<void> {
  const { deps, caller, results, view } = batch
  const open = openDrafts(batch)
  const answers = new Map<string, { answer: FirstAnswer; writer: number }>()
  for (const { index, answer } of written) if (answer) answers.set(answer.key, { answer, writer: index })
  const keys = [...open.values()].flatMap(({ claim }) => (claim && !answers.has(claim.key) ? [claim.key] : []))
  const found =
    keys.length > 0
      ? await findFirstAnswers(deps.sql, caller.accountId, keys, { freeBefore: keysFreeBefore(), view })
      : []
  for (const answer of found) answers.set(answer.key, { answer, writer: -1 })
  for (const [index, { claim }] of open) {
    const first = claim && answers.get(claim.key)
    if (first && first.writer < index) results.set(index, replay(first.answer, claim))
  }
}

async function rejectUnknownSites(batch: CreateBatch): Promise<void> {
  const { deps, caller, results } = batch
  const open = openDrafts(batch)
  if (open.size === 0) return
  const current = await readPolicies(deps, caller.accountId, siteIds(open))
  for (const [index, { draft }] of open) if (!current.has(draft.site_id)) results.set(index, noSiteInUse())
}

export function buildRecord(
  { config, geo }: Pick<ConsentDeps, 'config' | 'geo'>,
  actor: Actor,
  draft: ConsentDraft,
  policyVersion: number,
  {
    place = findPlace(geo, draft),
    notice = null,
    gpc = false,
  }: Pick<Draft, 'place' | 'gpc'> & { notice?: HeldNotice | null } = {},
): NewRecord {
  const id = newId()
  const at = readInstant(id)
  const record = {
    id,
    at,
    ...toIdentity(config, draft, place),
    accepted: draft.accepted ?? false,
    preferences: draft.preferences ?? {},
    policy_version: policyVersion,
    notice_entry: notice?.entry ?? null,
    expires_at: findExpiry(at, draft.accepted ?? false, notice?.validFor ?? null),
    gpc: gpc || null,
    circumstances: draft.circumstances ?? null,
  }
  const salt = newSalt()
  const recordHash = hashRecord(record, salt)
  const facts = toFacts(gpc, draft)
  const event = {
    id,
    version: 1,
    action: 'created',
    actor,
    at,
    previous: null,
    state: record,
    recordHash,
    facts,
  } as const
  const link = linkOf(event, salt)
  return Object.assign(record, { recordHash, link })
}

export function toFacts(gpc: boolean, { circumstances }: Pick<ConsentDraft, 'circumstances'>): Facts {
  return { ...(gpc && { gpc }), ...(circumstances && { circumstances }) }
}

/** Returns the fields that no update changes, except the notice entry. */
export function toIdentity({ ipStorage }: ConsentDeps['config'], draft: ConsentDraft, place: Place) {
  return {
    site_id: draft.site_id,
    consent_id: draft.consent_id ?? null,
    subject_id: draft.subject_id ?? null,
    near_subject: draft.subject_id === undefined ? null : findNearSubject(draft.subject_id),
    country: place.country,
    region: place.region,
    user_agent: draft.user_agent ?? null,
    ip_network: draft.ip_address === undefined ? null : networkOf(draft.ip_address, ipStorage),
    notice_locale: draft.notice_locale ?? null,
  }
}

/** Returns null for an identifier that is its own near form. */
function findNearSubject(subjectId: string): string | null {
  const form = toNearForm(subjectId)
  return form === subjectId ? null : form
}

export function findPlace(geo: ConsentDeps['geo'], { ip_address }: ConsentDraft): Place {
  return ip_address === undefined ? nowhere : geo.lookup(ip_address)
}

export async function forEachYielding<Item>(items: Iterable<Item>, work: (item: Item) => unknown): Promise<void> {
  let count = 0
  for (const item of items) {
    count += 1
    if (count % itemsPerTurn === 0) await yieldToEventLoop()
    const pending = work(item)
    if (pending instanceof Promise) await pending
  }
}

function siteIds(drafts: Drafts): string[] {
  return [...new Set([...drafts.values()].map(({ draft }) => draft.site_id))]
}

function getResult(results: Results, index: number): CreateResult {
  const result = results.get(index)
  if (!result) throw new Error(`create ${index} has no result`)
  return result
}
