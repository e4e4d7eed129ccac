import type { ErasedRecord } from '../contract/documents/erasure-receipt.ts'
import { isOpen, type Job, type Target } from './job.ts'

/** How many records there may be, at least and at most. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

type SiteId = string | null

/** How many records of a site the service itself has deleted, as far as its answers came. */
export function erasedOf({ answers }: Pick<Job, 'answers'>, site: SiteId): number {
  const of = answers.flatMap(({ sites }) => sites).filter(({ site_id }) => site_id === site)
  return of.reduce((sum, { records }) => sum + records, 0)
}

/** How many live records of each site are left of what was reviewed. */
export function boundsOf(job: Job): Map<SiteId, Bounds> {
  const bounds = new Map<SiteId, Bounds>()
  const add = (site_id: SiteId, most: number, least: number) => {
    const lost = job.lostAnswers > 0 ? 0 : least
    bounds.set(site_id, { least: Math.max(0, lost), most: Math.max(0, most) })
  }
  for (const { site_id, records } of job.header.counted ?? []) {
    const left = records - erasedOf(job, site_id)
    add(site_id, left, left)
  }
  for (const [site_id, { left, open }] of leftOf(job)) {
    const erased = erasedOf(job, site_id)
    add(site_id, left.length - erased, left.length - open - erased)
  }
  return bounds
}

/**
 * What became of the records that were left to the service. It tells numbers alone: which records those were is known
 * where it deleted as many of a site as were left there, or as were left for certain.
 */
export function restOf(job: Job): ErasedRecord[] {
  const isLost = job.lostAnswers > 0
  const [only, another] = job.answers
  const request_id = (another ? null : only?.request_id) ?? null
  return [...leftOf(job)].flatMap(([site, { left, open }]) => {
    const erased = erasedOf(job, site)
    const isExact = !isLost && erased === left.length - open
    const resultOf = (id: string) => {
      if (erased >= left.length) return 'deleted_in_bulk'
      if (isExact && !isOpen(job, id)) return 'deleted_in_bulk'
      return erased === 0 && !isLost && !isOpen(job, id) ? 'already_gone' : 'unknown'
    }
    return left.map(({ id, site_id }): ErasedRecord => {
      const result = resultOf(id)
      const request = result === 'deleted_in_bulk' ? request_id : null
      return { id, site_id, result, deleted_at: null, request_id: request }
    })
  })
}

/** The records of each site that nothing is known of yet, and how many of them were perhaps deleted. */
function leftOf(job: Job): Map<SiteId, { left: Target[]; open: number }> {
  const sites = new Map<SiteId, { left: Target[]; open: number }>()
  for (const target of job.targets.values()) {
    if (job.done.has(target.id)) continue
    const site = sites.get(target.site_id) ?? { left: [], open: 0 }
    site.left.push(target)
    if (isOpen(job, target.id)) site.open += 1
    sites.set(target.site_id, site)
  }
  return sites
}
