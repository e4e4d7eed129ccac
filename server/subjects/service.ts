import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { describeDeletion } from '../../src/contract/documents/deletion-statement.ts'
import type { ErasureCertificate } from '../../src/contract/documents/erasure-certificate.ts'
import {
  erasedRecordsLimit,
  type HoldNotice,
  type NearMatches,
  nearMatchesLimit,
  type SubjectErased,
  type SubjectErasure,
} from '../../src/contract/index.ts'
import { toNearForm } from '../../src/contract/near-form.ts'
import type { Caller } from '../auth/caller.ts'
import type { Config } from '../config.ts'
import { deleteRecords } from '../consents/queries.ts'
import type { BatchLink, DeletedRow, StateRow } from '../consents/rows.ts'
import { deletionLinks } from '../consents/service.ts'
import { bisect } from '../db/bisect.ts'
import type { Reach } from '../db/reach.ts'
import type { Signer } from '../evidence/signer.ts'
import { findHoldOf } from '../holds/held.ts'
import { newId, readInstant } from '../ids.ts'
import { inspectRecords } from '../verify/records.ts'
import { newWritten, type Written, writeInBatches } from './batches.ts'
import { type SubjectSecret, standInOf } from './hmac.ts'
import {
  countBySite,
  findDeleted,
  findLive,
  findNearMatches,
  findUnmarked,
  findWritten,
  listLive,
  type Selection,
  type SiteCount,
} from './queries.ts'
import { findSealedSites } from './sealed-queries.ts'

export interface Deps extends SubjectSecret {
  readonly sql: Sql
  readonly config: Pick<Config, 'purgeAfterDays'>
  readonly signer: Signer
}

export interface Progress extends Written<BatchLink, DeletedRow> {
  readonly requestId: string
  /** Deadline (`performance.now()`). */
  readonly until: number
  /** Records deleted earlier and marked now. */
  readonly marked: Set<string>
}

export function newProgress(requestId: string, until: number, onSkipped?: Progress['onSkipped']): Progress {
  return { ...newWritten(onSkipped), requestId, until, marked: new Set() }
}

const batchSize = 200

/** Fractions of the remaining time. */
const shares = { readiness: 0.4, deletion: 0.3, marks: 0.3, verification: 0.5 } as const

/**
 * Deletes a subject's live records in batches, until none is left, the response is full or the time is over; then
 * certifies the result. Can be retried with the same progress.
 */
export async function eraseSubject(
  deps: Deps,
  caller: Caller,
  erasure: SubjectErasure,
  progress: Progress,
): Promise<SubjectErased> {
  const { sql } = deps
  const { accountId } = caller
  const { subject_id, ids, after, dry_run = false } = erasure
  const selection: Selection = { subjectId: subject_id, ids, after }
  const timeLeftMs = () => progress.until - performance.now()
  const held = await findHoldOf(sql, accountId, subject_id)
  let isMarked = dry_run || !held
  if (!dry_run) await deps.signer.requireReady(shares.readiness * timeLeftMs())
  if (!dry_run && !held) {
    await deleteSelected(sql, caller, selection, progress, performance.now() + shares.deletion * timeLeftMs())
    isMarked = await markDeleted(sql, caller, subject_id, progress, performance.now() + shares.marks * timeLeftMs())
  }
  const erased = await findErased(sql, accountId, progress)
  const own = new Set(erased.map(({ id }) => id))
  const others = (ids ?? []).filter(id => !own.has(id))
  const earlier = others.length === 0 ? [] : await findDeleted(sql, caller, subject_id, others)
  const counts = await countBySite(sql, caller, selection)
  const state = {
    remaining: sum(counts.map(({ live }) => live)),
    deleted: sum(counts.map(({ deleted }) => deleted)),
    complete: isMarked && counts.every(({ selected }) => selected === 0),
    marked: progress.marked.size,
    already_deleted: earlier.map(toJson),
    unverified: [] as string[],
    held,
    dry_run,
    subject_hmac: standInOf(deps, caller, subject_id),
  }
  if (dry_run) {
    const page = await listLive(sql, caller, selection, erasedRecordsLimit)
    const matching = counts.filter(({ selected }) => selected > 0)
    const sites = matching.map(({ site_id, selected }) => ({ site_id, records: selected }))
    return { ...state, ...totalOf(sites), records: page.map(toJson), certificate: null }
  }
  const deleted = [...erased, ...earlier].map(({ id }) => id)
  const until = performance.now() + shares.verification * timeLeftMs()
  const unverified = await findUnverified(sql, accountId, deleted, until)
  const sites = countErased(erased)
  const certificate = await certify(deps, { caller, erasure, erased, unverified, sites, counts, progress, held })
  return { ...state, ...totalOf(sites), records: erased.map(toJson), unverified: [...unverified], certificate }
}

export async function getNearMatches(
  { sql }: Pick<Deps, 'sql'>,
  reach: Reach,
  { subject_id }: { readonly subject_id: string },
): Promise<NearMatches> {
  const near = { subjectId: subject_id, form: toNearForm(subject_id) }
  const rows = await findNearMatches(sql, reach, near, nearMatchesLimit)
  return { total: rows[0]?.total ?? 0, data: rows.map(({ total: _, ...row }) => row) }
}

async function deleteSelected(
  sql: Sql,
  caller: Caller,
  selection: Selection,
  progress: Progress,
  until: number,
): Promise<void> {
  await writeInBatches(progress, {
    until,
    limit: erasedRecordsLimit,
    find: limit => findLive(sql, caller, selection, { skip: progress.skipped, limit }),
    link: async rows => deletionLinks(rows, caller, { erased: true }),
    write: links => writeDeletions(sql, caller, links),
  })
}

/** Waits a moment if all records were changed or locked. */
async function writeDeletions(sql: Sql, caller: Caller, links: readonly BatchLink[]): Promise<readonly DeletedRow[]> {
  const deleted = await deleteRecords(sql, caller.accountId, links, { actor: caller, erased: true })
  if (deleted.length === 0) await delay(20 * Math.random())
  return deleted
}

/** Their restore shows the mark. Returns false if some are left. */
async function markDeleted(
  sql: Sql,
  caller: Caller,
  subjectId: string,
  { marked, skipped, onSkipped }: Progress,
  until: number,
): Promise<boolean> {
  let isSkipped = false
  const markBatch = async (rows: readonly StateRow[]) => {
    const links = deletionLinks(rows, caller, { erased: true })
    for (const { id } of await writeDeletions(sql, caller, links)) marked.add(id)
  }
  let after: string | null = null
  do {
    const page = { skip: skipped, after, limit: batchSize }
    const rows: readonly StateRow[] = await findUnmarked(sql, caller, subjectId, page)
    if (rows.length === 0 && after === null) return !isSkipped
    after = rows.at(-1)?.id ?? null // from the start again at the end: records may have been locked
    if (rows.length === 0) continue
    await bisect(rows, markBatch, (id, error) => {
      isSkipped = true
      skipped.add(id)
      onSkipped(error)
    })
  } while (performance.now() < until)
  return false
}

async function findErased(sql: Sql, accountId: string, { rows, unanswered }: Progress): Promise<DeletedRow[]> {
  const all = new Map(rows)
  for (const links of unanswered)
    for (const { id, site_id, at } of await findWritten(sql, accountId, links))
      all.set(id, { id, site_id, deleted_at: at })
  return [...all.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Returns the records that do not verify, or not before the deadline. */
async function findUnverified(
  sql: Sql,
  accountId: string,
  ids: readonly string[],
  until: number,
): Promise<ReadonlySet<string>> {
  const left = new Set(ids)
  if (left.size === 0) return left
  for await (const { verified } of inspectRecords(sql, accountId, { ids })) {
    for (const { id } of verified) left.delete(id)
    if (performance.now() > until) break
  }
  return left
}

type SiteRecords = SubjectErased['sites'][number]

function countErased(rows: readonly DeletedRow[]): SiteRecords[] {
  const counts = new Map<string, number>()
  for (const { site_id } of rows) counts.set(site_id, (counts.get(site_id) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([site_id, records]) => ({ site_id, records }))
}

function totalOf(sites: SiteRecords[]) {
  return { erased: sum(sites.map(({ records }) => records)), sites }
}

function toJson({ id, site_id, deleted_at }: DeletedRow) {
  return { id, site_id, deleted_at: deleted_at?.toISOString() ?? null }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

interface Done {
  readonly caller: Caller
  readonly erasure: SubjectErasure
  readonly progress: Progress
  readonly erased: readonly DeletedRow[]
  readonly unverified: ReadonlySet<string>
  readonly sites: readonly SiteRecords[]
  readonly counts: readonly SiteCount[]
  readonly held: HoldNotice | null
}

/** Returns milliseconds, less a reserve for the response. */
export function signingTime(until: number): number {
  return Math.max(0, until - performance.now() - 100)
}

async function certify(deps: Deps, done: Done): Promise<string> {
  const { caller, erasure, progress, erased, unverified, sites: erasedBySite, counts, held } = done
  const { signer, config } = deps
  const sites = new Map<string, ErasureCertificate['sites'][number]>()
  // A record may be purged right after its deletion, so `counts` may lack its site.
  for (const { site_id, records } of erasedBySite)
    sites.set(site_id, { site_id, erased: records, deleted: 0, remaining: 0 })
  for (const { site_id, live, deleted } of counts)
    sites.set(site_id, { site_id, erased: sites.get(site_id)?.erased ?? 0, deleted, remaining: live })
  const all = [...sites.values()]
  const id = newId()
  const deletions = erased.flatMap(({ site_id: siteId, deleted_at: at }) => (at ? { siteId, at } : []))
  const sealed_proofs = await findSealedSites(deps.sql, caller.accountId, deletions)
  const isSealed = sealed_proofs.length > 0
  const certificate: Omit<ErasureCertificate, 'key_id'> = {
    type: 'erasure_certificate',
    version: 1,
    certificate_id: id,
    issued_at: readInstant(id).toISOString(),
    statement: erased.every(({ id }) => unverified.has(id)) ? null : describeDeletion(config.purgeAfterDays, isSealed),
    account_id: caller.accountId,
    subject_hmac: standInOf(deps, caller, erasure.subject_id),
    erased_by: { kind: caller.kind === 'user' ? 'user' : 'api_key', id: caller.id },
    ticket: erasure.ticket ?? null,
    reason: erasure.reason ?? null,
    erased: sum(all.map(site => site.erased)),
    deleted: sum(all.map(site => site.deleted)),
    remaining: sum(all.map(site => site.remaining)),
    sites: all,
    purge_after_days: config.purgeAfterDays,
    request_id: progress.requestId,
    records: erased.map(({ id, deleted_at }) => ({ id, deleted_at: deleted_at?.toISOString() ?? '' })),
    ...(held && { held }),
    unverified: erased.map(({ id }) => id).filter(id => unverified.has(id)),
    ...(isSealed && { sealed_proofs }),
  }
  return await signer.sign(certificate, signingTime(progress.until))
}
