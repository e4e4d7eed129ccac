import type { Sql } from 'postgres'
import type { PrivacyNotice } from '../../src/contract/documents/consent-receipt.ts'
import { NoticeManifest } from '../../src/contract/notices.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
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
 * Reads the publication's log entry, not the tables of notices.
 * @throws Failure `internal_error` unless the log has the entry, before the record and for its site and version
 */
export async function findPrivacyNotice(sql: Sql, accountId: string, record: BoundRecord): Promise<PrivacyNotice> {
  const { record_id, site_id, policy_version, notice_locale: locale = null, notice_entry: entry = null } = record
  const policy = { site_id, policy_version, locale }
  if (entry === null) return { ...policy, notice: 'not held' }
  const [row] = await findPublications(sql, accountId, [entry])
  const first_leaf = await findFirstLeaf(sql, accountId, record_id)
  const publication = row ? readPublication(row) : null
  if (!publication || !isNoticeOf(publication, record, first_leaf)) {
    const problem = 'the log does not have the publication of its notice before it'
    throw new Failure('internal_error', `The record ${record_id} does not verify: ${problem}. No receipt was signed.`)
  }
  const { hash, leaf_index, manifest } = publication
  const { site_id: _site, policy_version: _version, ...details } = manifest
  return { ...policy, notice: 'held', ...details, publication: { version: entry, hash, leaf_index } }
}

export interface Publication {
  /** In hexadecimal. */
  readonly hash: string
  readonly leaf_index: number
  readonly manifest: NoticeManifest
}

/** Returns null unless the row is a publication's entry that matches the log. */
export function readPublication({ document, hash, leaf_index }: PublicationRow): Publication | null {
  if (leaf_index === null || !sha256(document).equals(hash)) return null
  const { action, after } = JSON.parse(document)
  const manifest = action === 'notice_published' ? NoticeManifest.safeParse(after).data : undefined
  return manifest ? { hash: hash.toString('hex'), leaf_index, manifest } : null
}

/**
 * True if the publication is of the record's site and version, and before it in the log. The record may have no leaf
 * yet.
 */
export function isNoticeOf(
  { leaf_index, manifest }: Publication,
  { site_id, policy_version }: Pick<BoundRecord, 'site_id' | 'policy_version'>,
  firstLeaf: number | null,
): boolean {
  if (firstLeaf !== null && firstLeaf <= leaf_index) return false
  return manifest.site_id === site_id && manifest.policy_version === policy_version
}
