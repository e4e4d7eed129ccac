import { setImmediate as turn } from 'node:timers/promises'
import { BatchRow, type ConsentDraft, type RowOutcome } from '../../src/contract/index.ts'
import {
  type Actor,
  hashRecord,
  type Identity,
  type Link,
  linkOf,
  newSalt,
  type State,
} from '../../src/evidence/chain.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure, unavailable } from '../failure.ts'
import { bodyOf, statusOf, toFailure } from '../http/failures.ts'
import { instantOf, newId } from '../ids.ts'
import { networkOf } from '../net/address.ts'
import { nowhere, type Place } from '../net/geo.ts'
import { findFirstAnswers, insertConsents } from './create-queries.ts'
import type { Deps } from './deps.ts'
import { claimOf, replayOf, validity } from './idempotency.ts'
import type { View } from './queries.ts'
import type { Creation, Draft, FirstAnswer, Made, Shown } from './rows.ts'

/** A record as it begins, with its first entry's link in the hash chain. */
export interface NewRecord extends Identity, State {
  readonly id: string
  readonly at: Date
  readonly recordHash: Buffer
  readonly link: Link
}

/** Makes of a draft what is stored of it; of a policy of its site; its place is that of its address unless it is known better. */
export function newRecord(
  { config, geo }: Pick<Deps, 'config' | 'geo'>,
  actor: Actor,
  draft: ConsentDraft,
  policy: number,
  place: Place = draft.ip_address === undefined ? nowhere : geo.lookup(draft.ip_address),
): NewRecord {
  const id = newId()
  const at = instantOf(id)
  const record = {
    id,
    at,
    site_id: draft.site_id,
    consent_id: draft.consent_id ?? null,
    subject_id: draft.subject_id ?? null,
    country: place.country,
    region: place.region,
    user_agent: draft.user_agent ?? null,
    ip_network: draft.ip_address === undefined ? null : networkOf(draft.ip_address, config.ipStorage),
    accepted: draft.accepted ?? false,
    preferences: draft.preferences ?? {},
    policy_version: policy,
  }
  const salt = newSalt()
  const recordHash = hashRecord(record, salt)
  const event = {
    id,
    version: 1,
    action: 'created',
    actor,
    at,
    previous: null,
    state: record,
    recordHash,
  } as const
  return Object.assign(record, { recordHash, link: linkOf(event, salt) })
}

/** Items between which others have their turn: to check and to hash a whole batch takes long. */
const slice = 100

/** What the work makes of each item, in their order. */
async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Result,
): Promise<Result[]> {
  const results: Result[] = []
  for (const item of items) {
    if (results.length % slice === slice - 1) await turn()
    results.push(work(item))
  }
  return results
}

/** A draft and the record that is to be written of it: null where an earlier one of the same statement has its key. */
interface Row {
  readonly item: Draft
  readonly record: NewRecord | null
}

/** How often records are made anew because a site's policy was another one than this node knew, or a key had just ended. */
const attempts = 3

/** How much is told of each record, and how often what was not written is tried. */
interface Options {
  readonly view?: View
  readonly left?: number
}

/**
 * Creates records, all in one statement; resolves to what became of each draft, in their order. Throws where none is
 * written; once one is, trouble is what became of the others, for what is tried again must not be written twice.
 */
export async function createConsents(
  deps: Deps,
  caller: Caller,
  items: readonly Draft[],
  { view = 'whole', left = attempts }: Options = {},
): Promise<Made[]> {
  if (items.length === 0) return []
  const undecided = items.filter(({ draft }) => draft.policy_version === undefined)
  const policies = await deps.policies.guess(deps.sql, caller.accountId, sitesOf(undecided))
  const rows = await inTurns(items, beginning(deps, caller, policies))
  const written = await write(deps, caller, rows, view)
  const made = rows.map(row => (row instanceof Failure ? row : creationOf(row, written)))
  const open = items.filter((_, index) => made[index] === null)
  const own = answersOf(rows, written)
  const others = settle(deps, caller, open, own, { view, left })
  return fill(made, await (written.size === 0 ? others : others.catch(error => open.map(() => error))))
}

/** What makes records of drafts; those that name no policy take their site's, if the account has it. */
function beginning(deps: Deps, caller: Caller, policies: ReadonlyMap<string, number>) {
  const claimed = new Set<string>()
  return (item: Draft): Row | Failure => {
    const { draft, claim, place } = item
    const policy = draft.policy_version ?? policies.get(draft.site_id)
    if (policy === undefined) return noSite()
    if (claim && claimed.has(claim.key)) return { item, record: null }
    if (claim) claimed.add(claim.key)
    return { item, record: newRecord(deps, caller, draft, policy, place) }
  }
}

/** Writes what can be written; resolves to that by its id. */
async function write({ sql }: Deps, caller: Caller, begun: readonly (Row | Failure)[], view: View) {
  const rows = begun.flatMap(row => {
    if (row instanceof Failure || !row.record) return []
    const { draft, claim } = row.item
    return { record: row.record, isSitesPolicy: draft.policy_version === undefined, claim }
  })
  const batch = { rows, actor: caller, freeBefore: new Date(Date.now() - validity), view }
  const written = rows.length > 0 ? await insertConsents(sql, caller.accountId, batch) : []
  return new Map(written.map(row => [row.id, row]))
}

function creationOf({ record }: Row, written: ReadonlyMap<string, Shown>): Creation | null {
  const row = record && written.get(record.id)
  return row ? { shown: row.shown, isReplayed: false } : null
}

/** The first answers to the keys of what was just written. */
function answersOf(rows: readonly (Row | Failure)[], written: ReadonlyMap<string, Shown>) {
  const answers = new Map<string, FirstAnswer>()
  for (const row of rows) {
    if (row instanceof Failure || !row.item.claim) continue
    const { key, bodyHash } = row.item.claim
    const made = creationOf(row, written)
    if (made) answers.set(key, { shown: made.shown, key, body_hash: bodyHash })
  }
  return answers
}

/**
 * What became of what was not written: its key was used before, or else its site is not there or has another policy by now,
 * or its key has just ended.
 */
async function settle(
  deps: Deps,
  caller: Caller,
  open: readonly Draft[],
  own: ReadonlyMap<string, FirstAnswer>,
  options: Required<Options>,
): Promise<Made[]> {
  const { accountId } = caller
  const keys = open.flatMap(({ claim }) => (claim && !own.has(claim.key) ? claim.key : []))
  const found = keys.length > 0 ? await findFirstAnswers(deps.sql, accountId, keys, options.view) : []
  const answers = new Map([...own, ...found.map(first => [first.key, first] as const)])
  const replayed = open.map(({ claim }) => {
    const first = claim && answers.get(claim.key)
    return first ? replayOf(first, claim) : null
  })
  const others = again(
    deps,
    caller,
    open.filter((_, index) => replayed[index] === null),
    options,
  )
  return fill(replayed, await others)
}

/** Creates what was not written for its site's sake, with what the sites are now. */
async function again(
  deps: Deps,
  caller: Caller,
  open: readonly Draft[],
  { view, left }: Required<Options>,
): Promise<Made[]> {
  if (open.length === 0) return []
  const present = await deps.policies.read(deps.sql, caller.accountId, sitesOf(open))
  const made = open.map(({ draft }) => (present.has(draft.site_id) ? null : noSite()))
  const others = open.filter((_, index) => made[index] === null)
  const options = { view, left: left - 1 }
  return fill(made, left > 1 ? await createConsents(deps, caller, others, options) : others.map(changed))
}

/** Puts what became of the others where nothing is known yet. */
function fill(made: readonly (Made | null)[], others: readonly Made[]): Made[] {
  const next = others.values()
  return made.map(one => one ?? (next.next().value as Made))
}

function sitesOf(drafts: readonly Draft[]): string[] {
  return [...new Set(drafts.map(({ draft }) => draft.site_id))]
}

function noSite(): Failure {
  return new Failure('not_found', 'There is no such site.')
}

function changed(): Failure {
  return unavailable('What the record depends on was just changed.')
}

/**
 * Creates a record, in one statement with the others that the caller creates at this moment. With a key that was used in
 * the last 24 hours it returns the first answer again. Throws `not_found` where the caller has no such site, and `conflict`
 * for a key that came with another body, or whose record was purged.
 */
export async function createConsent(
  deps: Deps,
  caller: Caller,
  draft: ConsentDraft,
  key: string | null,
  place?: Place,
): Promise<Creation> {
  const claim = key === null ? null : claimOf(key, draft)
  const item = { draft, claim, place }
  // Who has no key must not wait for somebody who holds one.
  const name = `${caller.accountId} ${caller.kind} ${caller.id} ${claim ? 'with' : 'without'}`
  const made = await deps.creates.ask(name, item, items => createConsents(deps, caller, items))
  if (made instanceof Error) throw made
  return made
}

/** What became of a row of a batch. */
interface Outcome {
  readonly status: number
  /** The JSON of its RowOutcome. */
  readonly text: string
}

/** A record that was made, or a first answer again. */
function succeeded({ shown, isReplayed }: Creation): Outcome {
  return { status: 201, text: `{"status":201,"consent":${shown},"replayed":${isReplayed}}` }
}

/** A failure as the outcome of one row. */
export function failed(failure: Failure): Outcome {
  const seconds = failure.headers['retry-after']
  const status = statusOf(failure)
  const outcome: RowOutcome = {
    status,
    error: bodyOf(failure),
    retry_after: seconds === undefined ? null : Number(seconds),
  }
  return { status, text: JSON.stringify(outcome) }
}

/**
 * Does for each row of a batch what a single create does, all at once. Resolves to the outcomes in the rows' order; `note` is
 * told of the failures that are no client's fault.
 */
export async function createEach(
  deps: Deps,
  caller: Caller,
  rows: readonly unknown[],
  { view, note }: { readonly view: View; readonly note: (failure: Failure) => void },
): Promise<Outcome[]> {
  const drafts = await inTurns(rows, readRow)
  const taken = drafts.filter((one): one is Draft => !(one instanceof Failure))
  // What the sites are now: rows that were made again for an old guess would be out of order.
  if (taken.length > 0) await deps.policies.read(deps.sql, caller.accountId, sitesOf(taken))
  const made = (await createConsents(deps, caller, taken, { view })).values()
  return drafts.map(one => {
    const outcome = one instanceof Failure ? one : (made.next().value as Made)
    if (!(outcome instanceof Error)) return succeeded(outcome)
    const failure = toFailure(outcome)
    if (failure !== outcome) note(failure)
    return failed(failure)
  })
}

function readRow(row: unknown): Draft | Failure {
  const { data, error } = BatchRow.safeParse(row)
  if (!data) return toFailure(error)
  const { idempotency_key: key, ...draft } = data
  return { draft, claim: key === undefined ? null : claimOf(key, draft) }
}
