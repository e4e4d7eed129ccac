import { setTimeout as delay } from 'node:timers/promises'
import {
  type SubjectWithdrawal,
  type SubjectWithdrawn,
  type WithdrawnRecord,
  withdrawnRecordsLimit,
} from '../../src/contract/index.ts'
import { turnOff } from '../../src/evidence/state.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsentDeps } from '../consents/deps.ts'
import { nextLink } from '../consents/service.ts'
import { noSite } from '../failure.ts'
import { findExpiry, findPublished } from '../notices/published.ts'
import { newWritten, type Written, writeInBatches } from './batches.ts'
import { findWritten } from './queries.ts'
import {
  type ChangedRow,
  countGrants,
  findGranting,
  type GrantingRow,
  type Grants,
  type WithdrawalLink,
  withdrawRecords,
} from './withdrawal-queries.ts'

type Deps = Pick<ConsentDeps, 'sql' | 'notices'>

export interface Withdrawal extends Written<WithdrawalLink, WithdrawnRecord> {
  /** Deadline (`performance.now()`). */
  readonly until: number
}

export function newWithdrawal(until: number, onSkipped?: Withdrawal['onSkipped']): Withdrawal {
  return { ...newWritten(onSkipped), until }
}

/** Of the remaining time; the rest is for reading what was written, and the counts. */
const writingShare = 0.7

/**
 * Turns the purposes off in a subject's live records in batches, until none grants them, the response is full or the
 * time is over. Can be retried with the same progress.
 * @throws Failure `not_found` for a foreign or unknown site
 */
export async function withdrawPurposes(
  deps: Deps,
  caller: Caller,
  { subject_id, purposes, site_id, ids, after, dry_run = false }: SubjectWithdrawal,
  progress: Withdrawal,
): Promise<SubjectWithdrawn> {
  const { sql } = deps
  const grants: Grants = { subjectId: subject_id, purposes, siteId: site_id, ids, after }
  const withdrawn = dry_run ? [] : await withdrawGranted(deps, caller, grants, progress)
  const { live, granting, selected, not_answered, has_site } = await countGrants(sql, caller, grants)
  if (!has_site) throw noSite()
  const state = { remaining: granting, live, not_answered, complete: selected === 0, dry_run }
  if (!dry_run) return { ...state, withdrawn: withdrawn.length, records: withdrawn }
  const page = await findGranting(sql, caller, grants, { skip: [], limit: withdrawnRecordsLimit })
  const records = page.map(row => {
    const { withdrawn, accepted } = turnOff(row, purposes)
    return { ...toJson(row, { purposes: withdrawn, accepted, version: row.version }), version: null, changed_at: null }
  })
  return { ...state, withdrawn: selected, records }
}

async function withdrawGranted(
  deps: Deps,
  caller: Caller,
  grants: Grants,
  progress: Withdrawal,
): Promise<WithdrawnRecord[]> {
  const { sql } = deps
  const { accountId } = caller
  await writeInBatches(progress, {
    until: performance.now() + writingShare * (progress.until - performance.now()),
    limit: withdrawnRecordsLimit,
    find: limit => findGranting(sql, caller, grants, { skip: progress.skipped, limit }),
    link: rows => toLinks(deps, caller, rows, grants.purposes),
    write: async links => {
      const changed = await withdrawRecords(sql, accountId, links, caller)
      if (changed.length === 0) await delay(20 * Math.random()) // all were changed or locked
      return toRecords(links, changed)
    },
  })
  const all = new Map(progress.rows)
  for (const links of progress.unanswered)
    for (const record of toRecords(links, await findWritten(sql, accountId, links))) all.set(record.id, record)
  return [...all.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

async function toLinks(
  deps: Deps,
  caller: Caller,
  rows: readonly GrantingRow[],
  purposes: readonly string[],
): Promise<WithdrawalLink[]> {
  const versionOf = ({ site_id, policy_version }: GrantingRow) => ({ siteId: site_id, version: policy_version })
  const withNotice = rows.filter(({ notice_entry }) => notice_entry !== null)
  const findNotice = await findPublished(deps, caller.accountId, withNotice.map(versionOf))
  return rows.map(row => {
    const { withdrawn, preferences, accepted } = turnOff(row, purposes)
    const state = { accepted, preferences, policy_version: row.policy_version }
    const link = nextLink(row, caller, { action: 'updated', state })
    const validFor = row.notice_entry === null ? null : (findNotice(versionOf(row)).notice?.validFor ?? null)
    return { ...link, purposes: withdrawn, accepted, expiresAt: findExpiry(link.at, accepted, validFor) }
  })
}

function toRecords(links: readonly WithdrawalLink[], changed: readonly ChangedRow[]): WithdrawnRecord[] {
  const byId = new Map(links.map(link => [link.id, link]))
  return changed.flatMap(row => {
    const link = byId.get(row.id)
    if (!link) return []
    return { ...toJson(row, link), version: link.version + 1, changed_at: row.at.toISOString() }
  })
}

function toJson(
  { id, site_id }: Pick<ChangedRow, 'id' | 'site_id'>,
  { purposes, accepted, version }: Pick<WithdrawalLink, 'purposes' | 'accepted' | 'version'>,
) {
  return { id, site_id, purposes: [...purposes], accepted, before: version }
}
