import { commandLike, quoteForShell, subjectCommand } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { orLonger } from '../../contract/documents/deletion-statement.ts'
import { sealedLimit } from '../../contract/subjects.ts'
import { type SubjectRequest, unfinishedJobs } from '../../erasure/job.ts'
import {
  findNearMatches,
  findSealedProofs,
  type NearMatch,
  type Target,
  unlessForbidden,
} from '../../erasure/records.ts'
import { formatProofs } from '../../erasure/sentences.ts'
import { CliError, exit } from '../../errors/errors.ts'

const longestList = 10

export async function tellNearMatches(
  { warn }: Pick<Context, 'warn'>,
  matches: readonly NearMatch[],
  toInclude?: (ids: readonly string[]) => string,
): Promise<void> {
  const shown = matches.slice(0, longestList)
  for (const { given, subject_id, live, deleted } of shown)
    await warn(
      `near match of ${quoteForShell(given)}: ${quoteForShell(subject_id)}, ${live} live and ${deleted} deleted`,
    )
  if (matches.length > longestList) await warn(`near matches not shown: ${matches.length - longestList}`)
  if (toInclude && shown.length > 0)
    await warn(`to include ${shown.length === 1 ? 'it' : 'them'}: ${toInclude(shown.map(each => each.subject_id))}`)
}

export async function warnOfNear(ctx: Context, asked: Asked): Promise<NearMatch[]> {
  const near = (await findNearMatches(ctx.api, asked.subjects)) ?? []
  await tellNearMatches(ctx, near, ids => adviceToInclude(ctx, asked, ids))
  return near
}

export function formatNear(count: number): string {
  return `${count} near ${count === 1 ? 'match' : 'matches'}`
}

export async function tellLeftOut(
  { warn }: Pick<Context, 'warn'>,
  { length }: readonly NearMatch[],
  done: 'changed' | 'erased' | 'exported',
): Promise<void> {
  if (length > 0)
    await warn(`only records with exactly the given identifiers are ${done}, and none of ${formatNear(length)}`)
}

/** Names the identifiers of a person that found nothing: they may be mistyped. A single identifier shows in the count of records. */
export async function tellUnfound(
  { warn }: Pick<Context, 'warn'>,
  subjects: readonly string[],
  found: ReadonlySet<string | null | undefined>,
  what = 'record',
): Promise<void> {
  const unfound = subjects.filter(subject => !found.has(subject))
  if (subjects.length === 1 || unfound.length === 0) return
  const more = unfound.length > longestList ? ` and ${unfound.length - longestList} more` : ''
  const names = unfound.slice(0, longestList).map(quoteForShell).join(', ')
  await warn(`no ${what} of ${names}${more} was found: check the spelling`)
}

/** Of records that were purged, which no list has. Returns their number; 0 if they cannot be listed, which it says. */
export async function tellProofs(ctx: Context, subjects: readonly string[], isBrief = false): Promise<number> {
  const found = await unlessForbidden(findSealedProofs(ctx.api, subjects))
  if (found === null) await ctx.say('kept of records purged before: not known, because sealed proofs cannot be listed')
  if (found === null || found.length === 0) return 0
  const proofs = found.map(({ until }) => ({ until, proofs: 1 }))
  await ctx.say(`kept of records purged before: ${formatProofs(proofs, sealedLimit)}`)
  if (isBrief) return found.length
  for (const { record_id, site_id, until, basis } of found.slice(0, longestList))
    await ctx.say(`sealed proof of ${record_id}: site ${site_id}, until ${until}, ${orLonger}; basis: ${basis}`)
  const more = found.length - longestList
  if (more > 0) await ctx.say(`sealed proofs not shown: ${more}`)
  return found.length
}

/** Does the same for a plan, which contains only these targets. */
export async function tellUnplanned(
  { warn }: Pick<Context, 'warn'>,
  { subjects, ticket, isLine }: Pick<Asked, 'subjects' | 'ticket' | 'isLine'>,
  targets: Iterable<Target>,
  what = 'live record',
): Promise<void> {
  const found = new Set([...targets].map(({ subject }) => subjects[subject]))
  await tellUnfound({ warn: text => warn(isLine ? `${ticket}: ${text}` : text) }, subjects, found, what)
}

export type Asked = Pick<SubjectRequest, 'ticket' | 'subjects' | 'request_id'> & {
  /** For a line of a file. */
  readonly isLine: boolean
}

/** Returns flags, a command for the register, or an addition to a line of a file. */
function adviceToInclude(
  ctx: Pick<Context, 'globals'>,
  { ticket, subjects, request_id, isLine }: Asked,
  ids: readonly string[],
): string {
  const flags = (flag: string, values: readonly string[]) => values.flatMap(id => [flag, id])
  if (request_id) return commandLike(ctx, 'requests', 'update', ticket, ...flags('--subject', [...subjects, ...ids]))
  if (isLine) return `add ${ids.map(quoteForShell).join(' and ')} to the line of ${ticket}`
  return flags('--also', ids).map(quoteForShell).join(' ')
}

/**
 * Identifiers with only near matches are probably mistyped, and a receipt is permanent.
 * @throws CliError `near_matches` (exit 5)
 */
export function rejectOnlyNear(ctx: Pick<Context, 'globals'>, asked: Asked, matches: readonly NearMatch[]): void {
  if (matches.length === 0) return
  const shown = matches.slice(0, longestList).map(({ subject_id }) => subject_id)
  const more = matches.length > longestList ? ` (and ${matches.length - longestList} more)` : ''
  const advice = `${adviceToInclude(ctx, asked, shown)}${more}`
  const message = 'no record has exactly this identifier, but near matches have: nothing was done'
  const hint = asked.isLine
    ? `${advice}, or take the line out and run the command for this person alone with --confirm 0`
    : `use ${advice}, or --confirm 0 for a receipt that nothing is held under exactly this one`
  throw new CliError('near_matches', exit.rejected, asked.isLine ? `${asked.ticket}: ${message}` : message, { hint })
}

/** With two jobs, each would prove only a part. */
export async function warnOfUnfinished(ctx: Context, subjects: readonly string[]): Promise<void> {
  for (const { job, people, withdrawal } of await unfinishedJobs(ctx)) {
    const same = people.find(person => person.subjects.some(each => subjects.includes(each)))
    if (!same) continue
    const command = subjectCommand(ctx, 'resume', job)
    const what = withdrawal ? 'a withdrawal' : 'an erasure'
    await ctx.warn(`${what} of this person (${same.ticket}) is not finished: ${command}`)
  }
}
