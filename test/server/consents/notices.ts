import { randomBytes } from 'node:crypto'
import type { TestService } from '../../support/service.ts'

interface Publication {
  readonly version: number
  readonly languages: readonly string[]
  readonly validFor?: string
}

/** Publishes a notice of the account's site. */
export async function publishNotice(
  { sql }: Pick<TestService, 'sql'>,
  { accountId, siteId }: { readonly accountId: string; readonly siteId: string },
  { version, languages, validFor }: Publication,
): Promise<void> {
  const at = new Date()
  await sql`
    insert into notices (account_id, site_id, policy_version, valid_for, created_at, updated_at, published_entry)
    values (${accountId}, ${siteId}, ${version}, ${validFor ?? null}, ${at}, ${at}, ${version})`
  for (const language of languages)
    await sql`
      insert into notice_texts (account_id, site_id, policy_version, language, media_type, sha256, content)
      values (${accountId}, ${siteId}, ${version}, ${language}, 'text/plain', ${randomBytes(32)}, 'x')`
  await sql`
    insert into log_entries (account_id, consent_id, version, hash, leaf_index)
    values (${accountId}, ${accountId}, ${version}, ${randomBytes(32)}, ${-version})`
}
