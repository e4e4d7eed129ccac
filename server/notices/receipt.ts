import { createHash } from 'node:crypto'
import type { Sql } from 'postgres'
import type { PrivacyNotice } from '../../src/contract/documents/consent-receipt.ts'
import { NoticeManifest } from '../../src/contract/notices.ts'
import { Failure } from '../failure.ts'
import { findFirstLeaf, findPublications, type PublicationRow } from './held-queries.ts'

interface BoundRecord {
  readonly record_id: string
  readonly site_id: string
  readonly policy_version: number
  readonly notice_locale?: string | null
  readonly notice_entry?: number | null
}

/**
 * Returns the notice of a record as its receipt tells it, from the entry of the publication and not from the tables of
 * notices. @throws Failure `internal_error` unless the log has the entry, before the record and of its site and version
 */
export async function findPrivacyNotice(sql: Sql, accountId: string, record: BoundRecord): Promise<PrivacyNotice> {
  const { record_id, site_id, policy_version, notice_locale: locale = null, notice_entry: entry = null } = record
  const policy = { site_id, policy_version, locale }
  if (entry === null) return { ...policy, notice: 'not held' }
  const [row] = await findPublications(sql, accountId, [entry])
  const first_leaf = await findFirstLeaf(sql, accountId, record_id)
  const manifest = row && readManifest({ ...row, first_leaf }, record)
  if (!manifest) {
    const problem = 'the log does not have the publication of its notice before it'
    throw new Failure(
      'internal_error',
      `The record ${record_id} does not verify: ${problem}. No receipt of it is signed.`,
    )
  }
  const { texts, purposes, controller, valid_for, requires_renewal, effective_from } = manifest
  const details = { texts, purposes, controller, valid_for, requires_renewal, effective_from }
  const publication = { version: entry, hash: row.hash.toString('hex'), leaf_index: row.leaf_index as number }
  return { ...policy, notice: 'held', ...details, publication }
}

/** Returns null for anything but the entry in the log, of a publication of this version, before the record. */
export function readManifest(
  { document, hash, leaf_index, first_leaf }: PublicationRow & { readonly first_leaf: number | null },
  { site_id, policy_version }: Pick<BoundRecord, 'site_id' | 'policy_version'>,
): NoticeManifest | null {
  if (leaf_index === null || !createHash('sha256').update(document).digest().equals(hash)) return null
  if (first_leaf !== null && first_leaf <= leaf_index) return null
  const entry = JSON.parse(document)
  const manifest = NoticeManifest.safeParse(entry.after).data
  const isOfVersion = manifest?.site_id === site_id && manifest.policy_version === policy_version
  return entry.action === 'notice_published' && manifest && isOfVersion ? manifest : null
}
