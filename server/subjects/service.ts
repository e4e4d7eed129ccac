import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { ErasureCertificate } from '../../src/contract/documents/erasure-certificate.ts'
import type { SubjectErased, SubjectErasure } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import type { Config } from '../config.ts'
import { deleteRecords } from '../consents/queries.ts'
import type { BatchLink, SiteRecords, StateRow } from '../consents/rows.ts'
import { deletionLinks } from '../consents/service.ts'
import type { Signer } from '../evidence/signer.ts'
import { newId, readInstant } from '../ids.ts'
import { piecewise } from '../purge/piecewise.ts'
import { countBySite, countWritten, findLive, type SiteCount } from './queries.ts'

/** An erasure as it was done. */
interface Done {
  readonly caller: Caller
  readonly erasure: SubjectErasure
  /** Records that were deleted, by site. */
  readonly erased: ReadonlyMap<string, number>
  /** What the sites have of the subject since. */
  readonly counts: readonly SiteCount[]
  readonly subjectHmac: string
}

/** Of a site whose records were purged as soon as they were deleted. */
const nothing = { deleted: 0, remaining: 0 }

/** The text of a signed certificate. */
function certificateOf(
  { caller, erasure, erased, counts, subjectHmac }: Done,
  { signer, config }: { readonly signer: Signer; readonly config: Pick<Config, 'purgeAfterDays'> },
): string {
  const sites = new Map([...erased].map(([site_id, erased]) => [site_id, { site_id, erased, ...nothing }]))
  for (const { site_id, live, deleted } of counts)
    sites.set(site_id, { site_id, erased: erased.get(site_id) ?? 0, deleted, remaining: live })
  const total = (of: 'erased' | 'deleted' | 'remaining') =>
    [...sites.values()].reduce((sum, site) => sum + site[of], 0)
  const id = newId()
  const certificate: Omit<ErasureCertificate, 'key_id'> = {
    type: 'erasure_certificate',
    version: 1,
    certificate_id: id,
    issued_at: readInstant(id).toISOString(),
    statement: 'logically deleted, audit trail kept',
    account_id: caller.accountId,
    subject_hmac: subjectHmac,
    erased_by: { kind: caller.kind === 'user' ? 'user' : 'api_key', id: caller.id },
    ticket: erasure.ticket ?? null,
    reason: erasure.reason ?? null,
    erased: total('erased'),
    deleted: total('deleted'),
    remaining: total('remaining'),
    sites: [...sites.values()],
    purge_after_days: config.purgeAfterDays,
  }
  return signer.sign(certificate)
}

export interface Deps {
  readonly sql: Sql
  readonly config: Pick<Config, 'purgeAfterDays'>
  readonly signer: Signer
  /** What the names of subjects in certificates are made with. */
  readonly subjectSecret: Uint8Array
}

/** What the tries of one request share: what one has done the next must not lose. */
export interface Progress {
  /** When to stop (`performance.now()`). */
  readonly until: number
  /** How many records it has deleted of each site, as far as it was told. */
  readonly erased: Map<string, number>
  /** Batches of which it was not told whether they were written. */
  readonly unanswered: Set<readonly BatchLink[]>
  /** Records that cannot be deleted: they remain. */
  readonly passed: Set<string>
  /** Told of the error of each of those. */
  readonly onBad: (error: unknown) => void
}

export function newProgress(until: number, onBad: Progress['onBad'] = () => {}): Progress {
  return { until, erased: new Map(), unanswered: new Set(), passed: new Set(), onBad }
}

const recordsAtOnce = 200

/**
 * Deletes the live records of a subject in batches of one statement each, until none is left or the time has come, and
 * certifies what is so then. It may be tried again with the same progress.
 */
export async function eraseSubject(
  deps: Deps,
  caller: Caller,
  erasure: SubjectErasure,
  progress: Progress,
): Promise<SubjectErased> {
  const { accountId } = caller
  const { subject_id: subjectId, dry_run = false } = erasure
  if (!dry_run) await removeAll(deps.sql, caller, subjectId, progress)
  const erased = await erasedBy(deps.sql, accountId, progress)
  const counts = await countBySite(deps.sql, accountId, subjectId)
  const remaining = sum(counts.map(({ live }) => live))
  if (dry_run) return { ...answer(liveOf(counts), remaining), dry_run, certificate: null }
  const hmac = createHmac('sha256', deps.subjectSecret).update(accountId).digest()
  const subjectHmac = createHmac('sha256', hmac).update(subjectId).digest('hex')
  const certificate = certificateOf({ caller, erasure, erased, counts, subjectHmac }, deps)
  return { ...answer(erased, remaining), dry_run, certificate }
}

async function removeAll(sql: Sql, caller: Caller, subjectId: string, progress: Progress): Promise<void> {
  const { until, erased, unanswered, passed } = progress
  const remove = async (rows: readonly StateRow[]) => {
    const links = deletionLinks(rows, caller)
    unanswered.add(links)
    const removed = await deleteRecords(sql, caller.accountId, links, caller)
    unanswered.delete(links)
    addTo(erased, removed)
    if (removed.length === 0) await delay(20 * Math.random()) // others are at every one of them
  }
  while (performance.now() < until) {
    const rows = await findLive(sql, caller.accountId, { subjectId, passed: [...passed] }, recordsAtOnce)
    if (rows.length === 0) break
    await piecewise(rows, remove, (id, error) => {
      passed.add(id)
      progress.onBad(error)
    })
  }
}

/** How many records were deleted of each site: those of a batch whose answer was lost are known by their entries. */
async function erasedBy(
  sql: Sql,
  accountId: string,
  { erased, unanswered }: Progress,
): Promise<Map<string, number>> {
  const all = new Map(erased)
  for (const links of unanswered) addTo(all, await countWritten(sql, accountId, links))
  return all
}

function addTo(counts: Map<string, number>, more: readonly SiteRecords[]): void {
  for (const { site_id, records } of more) counts.set(site_id, (counts.get(site_id) ?? 0) + records)
}

function answer(erased: ReadonlyMap<string, number>, remaining: number) {
  const sites = [...erased].map(([site_id, records]) => ({ site_id, records }))
  return { erased: sum(erased.values()), remaining, complete: remaining === 0, sites }
}

function liveOf(counts: readonly SiteCount[]): Map<string, number> {
  return new Map(counts.filter(({ live }) => live > 0).map(({ site_id, live }) => [site_id, live]))
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0)
}
