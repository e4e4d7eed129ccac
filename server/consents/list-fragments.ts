import type { Fragment, Sql } from 'postgres'
import type { ListFilters } from './rows.ts'

/**
 * The records of a list, newest first, without those that no list shows at once (101, for a limit is at most 100): live and
 * deleted ones, and those that are accepted and the others, are apart in the indexes; each run is read in the order of its
 * index and merged with the rest, so that no row is read in vain. The key of all records, and the index of a subject's,
 * have them together.
 *
 * Each run has the order and a limit of its own, or PostgreSQL reads all of it and sorts; and that limit is no parameter,
 * or it plans the statement anew each time, for it thinks that a general plan reads a tenth of the table.
 */
export function listRuns(sql: Sql, accountId: string, filters: ListFilters): Fragment {
  const { siteId, subjectId, consentId, accepted, firstId, lastId, before, includeDeleted } = filters
  const rest = sql`
    ${siteId === undefined ? sql`` : sql`and site_id = ${siteId}`}
    ${subjectId === undefined ? sql`` : sql`and subject_id = ${subjectId}`}
    ${consentId === undefined ? sql`` : sql`and consent_id = ${consentId}`}
    ${firstId === undefined ? sql`` : sql`and id >= ${firstId}`}
    ${lastId === undefined ? sql`` : sql`and id <= ${lastId}`}
    ${before === undefined ? sql`` : sql`and id < ${before}`}`
  const run = (state: Fragment, answer: Fragment) => sql`(
    select * from consents where account_id = ${accountId} ${rest} ${state} ${answer}
    order by id desc limit 101)`
  const live = sql`and deleted_at is null`
  const [yes, no] = [sql`and accepted`, sql`and not accepted`]
  const answers = accepted === undefined ? [yes, no] : [accepted ? yes : no]
  const isAll = includeDeleted && [siteId, consentId, accepted].every(filter => filter === undefined)
  if (subjectId !== undefined || isAll)
    return run(includeDeleted ? sql`` : live, accepted === undefined ? sql`` : accepted ? yes : no)
  const states = includeDeleted ? [live, sql`and deleted_at is not null`] : [live]
  return states
    .flatMap(state => answers.map(answer => run(state, answer)))
    .reduce((runs, next) => sql`${runs} union all ${next}`)
}
