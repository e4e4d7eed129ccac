import { quoteForShell } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import type { NearMatch } from '../../erasure/near.ts'
import { CliError, exit } from '../../errors/errors.ts'

const longestList = 10

/** Prints near matches with the flag that would include them. */
export async function tellNearMatches(
  { warn }: Pick<Context, 'warn'>,
  matches: readonly NearMatch[],
  { areIncluded = false } = {},
): Promise<void> {
  for (const { given, subject_id, live, deleted } of matches.slice(0, longestList)) {
    const id = quoteForShell(subject_id)
    const flag = areIncluded ? '' : `; to include it: --also ${id}`
    await warn(`near match of ${quoteForShell(given)}: ${id}, ${live} live and ${deleted} deleted${flag}`)
  }
  if (matches.length > longestList) await warn(`near matches not shown: ${matches.length - longestList}`)
}

/**
 * Identifiers with only near matches are probably mistyped, and a receipt is permanent. `one` names the person, if
 * there are several.
 * @throws CliError `near_matches` (exit 5)
 */
export function rejectOnlyNear(
  matches: readonly NearMatch[],
  one?: { readonly person: string; readonly hint: string },
): void {
  const [first] = matches
  if (first === undefined) return
  const id = quoteForShell(first.subject_id)
  const hint = one?.hint ?? `use --also ${id}, or --confirm 0 for a receipt that nothing is held under exactly this one`
  const message = 'no record has exactly this identifier, but near matches have: nothing was done'
  throw new CliError('near_matches', exit.rejected, one ? `${one.person}: ${message}` : message, { hint })
}
