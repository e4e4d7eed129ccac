import type { Sql } from 'postgres'
import { v7 } from 'uuid'
import { toArrayLiteral } from '../../../server/db/fragments.ts'
import {
  type Action,
  type Actor,
  type Event,
  hashRecord,
  type Link,
  linkOf,
  newSalt,
} from '../../../src/evidence/chain.ts'
import type { TestAccount } from '../../support/service.ts'

interface Chain {
  readonly id: string
  readonly at: Date
  readonly recordHash: Buffer
  readonly links: readonly (Link & { readonly action: Action; readonly preferences: object })[]
}

export interface Shape {
  readonly records: number
  /** Entries of each history: a creation, changes, and a deletion unless it is to live. */
  readonly entries: number
  readonly isLive?: boolean
  readonly subject?: string
  readonly siteId?: string
  /** When all of it happened. */
  readonly at?: Date
  /** The preferences of an entry. */
  readonly preferences?: (version: number) => Record<string, unknown>
}

/** Records with whole chains, written past the service for there are many of them. Returns their ids. */
export async function insertChains(sql: Sql, account: TestAccount, shape: Shape): Promise<string[]> {
  const { subject = 'somebody', siteId = account.siteId, isLive = false } = shape
  const chains = Array.from({ length: shape.records }, () => newChain(account, shape))
  const heads = chains.map(({ links }) => links.at(-1)?.hash ?? Buffer.alloc(0))
  const last = JSON.stringify(shape.preferences?.(shape.entries) ?? {})
  await sql`
    insert into consents (
      account_id, id, site_id, subject_id, accepted, preferences, policy_version, version, record_hash, chain_head,
      created_at, updated_at, deleted_at)
    select ${account.accountId}::uuid, id, ${siteId}::uuid, ${subject}, true, ${last}::jsonb, 1, ${shape.entries}, record_hash,
      chain_head, at, at, case when ${isLive} then null else at end
    from unnest(${toArrayLiteral(chains.map(({ id }) => id))}::uuid[], ${toArrayLiteral(chains.map(({ recordHash }) => recordHash))}::bytea[],
      ${toArrayLiteral(heads)}::bytea[], ${toArrayLiteral(chains.map(({ at }) => at))}::timestamptz[]) as t (id, record_hash, chain_head, at)`
  const rows = chains.flatMap(({ id, at, links }) =>
    links.map((link, index) => ({ id, at, version: index + 1, ...link })),
  )
  for (let from = 0; from < rows.length; from += 2000) await insertEntries(sql, account, rows.slice(from, from + 2000))
  return chains.map(({ id }) => id)
}

function newChain({ keyId, siteId }: TestAccount, shape: Shape): Chain {
  const { subject = 'somebody', isLive = false, entries, at = new Date() } = shape
  const actor: Actor = { kind: 'api_key', id: keyId }
  const [id, salt] = [v7({ msecs: at.getTime() }), newSalt()]
  const nothing = { consent_id: null, country: null, region: null, user_agent: null, ip_network: null }
  const recordHash = hashRecord({ site_id: shape.siteId ?? siteId, subject_id: subject, ...nothing }, salt)
  const links: (Link & { action: Action; preferences: Record<string, unknown> })[] = []
  for (let version = 1; version <= entries; version += 1) {
    const action = version === 1 ? 'created' : version === entries && !isLive ? 'deleted' : 'updated'
    const preferences = shape.preferences?.(version) ?? {}
    const state = { accepted: true, preferences, policy_version: 1 }
    const previous = links.at(-1)?.hash ?? null
    const event: Event = { id, version, action, actor, at, previous, state }
    const link = version === 1 ? linkOf({ ...event, recordHash }, salt) : linkOf(event, newSalt())
    links.push({ ...link, action, preferences })
  }
  return { id, at, recordHash, links }
}

async function insertEntries(
  sql: Sql,
  { accountId, keyId }: TestAccount,
  rows: (Chain['links'][number] & { id: string; at: Date; version: number })[],
): Promise<void> {
  const texts = JSON.stringify(rows.map(({ preferences }) => preferences))
  await sql`
    with e as (
      select * from unnest(
        ${toArrayLiteral(rows.map(row => row.id))}::uuid[], ${toArrayLiteral(rows.map(row => row.version))}::integer[],
        ${toArrayLiteral(rows.map(row => row.action))}::text[], ${toArrayLiteral(rows.map(row => row.at))}::timestamptz[],
        ${toArrayLiteral(rows.map(row => row.salt))}::bytea[], ${toArrayLiteral(rows.map(row => row.payloadHash))}::bytea[],
        ${toArrayLiteral(rows.map(row => row.hash))}::bytea[]
      ) with ordinality as e (id, version, action, at, salt, payload_hash, hash, place)
    ), p as (
      select * from jsonb_array_elements(${texts}::jsonb) with ordinality as p (preferences, place)
    ), h as (
      insert into consent_history (
        account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by, actor_id,
        created_at, salt, payload_hash, hash)
      select ${accountId}::uuid, id, version, action, true, preferences, 1, 'api_key', ${keyId}::uuid, at, salt,
        payload_hash, hash
      from e join p using (place)
    )
    insert into log_entries (account_id, consent_id, version, hash)
    select ${accountId}::uuid, id, version, hash from e`
}
