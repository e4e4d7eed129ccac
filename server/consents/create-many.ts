import { setImmediate as turn } from 'node:timers/promises'
import { BatchRow, type ConsentDraft } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure } from '../failure.ts'
import { toFailure } from '../http/failures.ts'
import { changed, noSite } from './create.ts'
import { findFirstAnswers, findPolicyVersions, insertConsents } from './create-many-queries.ts'
import { claimOf, replayOf, validity } from './idempotency.ts'
import { creationOf, type Outcome, refusalOf } from './outcome.ts'
import { type NewRecord, newRecord } from './record.ts'
import type { Claim, FirstAnswer, Shown } from './rows.ts'
import type { Deps } from './service.ts'

/** A row that the contract takes: what a single create is given. */
interface Draft {
  readonly draft: ConsentDraft
  readonly claim: Claim | null
}

/** The same with the record to be written of it; null for a row whose key an earlier one of the batch has. */
interface Row extends Draft {
  readonly record: NewRecord | null
}

/**
 * Does for each row what a single create does, all at once: one look at the sites, one statement that writes whatever can
 * be written, and one for the first answers of keys that were used before. Resolves to the outcomes in the rows' order.
 */
export async function createConsents(
  deps: Deps,
  caller: Caller,
  rows: readonly unknown[],
): Promise<Outcome[]> {
  const { sql } = deps
  const { accountId } = caller
  const drafts = await inTurns(rows, readRow)
  const siteIds = new Set(drafts.flatMap(one => (one instanceof Failure ? [] : one.draft.site_id)))
  if (siteIds.size === 0) return drafts.map(one => outcomeOf(one as Failure, new Map(), new Map()))
  const begin = beginning(deps, caller, await findPolicyVersions(sql, accountId, [...siteIds]))
  const begun = await inTurns(drafts, begin)
  const written = await write(deps, caller, begun)
  const answers = await firstAnswers(deps, accountId, begun, written)
  return begun.map(row => outcomeOf(row, written, answers))
}

/** Rows between which others have their turn: to check and to hash a whole batch takes long. */
const slice = 100

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

function readRow(row: unknown): Draft | Failure {
  const { data, error } = BatchRow.safeParse(row)
  if (!data) return toFailure(error)
  const { idempotency_key: key, ...draft } = data
  return { draft, claim: key === undefined ? null : claimOf(key, draft, new Date()) }
}

/** What makes records, of sites that the account has. */
function beginning(deps: Deps, caller: Caller, policies: ReadonlyMap<string, number>) {
  const claimed = new Set<string>()
  return (row: Draft | Failure): Row | Failure => {
    if (row instanceof Failure) return row
    const { draft, claim } = row
    const policy = policies.get(draft.site_id)
    if (policy === undefined) return noSite()
    if (claim && claimed.has(claim.key)) return { ...row, record: null }
    if (claim) claimed.add(claim.key)
    return {
      ...row,
      record: newRecord(deps, caller, draft, draft.policy_version ?? policy),
    }
  }
}

/** Writes what can be written; resolves to that by its id. */
async function write(
  { sql }: Deps,
  caller: Caller,
  begun: readonly (Row | Failure)[],
): Promise<Map<string, Shown>> {
  const rows = begun.flatMap(row =>
    row instanceof Failure || !row.record ? [] : { record: row.record, claim: row.claim },
  )
  if (rows.length === 0) return new Map()
  const freeBefore = new Date(Date.now() - validity)
  const written = await insertConsents(sql, caller.accountId, { rows, actor: caller, freeBefore })
  return new Map(written.map(row => [row.id, row]))
}

/** What was answered first to each key of a row that was not written: perhaps by this batch. */
async function firstAnswers(
  { sql }: Deps,
  accountId: string,
  begun: readonly (Row | Failure)[],
  written: ReadonlyMap<string, Shown>,
): Promise<Map<string, FirstAnswer>> {
  const own = new Map<string, FirstAnswer>()
  const others: string[] = []
  for (const row of begun) {
    if (row instanceof Failure || !row.claim || !row.record) continue
    const { key, bodyHash } = row.claim
    const made = written.get(row.record.id)
    if (made) own.set(key, { ...made, key, body_hash: bodyHash })
    else others.push(key)
  }
  const found = others.length > 0 ? await findFirstAnswers(sql, accountId, others) : []
  for (const first of found) own.set(first.key, first)
  return own
}

function outcomeOf(
  row: Row | Failure,
  written: ReadonlyMap<string, Shown>,
  answers: ReadonlyMap<string, FirstAnswer>,
): Outcome {
  if (row instanceof Failure) return refusalOf(row)
  const { record, claim } = row
  const made = record && written.get(record.id)
  if (made) return creationOf(made.shown, false)
  if (!claim) return refusalOf(noSite())
  const first = answers.get(claim.key)
  if (!first) return refusalOf(changed())
  try {
    return creationOf(replayOf(first, claim).shown, true)
  } catch (error) {
    return refusalOf(toFailure(error))
  }
}
