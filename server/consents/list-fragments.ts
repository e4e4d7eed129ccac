import type { Fragment, Sql } from 'postgres'
import { constant, live, nothing, shownColumns } from './fragments.ts'
import type { ListFilters } from './rows.ts'

/**
 * The records of a list, newest first, without those that no list shows at once (101, for a limit is at most 100): live and
 * deleted ones, and those that are accepted and the others, are apart in the indexes; each run is read in the order of its
 * index and merged with the rest, so that no row is read in vain. The key of all records, and the index of a subject's,
 * have them together.
 *
 * Each run has the order and a limit of its own, or PostgreSQL reads all of it and sorts; and that limit is no parameter,
 * or it plans the statement anew each time, for it thinks that a general plan reads a tenth of the table. No run has a column
 * that is not shown: each record would be put together once more.
 */
export function listRuns(sql: Sql, accountId: string, filters: ListFilters): Fragment {
  const { siteId, subjectId, consentId, accepted, includeDeleted } = filters
  const rest = conditions(sql, filters)
  const run = (state: Fragment, answer: Fragment) => sql`(
    select ${shownColumns(sql)} from consents where account_id = ${accountId} ${rest} ${state} ${answer}
    order by id desc limit 101)`
  const answers = accepted === undefined ? [yes(sql), no(sql)] : [accepted ? yes(sql) : no(sql)]
  const isAll = includeDeleted && [siteId, consentId, accepted].every(filter => filter === undefined)
  if (subjectId !== undefined || isAll) {
    const [answer = nothing(sql)] = accepted === undefined ? [] : answers
    return run(includeDeleted ? nothing(sql) : live(sql), answer)
  }
  const states = includeDeleted ? [live(sql), deleted(sql)] : [live(sql)]
  return states
    .flatMap(state => answers.map(answer => run(state, answer)))
    .reduce((runs, next) => sql`${runs} union all ${next}`)
}

const deleted = constant(sql => sql`and deleted_at is not null`)
const yes = constant(sql => sql`and accepted`)
const no = constant(sql => sql`and not accepted`)

/** What every run of a list asks for. */
function conditions(
  sql: Sql,
  { siteId, subjectId, consentId, firstId, lastId, before }: ListFilters,
): Fragment {
  let all = nothing(sql)
  if (siteId !== undefined) all = sql`${all} and site_id = ${siteId}`
  if (subjectId !== undefined) all = sql`${all} and subject_id = ${subjectId}`
  if (consentId !== undefined) all = sql`${all} and consent_id = ${consentId}`
  if (firstId !== undefined) all = sql`${all} and id >= ${firstId}`
  if (lastId !== undefined) all = sql`${all} and id <= ${lastId}`
  if (before !== undefined) all = sql`${all} and id < ${before}`
  return all
}
