import { type ErasureReceipt, statement } from '../contract/documents/erasure-receipt.ts'
import type { Job } from './job.ts'
import { erasedOf } from './rest.ts'

type Work = Pick<
  ErasureReceipt,
  | 'result'
  | 'statement'
  | 'counts'
  | 'sites'
  | 'records'
  | 'planned_by'
  | 'plan_sha256'
  | 'export_sha256'
  | 'answers_lost'
>
type Verification = ErasureReceipt['verification']
type Site = Work['sites'][number]

const none = { deleted: 0, already_gone: 0, deleted_in_bulk: 0, unknown: 0 }

/** What a receipt says of the work of a job. Throws where it would contradict itself. */
export function workOf(job: Job, verification: Verification): Work {
  const { header, targets } = job
  const records = recordsOf(job, verification)
  const sites = sitesOf(job, records)
  const counts = { ...none }
  for (const site of sites)
    for (const name of Object.keys(none) as (keyof typeof none)[]) counts[name] += site[name]
  // What the service counted, and did not tell as erased, is in the counts as gone.
  const isNothing =
    targets.size === 0 && job.lostAnswers === 0 && Object.values(counts).every(count => count === 0)
  requireConsistent(job, records, sites)
  return {
    result: verification.live > 0 ? 'remaining' : isNothing ? nothingOf(verification) : 'erased',
    statement,
    counts,
    sites,
    records,
    planned_by: header.planned_by,
    plan_sha256: header.plan_sha256,
    export_sha256: header.export_sha256,
    answers_lost: job.lostAnswers,
  }
}

/** What was deleted before, and is still held, is data too. */
function nothingOf({ deleted }: Verification): Work['result'] {
  return deleted === null || deleted === 0 ? 'no_data_held' : 'nothing_live'
}

/** What became of each record of the plan; what is still listed was not deleted, whatever was answered. */
function recordsOf({ targets, done }: Job, { remaining }: Verification): Work['records'] {
  const live = new Set(remaining.map(({ id }) => id))
  return [...targets.keys()]
    .flatMap(id => done.get(id) ?? [])
    .map(record =>
      live.has(record.id) ? { ...record, result: 'remaining' as const, deleted_at: null } : record,
    )
}

/** What the service itself deleted it has counted itself: there may be more, or fewer, than were reviewed. */
function sitesOf(job: Job, records: Work['records']): Site[] {
  const sites = new Map<string | null, Site>()
  const siteOf = (site_id: string | null) => {
    const site = sites.get(site_id) ?? { site_id, ...none }
    sites.set(site_id, site)
    return site
  }
  for (const { site_id, result } of records)
    if (result !== 'deleted_in_bulk' && result !== 'remaining') siteOf(site_id)[result] += 1
  for (const { site_id } of job.answers.flatMap(answer => answer.sites))
    siteOf(site_id).deleted_in_bulk = erasedOf(job, site_id)
  for (const { site_id, records: counted } of job.header.counted ?? []) {
    const missing = Math.max(0, counted - erasedOf(job, site_id))
    siteOf(site_id)[job.lostAnswers > 0 ? 'unknown' : 'already_gone'] += missing
  }
  return [...sites.values()]
}

/** A receipt is signed, and cannot be taken back: what does not agree with itself is a bug, and never signed. */
function requireConsistent({ targets }: Job, records: Work['records'], sites: readonly Site[]): void {
  const inBulk = new Map<string | null, number>()
  for (const { site_id, result } of records)
    if (result === 'deleted_in_bulk') inBulk.set(site_id, (inBulk.get(site_id) ?? 0) + 1)
  const isCounted = [...inBulk].every(
    ([site_id, count]) => count <= (sites.find(site => site.site_id === site_id)?.deleted_in_bulk ?? 0),
  )
  if (records.length === targets.size && isCounted) return
  throw new Error('the receipt would contradict itself: it is not signed')
}
