import type { Answered } from '../client/transport.ts'
import type { Context } from '../context.ts'
import { subjects as endpoints } from '../contract/subjects.ts'
import { CliError } from '../errors/errors.ts'
import { exit } from '../errors/exit.ts'
import { exitOf } from '../errors/explain.ts'
import { note, type OpenJob } from './open.ts'

/** Whether the service erases a subject itself, which no quota keeps it from. */
export function erasesItself({ api }: Pick<Context, 'api'>): Promise<boolean> {
  return api.offers(endpoints.erase)
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

/** Has the service erase the subjects of a job itself, batch by batch, until nothing is left. */
export async function eraseInBulk(open: OpenJob): Promise<void> {
  const { subjects } = open.job.header
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
  const { targets, done } = open.job
  for (const { id, site_id } of targets.values()) {
    if (done.has(id)) continue
    const request_id = open.job.answers.at(-1)?.request_id ?? null
    await note(open, ['d', { id, site_id, result: 'deleted_in_bulk', deleted_at: null, request_id }])
  }
}

async function eraseBatch(open: OpenJob, subject_id: string): Promise<boolean> {
  const { ticket, reason } = open.job.header
  let answered: Answered | undefined
  await note(open, ['B'])
  const { erased, complete, sites, certificate } = await open.ctx.api.call(endpoints.erase, {
    body: { subject_id, ticket, ...(reason !== null && { reason }) },
    onAnswer: answer => {
      answered = answer
    },
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
