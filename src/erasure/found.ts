import { EndlessListError } from '../client/errors.ts'
import type { Context } from '../context.ts'
import { consents } from '../contract/consents.ts'
import type { Consent, ConsentQuery } from '../contract/index.ts'
import { parseInstant } from '../contract/values.ts'
import { CliError, exit } from '../errors/errors.ts'

const everything = { limit: Number.POSITIVE_INFINITY, maxRequests: Number.POSITIVE_INFINITY }

/** Pages one after another that bring nothing new: an instance may pass over what it does not show, but not for ever. */
const patience = 500

/**
 * The records of data subjects, page by page, each once. Without `deleted` only those that are live, whatever else an
 * instance lists. Throws where an answer holds a record of somebody else, or one that was deleted at no time: nothing may
 * be done with such a list.
 */
export async function* recordsOf(
  { api }: Pick<Context, 'api'>,
  subjects: readonly string[],
  { deleted = false } = {},
): AsyncGenerator<readonly Consent[]> {
  const seen = new Set<string>()
  for (const subject of subjects) {
    const query: ConsentQuery = { subject_id: subject, ...(deleted && { include_deleted: true }) }
    let stale = 0
    for await (const { records } of api.pages(query, everything)) {
      stale = records.every(({ id }) => seen.has(id)) ? stale + 1 : 0
      if (stale > patience) throw new EndlessListError()
      for (const record of records) requireOf(subject, record)
      const fresh = records.filter(record => !seen.has(record.id) && (deleted || isLive(record)))
      for (const { id } of records) seen.add(id)
      yield fresh
    }
  }
}

/** All live records of data subjects at once. */
export async function liveRecords(
  ctx: Pick<Context, 'api'>,
  subjects: readonly string[],
): Promise<Consent[]> {
  const all: Consent[] = []
  for await (const page of recordsOf(ctx, subjects)) all.push(...page)
  return all
}

/** Whether the instance shows deleted records to those who ask for them. */
export function showsDeleted(
  { api }: Pick<Context, 'api'>,
  endpoint: typeof consents.get | typeof consents.list = consents.list,
): Promise<boolean> {
  return api.supports(endpoint, { in: 'query', name: 'include_deleted' })
}

/** Whether a record is live. Throws where it is said to have been deleted at what is no time for that. */
export function isLive({ id, created_at, deleted_at }: Consent): boolean {
  if (deleted_at === null) return true
  const [created, deleted] = [parseInstant(created_at), parseInstant(deleted_at)]
  if (deleted !== null && deleted >= Math.floor(created ?? deleted)) return false
  throw new CliError(
    'unexpected_answer',
    exit.rejected,
    `the instance says that the record ${id} was deleted at "${deleted_at}", when it cannot have been`,
    { hint: 'it may be live all the same; tell who runs the instance' },
  )
}

/** No instance needs a longer one, and a journal could not be read again. */
const longestId = 255

function requireOf(subject: string, { id, subject_id }: Consent): void {
  const isExplicit = id !== '' && !/^\.\.?$/.test(id) && id.isWellFormed() && id.length <= longestId
  if (isExplicit && subject_id === subject) return
  throw new CliError(
    'wrong_subject',
    exit.rejected,
    isExplicit
      ? `the instance lists the record ${id}, which is not of this subject`
      : `the instance lists a record whose id is "${id.toWellFormed().slice(0, longestId)}"`,
    { hint: 'nothing is done with such a list; tell who runs the instance' },
  )
}

/** How many there are of each site, in the order of the sites' ids. */
export function countSites(
  records: readonly { readonly site_id: string | null }[],
): Map<string | null, number> {
  const counts = new Map<string | null, number>()
  for (const { site_id } of records) counts.set(site_id, (counts.get(site_id) ?? 0) + 1)
  return new Map([...counts].sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1)))
}
