import type { Sql } from 'postgres'
import { hashEntry, hashHistory, hashPayload, linkOf, type State, system } from '../../../src/evidence/chain.ts'
import { columnsOf, otherValue, type Table, tables } from './columns.ts'
import type { Chance } from './random.ts'

/** A record of the untouched database. */
export interface Victim {
  readonly account_id: string
  readonly id: string
  readonly version: number
  readonly purged: boolean
}

/** What an edit did, and what must be said of it. */
export interface Edited {
  readonly what: string
  readonly account: string
  /** Records of which one or more must be named: all of these. */
  readonly records: readonly string[]
  /** Places of the log that must be named, where nothing tells any more which record they were of. */
  readonly leaves?: readonly number[]
  /** Ids that the edit has made up, and that may be named. */
  readonly madeUp?: readonly string[]
}

export type Edit = (sql: Sql, chance: Chance, one: Victim, other: Victim) => Promise<Edited>

export const edited = (what: string, { account_id: account, id }: Victim, more: Partial<Edited> = {}): Edited => ({
  what,
  account,
  records: [id],
  ...more,
})

/**
 * Columns that no hash covers: that an erasure covers a record is told by its signed certificate, and that an entry is
 * counted concerns the statistics alone, what near matches are found by is computed anew by nobody, and what a repeated request is
 * known by is of no record.
 */
const uncovered = ['is_counted', 'near_subject', 'request_hash']

/** Any column of any row of a record gets another value. */
export const change: Edit = async (sql, chance, one) => {
  const table = chance.one(tables)
  const columns = await columnsOf(sql, table)
  const column = chance.one(columns.filter(({ name }) => !uncovered.includes(name)))
  const version = 1 + chance.below(one.version)
  const where = rowOf(sql, table, one, version)
  const [row] = await sql<
    { value: string | null }[]
  >`select ${sql(column.name)}::text as value from ${sql(table)} ${where}`
  const value = otherValue(chance, column, row?.value ?? null)
  await sql`update ${sql(table)} set ${sql(column.name)} = ${value}::text::${sql(castOf(column.type))} ${where}`
  const madeUp = column.type === 'uuid' && value !== null ? [value] : []
  return edited(`${table}.${column.name} of version ${version}: ${row?.value} became ${value}`, one, {
    madeUp,
  })
}

/** A row of one table is gone, or all of them. */
const remove: Edit = async (sql, chance, one) => {
  const kind = chance.one([
    'entry',
    'history',
    'log row',
    'log',
    'record',
    'record and history',
    'entry and log row',
    'everything',
  ])
  const version = 1 + chance.below(one.version)
  const { account_id, id } = one
  const leaves = await leavesOf(sql, one, kind.startsWith('entry') ? version : null)
  if (kind.includes('entry'))
    await sql`delete from consent_history where account_id = ${account_id} and consent_id = ${id} and version = ${version}`
  if (kind.includes('history') || kind === 'everything')
    await sql`delete from consent_history where account_id = ${account_id} and consent_id = ${id}`
  if (kind.includes('log row'))
    await sql`delete from log_entries where account_id = ${account_id} and consent_id = ${id} and version = ${version}`
  if (kind === 'log' || kind === 'everything')
    await sql`delete from log_entries where account_id = ${account_id} and consent_id = ${id}`
  if (kind.startsWith('record') || kind === 'everything')
    await sql`delete from consents where account_id = ${account_id} and id = ${id}`
  return kind === 'everything'
    ? edited(`${kind} deleted`, one, { records: [], leaves, madeUp: [id] }) // which an origin may still name
    : edited(`${kind} deleted (${version})`, one)
}

/** The end of the history is cut off, and the record set back to what it was then; with the log or without. */
const truncate: Edit = async (sql, chance, one) => {
  if (one.version === 1) return await remove(sql, chance, one, one)
  const { account_id, id } = one
  const end = 1 + chance.below(one.version - 1)
  const withLog = chance.below(2) === 0
  const leaves = (await Promise.all(range(end + 1, one.version).map(version => leavesOf(sql, one, version)))).flat()
  await sql`delete from consent_history where account_id = ${account_id} and consent_id = ${id} and version > ${end}`
  if (withLog)
    await sql`delete from log_entries where account_id = ${account_id} and consent_id = ${id} and version > ${end}`
  await sql`
    update consents c set version = h.version, chain_head = h.hash, accepted = h.accepted, preferences = h.preferences,
      policy_version = h.policy_version, updated_at = h.created_at, purged_at = null,
      given_at = coalesce(h.given_at, c.given_at),
      deleted_at = case when h.action = 'deleted' then h.created_at end
    from consent_history h
    where c.account_id = ${account_id} and c.id = ${id} and h.account_id = ${account_id} and h.consent_id = ${id} and h.version = ${end}`
  // A purged record has no salts left to set it back to: it is reported on its own.
  const isHidden = withLog && !one.purged
  return edited(
    `cut off behind ${end}, ${withLog ? 'with' : 'without'} the log`,
    one,
    isHidden ? { records: [], leaves } : {},
  )
}

/** Two entries change places: of one record, or of two. */
const swapEntries: Edit = async (sql, chance, one, other) => {
  const { account_id, id } = one
  if (one.version > 1 && chance.below(2) === 0) {
    const first = 1 + chance.below(one.version - 1)
    const where = sql`where account_id = ${account_id} and consent_id = ${id}`
    await sql`update consent_history set version = -1 ${where} and version = ${first}`
    await sql`update consent_history set version = ${first} ${where} and version = ${first + 1}`
    await sql`update consent_history set version = ${first + 1} ${where} and version = -1`
    return edited(`versions ${first} and ${first + 1} swapped`, one)
  }
  const move = (from: Victim, to: string, version: number, newVersion = version) => sql`
    update consent_history set consent_id = ${to}, version = ${newVersion}
    where account_id = ${account_id} and consent_id = ${from.id} and version = ${version}`
  await move(one, one.id, 1, -1)
  await move(other, one.id, 1)
  await sql`update consent_history set consent_id = ${other.id}, version = 1
    where account_id = ${account_id} and consent_id = ${one.id} and version = -1`
  return { what: 'first entries of two records swapped', account: account_id, records: [one.id, other.id] }
}

/** What one record says of its subject stands in the other one, with the hash of it or without. */
const swapSubjects: Edit = async (sql, chance, one, other) => {
  const withHash = chance.below(2) === 0 || (one.purged && other.purged) // a purge has left nothing else
  await sql`
    update consents c set subject_id = o.subject_id, consent_id = o.consent_id, user_agent = o.user_agent
      ${withHash ? sql`, record_hash = o.record_hash, ip_network = o.ip_network` : sql``}
    from consents o
    where c.account_id = ${one.account_id} and o.account_id = ${one.account_id} and c.id in (${one.id}, ${other.id})
      and o.id in (${one.id}, ${other.id}) and c.id <> o.id`
  return {
    what: `subjects swapped ${withHash ? 'with' : 'without'} their hashes`,
    account: one.account_id,
    records: [one.id, other.id],
  }
}

/** One more change that never was, properly chained; the log alone does not know it. */
const forge: Edit = async (sql, chance, one) => {
  const { account_id, id, version } = one
  const [row] =
    await sql`select accepted, policy_version, chain_head, updated_at, deleted_at from consents where account_id = ${account_id} and id = ${id}`
  const at = new Date((row?.['updated_at'] ?? new Date()).getTime() + 1000)
  const state = {
    accepted: !row?.['accepted'],
    preferences: { forged: chance.below(100) },
    policy_version: row?.['policy_version'] as number,
  }
  const previous = row?.['chain_head'] as Buffer
  const link = linkOf({ id, version: version + 1, action: 'updated', actor: system, at, previous, state })
  await sql`
    insert into consent_history (account_id, consent_id, version, action, accepted, preferences, policy_version, changed_by,
      actor_id, created_at, salt, payload_hash, hash)
    values (${account_id}, ${id}, ${version + 1}, 'updated', ${state.accepted}, ${sql.json(state.preferences)}, ${state.policy_version},
      'system', null, ${at}, ${link.salt}, ${link.payloadHash}, ${link.hash})`
  await sql`
    update consents set version = ${version + 1}, chain_head = ${link.hash}, accepted = ${state.accepted},
      preferences = ${sql.json(state.preferences)}, updated_at = ${at}
    where account_id = ${account_id} and id = ${id}`
  return edited('an entry forged', one)
}

/**
 * The origin of an imported record is gone, so that it could be imported again, or leads elsewhere. Of a purged one nothing
 * tells what it was, and of the hash of what was imported only whether it is there is known.
 */
const moveOrigin: Edit = async (sql, chance, one, other) => {
  const { account_id, id } = one
  const where = sql`where account_id = ${account_id} and consent_id = ${id}`
  const [row] = await sql`select body_hash from origins ${where}`
  if (!row) return await change(sql, chance, one, other)
  const kind = chance.one(['removed', 'body', ...(one.purged ? [] : ['changed'])])
  if (kind === 'removed') await sql`delete from origins ${where}`
  if (kind === 'changed') await sql`update origins set origin = ${chance.bytes(32)} ${where}`
  if (kind === 'body') await sql`update origins set body_hash = ${row['body_hash'] ? null : chance.bytes(32)} ${where}`
  return edited(`its origin: ${kind}`, one)
}

const left = [
  ...['accepted', 'policy_version', 'created_at', 'given_at', 'file_sha256', 'gpc', 'circumstances', 'erased'].map(
    column => ['consent_history', column] as const,
  ),
  ...['accepted', 'policy_version', 'created_at', 'updated_at', 'deleted_at', 'given_at', 'gpc', 'origin_system'].map(
    column => ['consents', column] as const,
  ),
]

/**
 * What a purge has left of a record gets another value: the acceptance, the policy version or a time. Sometimes the purge's
 * entry is then made again to vouch for it, with the record and the log.
 */
export const turnPurged: Edit = async (sql, chance, one) => {
  const [table, name] = chance.one(left)
  const version = 1 + chance.below(one.version - 1)
  const where = rowOf(sql, table, one, version)
  const column = (await columnsOf(sql, table)).find(each => each.name === name)
  const [row] = await sql<{ value: string }[]>`select ${sql(name)}::text as value from ${sql(table)} ${where}`
  if (!column || !row) throw new Error(`there is no ${table}.${name}`)
  const value = otherValue(chance, { ...column, isNullable: false }, row.value)
  await sql`update ${sql(table)} set ${sql(name)} = ${value}::text::${sql(castOf(column.type))} ${where}`
  const isVouchedFor = table === 'consent_history' && chance.below(2) === 0
  if (isVouchedFor) await purgeAnew(sql, one)
  return edited(`${table}.${name} of version ${version} after the purge${isVouchedFor ? ', vouched for' : ''}`, one)
}

async function purgeAnew(sql: Sql, { account_id, id, version }: Victim): Promise<void> {
  type Row = State & { salt: Buffer; hash: Buffer; record_hash: Buffer; at: Date }
  const entries = await sql<Row[]>`
    select h.accepted, h.preferences, h.policy_version, h.salt, h.hash, c.record_hash, h.created_at as at
    from consent_history h join consents c on c.account_id = h.account_id and c.id = h.consent_id
    where h.account_id = ${account_id} and h.consent_id = ${id} order by h.version`
  const [purge, before] = [entries.at(-1) as Row, entries.slice(0, -1)]
  const previous = before.at(-1)?.hash ?? null
  const hashes = { recordHash: purge.record_hash, historyHash: hashHistory(before) }
  const payloadHash = hashPayload(purge.preferences, purge.salt, hashes)
  const hash = hashEntry(
    { id, version, action: 'purged', actor: system, at: purge.at, previous, state: purge },
    payloadHash,
  )
  const last = sql`where account_id = ${account_id} and consent_id = ${id} and version = ${version}`
  await sql`update consent_history set payload_hash = ${payloadHash}, hash = ${hash} ${last}`
  await sql`update log_entries set hash = ${hash} ${last}`
  await sql`update consents set chain_head = ${hash} where account_id = ${account_id} and id = ${id}`
}

export const edits: readonly Edit[] = [
  change,
  change,
  change,
  change,
  remove,
  truncate,
  swapEntries,
  swapSubjects,
  forge,
  moveOrigin,
]

async function leavesOf(sql: Sql, { account_id, id }: Victim, version: number | null): Promise<number[]> {
  const rows = await sql<{ leaf: number }[]>`
    select leaf_index::float8 as leaf from log_entries
    where account_id = ${account_id} and consent_id = ${id} ${version === null ? sql`` : sql`and version = ${version}`}`
  return rows.map(({ leaf }) => leaf)
}

/** Returns the condition of a row of a record. */
export function rowOf(sql: Sql, table: Table | 'origins', { account_id, id }: Victim, version: number) {
  if (table === 'consents') return sql`where account_id = ${account_id} and id = ${id}`
  if (table === 'origins') return sql`where account_id = ${account_id} and consent_id = ${id}`
  return sql`where account_id = ${account_id} and consent_id = ${id} and version = ${version}`
}

const casts: Readonly<Record<string, string>> = {
  'timestamp with time zone': 'timestamptz',
  integer: 'int4',
  bigint: 'int8',
  boolean: 'bool',
}

export function castOf(type: string): string {
  return casts[type] ?? type
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
