import { BatchRow } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import { Failure } from '../failure.ts'
import { toFailure } from '../http/failures.ts'
import { createConsents, type Draft, type Made } from './create-many.ts'
import { claimOf } from './idempotency.ts'
import { creationOf, type Outcome, refusalOf } from './outcome.ts'
import type { Deps } from './service.ts'
import { inTurns } from './turns.ts'

/** Does for each row of a batch what a single create does, all at once. Resolves to the outcomes in the rows' order. */
export async function createEach(deps: Deps, caller: Caller, rows: readonly unknown[]): Promise<Outcome[]> {
  const drafts = await inTurns(rows, readRow)
  const taken = drafts.filter((one): one is Draft => !(one instanceof Failure))
  const made = (await createConsents(deps, caller, taken)).values()
  return drafts.map(one => outcomeOf(one instanceof Failure ? one : (made.next().value as Made)))
}

function readRow(row: unknown): Draft | Failure {
  const { data, error } = BatchRow.safeParse(row)
  if (!data) return toFailure(error)
  const { idempotency_key: key, ...draft } = data
  return { draft, claim: key === undefined ? null : claimOf(key, draft) }
}

function outcomeOf(made: Made): Outcome {
  return made instanceof Error ? refusalOf(toFailure(made)) : creationOf(made)
}
