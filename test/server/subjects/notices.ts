import { randomBytes } from 'node:crypto'
import type { TestAccount, TestService } from '../../support/service.ts'

export interface Publication {
  readonly siteId: string
  readonly version: number
  readonly languages: readonly string[]
  readonly purposes: readonly string[]
  readonly validFor: string | null
  readonly requiresRenewal: boolean
  readonly effectiveFrom: Date | null
}

/** Publishes a notice at this instant, and returns the version of the account's entry. */
export async function publishNotice(
  { sql }: Pick<TestService, 'sql'>,
  { accountId }: Pick<TestAccount, 'accountId'>,
  { siteId, version, languages, purposes, validFor, requiresRenewal, effectiveFrom }: Publication,
): Promise<number> {
  const at = new Date()
  const listed = purposes.map(key => ({ key, title: key, language: null, iri: null }))
  const [row] = await sql<{ entry: number }[]>`
    insert into account_entries (account_id, version, document, created_at)
    select ${accountId}, coalesce(max(version) filter (where version > 1000000), 1000000) + 1, '{}', ${at}
    from account_entries where account_id = ${accountId}
    returning version as entry`
  const entry = row?.entry ?? 0
  await sql`
    insert into notices (account_id, site_id, policy_version, purposes, valid_for, requires_renewal, effective_from,
      created_at, updated_at, published_entry)
    values (${accountId}, ${siteId}, ${version}, ${sql.json(listed)}, ${validFor}, ${requiresRenewal}, ${effectiveFrom},
      ${at}, ${at}, ${entry})`
  for (const language of languages)
    await sql`
      insert into notice_texts (account_id, site_id, policy_version, language, media_type, sha256, content)
      values (${accountId}, ${siteId}, ${version}, ${language}, 'text/plain', ${randomBytes(32)}, 'x')`
  await sql`
    insert into log_entries (account_id, consent_id, version, hash, leaf_index)
    values (${accountId}, ${accountId}, ${entry}, ${randomBytes(32)}, ${-entry})`
  return entry
}
