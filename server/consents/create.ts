import type { ConsentDraft } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import type { Place } from '../geo/lookup.ts'
import { createConsents } from './create-many.ts'
import type { Deps } from './deps.ts'
import { claimOf } from './idempotency.ts'
import type { Creation } from './rows.ts'

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
