import { BatchRow } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure } from '../failure.ts'
import { toFailure } from '../http/failures.ts'
import { createConsents, sitesOf } from './create-many.ts'
import type { Deps } from './deps.ts'
import type { View } from './fragments.ts'
import { claimOf } from './idempotency.ts'
import { creationOf, type Outcome, refusalOf } from './outcome.ts'
import type { Draft, Made } from './rows.ts'
import { inTurns } from './turns.ts'

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
    if (!(outcome instanceof Error)) return creationOf(outcome)
    const failure = toFailure(outcome)
    if (failure !== outcome) note(failure)
    return refusalOf(failure)
  })
}

function readRow(row: unknown): Draft | Failure {
  const { data, error } = BatchRow.safeParse(row)
  if (!data) return toFailure(error)
  const { idempotency_key: key, ...draft } = data
  return { draft, claim: key === undefined ? null : claimOf(key, draft) }
}
