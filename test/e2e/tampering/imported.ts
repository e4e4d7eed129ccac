import type { Sql } from 'postgres'
import {
  type Action,
  type Actor,
  type FactColumns,
  hashRecord,
  type Identity,
  linkOf,
  readFacts,
  type State,
} from '../../../src/evidence/chain.ts'
import { columnsOf, otherValue, type Table } from './columns.ts'
import { castOf, type Edit, type Edited, edited, rowOf, type Victim } from './edits.ts'
import type { Chance } from './random.ts'

/** Another value in a column that says where an imported record or its last answer comes from. */
function turn(table: Table | 'origins', name: string): Edit {
  return async (sql, chance, one) => {
    const where = rowOf(sql, table, one, 1 + chance.below(await countImported(sql, one)))
    const column = (await columnsOf(sql, table)).find(each => each.name === name)
    const [row] = await sql<{ value: string | null }[]>`select ${sql(name)}::text as value from ${sql(table)} ${where}`
    if (!column || !row) throw new Error(`there is no ${table}.${name} of ${one.id}`)
    const value = name === 'body_hash' ? null : otherValue(chance, column, row.value)
    await sql`update ${sql(table)} set ${sql(name)} = ${value}::text::${sql(castOf(column.type))} ${where}`
    return edited(`${table}.${name}: ${row.value} became ${value}`, one, {
      madeUp: name === 'consent_id' ? [value ?? ''] : [],
    })
  }
}

async function countImported(sql: Sql, { account_id, id }: Victim): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from consent_history
    where account_id = ${account_id} and consent_id = ${id} and action = 'imported'`
  return row?.count ?? 0
}

/** The origins of two records lead to each other's. */
const exchangeOrigins: Edit = async (sql, _chance, { account_id, id }, other) => {
  const move = (from: string, to: string) =>
    sql`update origins set consent_id = ${to} where account_id = ${account_id} and consent_id = ${from}`
  const between = '00000000-0000-4000-8000-000000000000'
  await move(id, between)
  await move(other.id, id)
  await move(between, other.id)
  return { what: 'origins exchanged', account: account_id, records: [id, other.id] }
}

type Deep = 'without hashes' | 'with its hashes' | 'with its hashes and the log'

/** An imported record looks as if it were made here. */
function disown(deep: Deep): Edit {
  return async (sql, chance, one) => {
    const { account_id, id } = one
    const where = sql`where account_id = ${account_id} and consent_id = ${id}`
    await sql`
      update consent_history set action = case when version = 1 then 'created' else 'updated' end, given_at = null, file_sha256 = null
      ${where} and action = 'imported'`
    await sql`
      update consents set given_at = null, origin_system = null, origin_id = null, origin_evidence = null
      where account_id = ${account_id} and id = ${id}`
    await sql`delete from origins ${where}`
    return await rehashed(sql, `disowned ${deep}`, one, { deep, chance })
  }
}

/** A record that was made here looks imported, and so its answer as one of long ago. */
function adopt(deep: Deep): Edit {
  return async (sql, chance, one) => {
    const { account_id, id } = one
    const at = new Date(Date.UTC(2019, chance.below(12), 1))
    const file = chance.bytes(32)
    await sql`
      update consent_history set action = 'imported', given_at = ${at}, file_sha256 = ${file}
      where account_id = ${account_id} and consent_id = ${id} and version = 1`
    await sql`
      update consents set given_at = ${at}, origin_system = 'elsewhere', origin_id = ${id}
      where account_id = ${account_id} and id = ${id}`
    await sql`
      insert into origins (account_id, origin, consent_id, body_hash)
      values (${account_id}, sha256(decode(replace(${account_id}, '-', ''), 'hex') || ${Buffer.from(`elsewhere\0${id}`)}), ${id}, ${file})`
    return await rehashed(sql, `adopted ${deep}`, one, { deep, chance })
  }
}

/** A record is of another site. */
function move(deep: Deep): Edit {
  return async (sql, chance, one) => {
    const site = chance.uuid()
    await sql`update consents set site_id = ${site} where account_id = ${one.account_id} and id = ${one.id}`
    return await rehashed(sql, `moved to another site ${deep}`, one, { deep, chance })
  }
}

/** A record is of another account, with all of its rows. */
const moveAccount: Edit = async (sql, _chance, { account_id, id }) => {
  const [other] = await sql<{ account_id: string; site: string }[]>`
    select account_id, id as site from sites where account_id <> ${account_id} order by account_id limit 1`
  if (!other) throw new Error('there is no other account')
  const to = other.account_id
  await sql`update consents set account_id = ${to}, site_id = ${other.site} where account_id = ${account_id} and id = ${id}`
  for (const table of ['consent_history', 'origins'])
    await sql`update ${sql(table)} set account_id = ${to} where account_id = ${account_id} and consent_id = ${id}`
  await sql`
    update log_entries set account_id = ${to}, leaf_index = null where account_id = ${account_id} and consent_id = ${id}`
  return { what: 'moved to another account', account: to, records: [id] }
}

interface Depth {
  readonly deep: Deep
  readonly chance: Chance
}

type Entry = State &
  FactColumns & { action: Action; version: number; changed_by: string; actor_id: string | null; at: Date }

/** Makes the hashes of a history anew. With the log too only its root, which a checkpoint signs, is another one. */
async function rehashed(sql: Sql, what: string, one: Victim, { deep, chance }: Depth): Promise<Edited> {
  if (deep === 'without hashes') return edited(what, one)
  const { account_id, id } = one
  const [identity] = await sql<[Identity]>`
    select site_id, consent_id, subject_id, country, region, user_agent, ip_network::text as ip_network, notice_locale, notice_entry,
      origin_system, origin_id, origin_evidence
    from consents where account_id = ${account_id} and id = ${id}`
  const entries = await sql<Entry[]>`
    select version, action, accepted, preferences, policy_version, changed_by, actor_id, created_at as at, given_at, file_sha256, gpc,
      circumstances, erased
    from consent_history where account_id = ${account_id} and consent_id = ${id} order by version`
  const salt = chance.bytes(16)
  const recordHash = hashRecord(identity, salt)
  let previous: Buffer | null = null
  for (const { version, action, at, changed_by: kind, actor_id, ...entry } of entries) {
    const actor = { kind, id: actor_id } as Actor
    const event = { id, version, action, actor, at, previous, state: entry, facts: readFacts(entry) }
    const link = linkOf(version === 1 ? { ...event, recordHash } : event, version === 1 ? salt : undefined)
    const where = sql`where account_id = ${account_id} and consent_id = ${id} and version = ${version}`
    await sql`update consent_history set salt = ${link.salt}, payload_hash = ${link.payloadHash}, hash = ${link.hash} ${where}`
    if (deep === 'with its hashes and the log') await sql`update log_entries set hash = ${link.hash} ${where}`
    previous = link.hash
  }
  await sql`
    update consents set record_hash = ${recordHash}, chain_head = ${previous} where account_id = ${account_id} and id = ${id}`
  return edited(what, one, deep === 'with its hashes and the log' ? { records: [] } : {})
}

/** Edits of live imported records. Of each, all records must be named; if none, the log of the account. */
export const ofImported: readonly Edit[] = [
  turn('consents', 'given_at'),
  turn('consent_history', 'given_at'),
  turn('consent_history', 'file_sha256'),
  turn('consents', 'origin_system'),
  turn('consents', 'origin_id'),
  turn('consents', 'origin_evidence'),
  turn('origins', 'origin'),
  turn('origins', 'consent_id'),
  turn('origins', 'body_hash'),
  exchangeOrigins,
  disown('without hashes'),
  disown('with its hashes'),
  disown('with its hashes and the log'),
  move('without hashes'),
  move('with its hashes'),
  moveAccount,
]

/** Edits of live records that were made here. */
export const ofMade: readonly Edit[] = [
  adopt('without hashes'),
  adopt('with its hashes'),
  adopt('with its hashes and the log'),
]
