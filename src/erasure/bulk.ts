import type { ResponseInfo } from '../client/request.ts'
import type { Context } from '../context.ts'
import { subjects as endpoints } from '../contract/subjects.ts'
import { CliError, exit } from '../errors/errors.ts'
import { exitOf } from '../errors/explain.ts'
import type { Job } from './job.ts'
import { note, type OpenJob } from './open.ts'
import { boundsOf } from './rest.ts'

/** Whether the service erases a subject itself, which no quota keeps it from. */
export function erasesItself({ api }: Pick<Context, 'api'>): Promise<boolean> {
  return api.supports(endpoints.erase)
}

/** How many live records the service holds of data subjects, for each site. */
export async function countInBulk(
  { api }: Pick<Context, 'api'>,
  subjects: readonly string[],
): Promise<Map<string | null, number>> {
  const counts = new Map<string | null, number>()
  for (const subject_id of subjects) {
    const { sites } = await api.call(endpoints.erase, { body: { subject_id, dry_run: true } })
    for (const { site_id, records } of sites) counts.set(site_id, (counts.get(site_id) ?? 0) + records)
  }
  return counts
}

/** How often an answer may be lost: to erase what is erased already does nothing. */
const attempts = 4

/**
 * Has the service erase the subjects of a job itself, batch by batch, until nothing is left. Throws before that where it
 * does not hold just what is left of what was reviewed (exit 10).
 */
export async function eraseInBulk(open: OpenJob): Promise<void> {
  const { subjects } = open.job.header
  requireReviewed(open.job, await countInBulk(open.ctx, subjects))
  for (const subject of subjects) {
    let lost = 0
    for (let isComplete = false; !isComplete; ) {
      try {
        isComplete = await eraseBatch(open, subject)
      } catch (error) {
        lost += 1
        if (exitOf(error) !== exit.unknown || lost === attempts) throw error
      }
    }
  }
  await note(open, ['e'])
}

/** The service deletes whatever is live, and tells only numbers: where those differ, nobody has seen what would go. */
function requireReviewed(job: Job, counts: ReadonlyMap<string | null, number>): void {
  const bounds = boundsOf(job)
  for (const [site, count] of counts) {
    const { least, most } = bounds.get(site) ?? { least: 0, most: 0 }
    if (count === 0 || (count >= least && count <= most)) continue
    const there = `of site ${site ?? '(none)'} there are ${count} records, and ${most} are left to erase`
    throw new CliError('changed', exit.changed, `${there}: nothing more was erased`, {
      hint: 'see what is there: consentctl subject find; erase that, or go on next month (UTC), record by record',
    })
  }
}

async function eraseBatch(open: OpenJob, subject_id: string): Promise<boolean> {
  const { ticket, reason } = open.job.header
  let answered: ResponseInfo | undefined
  let isLost = false
  await note(open, ['B'])
  const answer = open.ctx.api.call(endpoints.erase, {
    body: { subject_id, ticket, ...(reason !== null && { reason }) },
    onResponse: each => {
      answered = each
    },
    onLost: () => {
      isLost = true
    },
  })
  const { erased, complete, sites, certificate } = await answer.catch(async error => {
    await note(open, ['F', isLost])
    throw error
  })
  const of = sites.map(({ site_id, records }) => ({ site_id, records }))
  await note(open, ['b', { sites: of, certificate, request_id: answered?.requestId ?? null }])
  if (complete || erased > 0) return complete
  throw new CliError(
    'unexpected_answer',
    exit.temporary,
    'the service erased nothing, and says that it is not done',
  )
}
