import { createHash, randomUUID } from 'node:crypto'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import type { NoticeManifest } from '../../../src/contract/notices.ts'
import type { TestService } from '../../support/service.ts'

interface Publication {
  readonly version: number
  readonly languages: readonly string[]
  readonly validFor?: string
  /** Keys. */
  readonly purposes?: readonly string[]
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

/** Publishes a notice of the account's site, and returns its manifest. */
export async function publishNotice(
  { sql }: Pick<TestService, 'sql'>,
  { accountId, siteId }: { readonly accountId: string; readonly siteId: string },
  { version, languages, validFor, purposes: keys = [] }: Publication,
): Promise<NoticeManifest> {
  const at = new Date()
  const [head] = await sql<{ entries: number; entries_head: Buffer | null }[]>`
    select entries, entries_head from accounts where account_id = ${accountId}`
  const entry = (head?.entries ?? 0) + 1
  const purposes = keys.map(key => ({ key, title: key, language: null, iri: null }))
  const manifest: NoticeManifest = {
    ...{ site_id: siteId, policy_version: version, purposes, controller: 'Example GmbH' },
    texts: languages.map(language => ({
      ...{ language, media_type: 'text/plain', size: language.length, sha256: sha256(language).toString('hex') },
    })),
    ...{ valid_for: validFor ?? null, requires_renewal: false, effective_from: null },
  }
  const document = JSON.stringify({
    ...{ type: 'account_entry', version: entry, account_id: accountId },
    ...{
      previous: head?.entries_head?.toString('hex') ?? null,
      at: at.toISOString(),
      actor: { kind: 'admin', id: null },
    },
    ...{ action: 'notice_published', target: { kind: 'notice', id: siteId, policy_version: version } },
    ...{ before: null, after: manifest, nonce: randomUUID().replaceAll('-', '') },
  })
  const hash = sha256(document)
  await sql`
    insert into account_entries (account_id, version, document, created_at)
    values (${accountId}, ${entry}, ${document}, ${at})`
  await sql`update accounts set entries = ${entry}, entries_head = ${hash} where account_id = ${accountId}`
  await sql`
    insert into notices (account_id, site_id, policy_version, purposes, controller, valid_for, created_at, updated_at, published_entry)
    values (${accountId}, ${siteId}, ${version}, ${sql.json(purposes)}, ${manifest.controller}, ${validFor ?? null}, ${at}, ${at}, ${entry})`
  for (const language of languages)
    await sql`
      insert into notice_texts (account_id, site_id, policy_version, language, media_type, sha256, content)
      values (${accountId}, ${siteId}, ${version}, ${language}, 'text/plain', ${sha256(language)}, ${Buffer.from(language)})`
  await sql`
    insert into log_entries (account_id, consent_id, version, hash) values (${accountId}, ${accountId}, ${entry}, ${hash})`
  await coverAll({ sql, signer: await openSigner(sql, null) })
  return manifest
}
