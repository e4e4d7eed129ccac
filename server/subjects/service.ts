import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { SubjectErased, SubjectErasure } from '../../src/contract/index.ts'
import type { Caller } from '../auth/caller.ts'
import type { Config } from '../config.ts'
import { removeBatch } from '../consents/batch.ts'
import type { Signer } from '../evidence/signer.ts'
import { certificateOf } from './certificate.ts'
import { countBySite, findLive, type SiteCount } from './queries.ts'

export interface Deps {
  readonly sql: Sql
  readonly config: Pick<Config, 'purgeAfterDays'>
  readonly signer: Signer
  /** What the names of subjects in certificates are made with. */
  readonly subjectSecret: Uint8Array
}

const recordsAtOnce = 200

/**
 * Deletes the live records of a subject in batches of one statement each, until none is left or the time has come
 * (`performance.now()`), and certifies what is so then.
 */
export async function eraseSubject(
  deps: Deps,
  caller: Caller,
  erasure: SubjectErasure,
  until: number,
): Promise<SubjectErased> {
  const { accountId } = caller
  const { subject_id: subjectId, dry_run = false } = erasure
  const erased = dry_run ? new Map<string, number>() : await removeAll(deps.sql, caller, subjectId, until)
  const counts = await countBySite(deps.sql, accountId, subjectId)
  const remaining = sum(counts.map(({ live }) => live))
  if (dry_run) return { ...answer(liveOf(counts), remaining), dry_run, certificate: null }
  const hmac = createHmac('sha256', deps.subjectSecret).update(accountId).digest()
  const subjectHmac = createHmac('sha256', hmac).update(subjectId).digest('hex')
  const certificate = certificateOf({ caller, erasure, erased, counts, subjectHmac }, deps)
  return { ...answer(erased, remaining), dry_run, certificate }
}

/** How many records it has deleted of each site. */
async function removeAll(
  sql: Sql,
  caller: Caller,
  subjectId: string,
  until: number,
): Promise<Map<string, number>> {
  const erased = new Map<string, number>()
  while (performance.now() < until) {
    const rows = await findLive(sql, caller.accountId, subjectId, recordsAtOnce)
    if (rows.length === 0) break
    const removed = await removeBatch(sql, caller.accountId, rows, caller)
    for (const { site_id, records } of removed) erased.set(site_id, (erased.get(site_id) ?? 0) + records)
    if (removed.length === 0) await delay(20 * Math.random()) // others are at every one of them
  }
  return erased
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
