import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { machine } from '../../../server/audit/entries.ts'
import { updateSite } from '../../../server/sites/queries.ts'
import type { TestAccount, TestService } from '../../support/service.ts'

/** Creates another site of an account. */
export async function newSite(service: TestService, own: TestAccount): Promise<string> {
  const headers = await service.signIn(own)
  const body = { name: 'another', allow_duplicate: true }
  return (await service.call('POST', '/api/v1/sites', { headers, body })).body.id
}

/** Turns sealed proofs of a site on at an earlier time. */
export async function sealSince(
  { sql }: Pick<TestService, 'sql'>,
  { accountId, siteId: id }: Pick<TestAccount, 'accountId' | 'siteId'>,
  sealed_proof: { readonly basis: string; readonly period: string },
  at: Date,
): Promise<void> {
  await updateSite(sql, { accountId, id }, { sealed_proof }, { actor: machine, at })
}

/** Publishes a notice in two languages at this instant, and returns the version of the account's entry. */
export async function publishNotice(
  { sql }: Pick<TestService, 'sql'>,
  { accountId, siteId: ownSite }: Pick<TestAccount, 'accountId' | 'siteId'>,
  {
    version,
    siteId = ownSite,
    purposes = [],
    validFor = null,
    requiresRenewal = false,
    effectiveFrom = null,
  }: {
    readonly version: number
    readonly siteId?: string
    readonly purposes?: readonly string[]
    readonly validFor?: string | null
    readonly requiresRenewal?: boolean
    readonly effectiveFrom?: Date | null
  },
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
  for (const language of ['en', 'de'])
    await sql`
      insert into notice_texts (account_id, site_id, policy_version, language, media_type, sha256, content)
      values (${accountId}, ${siteId}, ${version}, ${language}, 'text/plain', ${randomBytes(32)}, 'x')`
  await sql`
    insert into log_entries (account_id, consent_id, version, hash, leaf_index)
    values (${accountId}, ${accountId}, ${entry}, ${randomBytes(32)}, ${-entry})`
  return entry
}

/** A database whose second batch of changes loses its connection, after it was written or before. */
export function losing(sql: Sql, moment: string): Sql {
  let batches = 0
  const lost = Object.assign(new Error('lost'), { code: '57P01' })
  return new Proxy(sql, {
    apply: (target, self, args) => {
      const isBatch = String(args[0]).includes('update consents c set')
      if (isBatch) batches += 1
      if (!isBatch || batches !== 2) return Reflect.apply(target, self, args)
      const written = moment === 'after' ? Reflect.apply(target, self, args) : Promise.resolve()
      return written.then(() => Promise.reject(lost))
    },
  })
}
