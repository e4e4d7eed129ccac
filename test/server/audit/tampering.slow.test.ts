import { createHash, randomBytes } from 'node:crypto'
import type { Sql, TransactionSql } from 'postgres'
import { beforeAll, expect, it } from 'vitest'
import { updateQuota } from '../../../server/accounts/queries.ts'
import { machine } from '../../../server/audit/entries.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { newId } from '../../../server/ids.ts'
import { insertKey, revokeKey } from '../../../server/keys/queries.ts'
import { publishDraft, upsertDraft, upsertText } from '../../../server/notices/queries.ts'
import { setPassword } from '../../../server/session/queries.ts'
import { replaceToken, updateSite } from '../../../server/sites/queries.ts'
import { columnsOf, otherValue } from '../../e2e/tampering/columns.ts'
import { type Chance, chanceOf } from '../../e2e/tampering/random.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { newAccount, type TestAccount, useService } from '../../support/service.ts'
import { inTurns } from '../consents/records.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
const seed = process.env['CONSENTCTL_TEST_SEED'] ?? randomBytes(4).toString('hex')

/** Edits, one an account, and a fifth as many accounts that nobody edits; 1,000 by hand. */
const count = Number(process.env['CONSENTCTL_TEST_EDITS'] ?? 60)
const untouched = count / 5

/** What no entry covers: uses of keys, sessions, the work on a draft, and what is counted. */
const uncovered = ['last_used_on', 'session_version', 'revision', 'is_counted']

const tables = [
  ...(['accounts', 'users', 'logins', 'sites', 'site_tokens', 'api_keys'] as const),
  ...(['account_entries', 'log_entries', 'notices', 'notice_texts'] as const),
]
type Table = (typeof tables)[number]

let edited: TestAccount[] = []
let others: TestAccount[] = []

beforeAll(async () => {
  process.stderr.write(`CONSENTCTL_TEST_SEED=${seed}\n`)
  const all: TestAccount[] = []
  const { sql } = service
  await inTurns(
    Array.from({ length: count + untouched }, (_, index) => index),
    8,
    async () => void all.push(await newChangedAccount(sql)),
  )
  await sql`drop index site_tokens_present`
  edited = all.slice(0, count)
  others = all.slice(count)
  await coverAll({ sql, signer: await openSigner(sql, null) })
  for (const table of tables) {
    const checks = await sql<{ name: string }[]>`
      select conname as name from pg_constraint where conrelid = ${table}::regclass and contype = 'c'`
    for (const { name } of checks) await sql`alter table ${sql(table)} drop constraint ${sql(name)}`
  }
}, 3_600_000)

/** Makes an account with an entry of every kind of change. */
async function newChangedAccount(sql: Sql): Promise<TestAccount> {
  const account = await newAccount(sql)
  const { accountId, siteId, userId } = account
  const at = new Date()
  const actor = { kind: 'user', id: userId } as const
  const site = { accountId, id: siteId }
  const change = {
    name: 'Shop',
    allowed_origins: ['https://shop.example'],
    retention: { period: 'P30D', after: 'last_change' } as const,
  }
  await updateSite(sql, site, change, { actor, at })
  await replaceToken(sql, site, { tokenHash: randomBytes(32), at, until: new Date(at.getTime() + 60_000) }, actor)
  const key = { id: newId(), name: 'CI', keyHash: randomBytes(32), hint: 'abcd', scopes: ['write'] as const }
  await insertKey(sql, accountId, { ...key, siteIds: null, createdAt: at, expiresAt: null }, actor)
  await revokeKey(sql, { accountId, id: key.id, at }, actor)
  await setPassword(sql, { accountId, userId }, { passwordHash: 'another', at }, machine)
  await updateQuota(sql, accountId, { monthlyQuota: 1000, at })
  const notice = { accountId, siteId, version: 1 }
  const purposes = [{ key: 'marketing', title: 'Newsletter', language: 'en', iri: null }]
  const details = { purposes, controller: 'Shop Ltd', valid_for: 'P1Y', requires_renewal: true }
  await upsertDraft(sql, notice, details, { effectiveFrom: at, at })
  for (const language of ['de', 'en']) {
    const content = randomBytes(100)
    const sha256 = createHash('sha256').update(content).digest()
    await upsertText(sql, notice, { language, mediaType: 'text/plain', sha256, content }, { at, maxTexts: 9 })
  }
  const [{ revision = 0 } = {}] = await sql<{ revision: number }[]>`
    select revision from notices where account_id = ${notice.accountId}`
  expect(await publishDraft(sql, notice, revision, { actor, at })).toBe(true)
  return account
}

type Edit = (tx: TransactionSql, chance: Chance, account: TestAccount) => Promise<string>

/** The table's rows of an account, without those of records in the log. */
function ofAccount(tx: TransactionSql, table: Table, { accountId }: TestAccount) {
  const isOwn = table === 'log_entries' ? tx`and consent_id = ${accountId}` : tx``
  return tx`account_id = ${accountId} ${isOwn}`
}

async function findRow(tx: TransactionSql, chance: Chance, table: Table, account: TestAccount): Promise<string> {
  const rows = await tx<{ place: string }[]>`
    select ctid::text as place from ${tx(table)} where ${ofAccount(tx, table, account)} order by ctid`
  return chance.one(rows).place
}

const shortTypes: Record<string, string> = { integer: 'int4', bigint: 'int8', boolean: 'bool' }

/** A column of a row gets another value. */
const change: Edit = async (tx, chance, account) => {
  const table = chance.one(tables)
  const isCovered = ({ name }: { name: string }) =>
    !uncovered.includes(name) && !(table === 'notices' && ['created_at', 'updated_at'].includes(name))
  const column = chance.one((await columnsOf(tx as unknown as Sql, table)).filter(isCovered))
  const place = await findRow(tx, chance, table, account)
  const [row] = await tx<{ value: string | null }[]>`
    select ${tx(column.name)}::text as value from ${tx(table)} where ctid = ${place}::text::tid`
  const value = otherValue(chance, column, row?.value ?? null)
  const type = shortTypes[column.type] ?? (column.type.startsWith('timestamp') ? 'timestamptz' : column.type)
  await tx`update ${tx(table)} set ${tx(column.name)} = ${value}::text::${tx(type)} where ctid = ${place}::text::tid`
  return `${table}.${column.name}: ${row?.value} became ${value}`
}

/** A row is gone, of the account's entries in the log too. */
const remove: Edit = async (tx, chance, account) => {
  const table = chance.one(tables)
  const place = await findRow(tx, chance, table, account)
  const [gone] = await tx`delete from ${tx(table)} where ctid = ${place}::text::tid returning *`
  const withLog = table === 'account_entries' && chance.below(2) === 0
  if (withLog)
    await tx`delete from log_entries where ${ofAccount(tx, 'log_entries', account)} and version = ${gone?.['version']}`
  return `${table}: a row is gone${withLog ? ' with its log' : ''}`
}

/** A key, a user, a site, a token, a text or an entry that the service has not made. */
const add: Edit = async (tx, chance, { accountId, siteId }) => {
  const id = chance.uuid()
  const own = tx`where account_id = ${accountId} limit 1`
  const additions: readonly (readonly [string, () => Promise<unknown>])[] = [
    [
      'a key',
      () => tx`
      insert into api_keys (account_id, id, name, key_hash, created_at) select account_id, ${id}, name, ${chance.bytes(32)},
        created_at from api_keys ${own}`,
    ],
    [
      'a user',
      () => tx`
      insert into users (account_id, id, password_hash, created_at) select account_id, ${id}, password_hash, created_at
      from users ${own}`,
    ],
    ['a login', () => tx`insert into logins values (${`${id}@example.com`}, ${accountId}, ${id})`],
    [
      'a site',
      () => tx`
      insert into sites (account_id, id, name, created_at, updated_at) select account_id, ${id}, name, created_at, created_at
      from sites ${own}`,
    ],
    [
      'a token',
      () => tx`
      insert into site_tokens values (${accountId}, ${siteId}, ${chance.bytes(32)}, now(), now() + interval '1 year')`,
    ],
    [
      'a text',
      () => tx`
      insert into notice_texts select account_id, site_id, policy_version, 'fr', media_type, sha256, content
      from notice_texts ${own}`,
    ],
    [
      'a publication',
      () => tx`
      insert into notices (account_id, site_id, policy_version, created_at, updated_at, published_entry)
      select account_id, site_id, 2, created_at, updated_at, published_entry from notices ${own}`,
    ],
    [
      'an entry',
      () => tx`
      insert into account_entries select account_id, 99, document, created_at from account_entries ${own}`,
    ],
  ]
  const [name, run] = chance.one(additions)
  await run()
  return `${name} was added`
}

/** Two entries change places, with their hashes or without. */
const swap: Edit = async (tx, chance, account) => {
  const withLog = chance.below(2) === 0
  const pair = tx`${ofAccount(tx, 'account_entries', account)} and version in (2, 3)`
  await tx`update account_entries set version = -version where ${pair}`
  await tx`update account_entries set version = 5 + version where ${ofAccount(tx, 'account_entries', account)} and version < 0`
  if (withLog) {
    const own = ofAccount(tx, 'log_entries', account)
    await tx`update log_entries set version = -version where ${own} and version in (2, 3)`
    await tx`update log_entries set version = 5 + version where ${own} and version < 0`
  }
  return `entries 2 and 3 changed places, ${withLog ? 'with' : 'without'} the log`
}

/** An entry and all hashes after it say something else, as if the service had written it so. */
const rewrite: Edit = async (tx, _, account) => {
  const own = ofAccount(tx, 'account_entries', account)
  const entries = await tx<{ version: number; document: string }[]>`
    select version, document from account_entries where ${own} order by version`
  let previous: string | null = null
  for (const { version, document } of entries) {
    const next: string = document.replace('"Shop"', '"Chop"').replace(/"previous": "\w+"/, `"previous": "${previous}"`)
    previous = createHash('sha256').update(next).digest('hex')
    await tx`update account_entries set document = ${next} where ${own} and version = ${version}`
    await tx`
      update log_entries set hash = decode(${previous}, 'hex')
      where ${ofAccount(tx, 'log_entries', account)} and version = ${version}`
  }
  await tx`update accounts set entries_head = decode(${previous}, 'hex') where account_id = ${account.accountId}`
  await tx`update sites set name = 'Chop' where account_id = ${account.accountId}`
  return 'everything was rewritten'
}

it.skipIf(skippedOnCitus('edits by place in a table'))(
  `admin verify › reports ${count} random edits of settings, entries and notices, and no unedited account`,
  { timeout: 3_600_000 },
  async () => {
    const { sql } = service
    expect((await verified(sql)).findings).toEqual([])
    const chance = chanceOf(seed)
    const made = new Map<string, string>()
    for (const account of edited) {
      const edit = chance.one([change, change, change, change, remove, add, swap, rewrite])
      const what = await sql.begin(async tx => {
        await tx`set local session_replication_role = replica`
        return await edit(tx, chance, account)
      })
      made.set(account.accountId, what)
    }
    const { findings } = await verified(sql)
    const named = new Set(findings.map(({ account_id }) => account_id))
    expect([...made].filter(([id]) => !named.has(id)).map(([, what]) => what)).toEqual([])
    expect(others.filter(({ accountId }) => named.has(accountId))).toEqual([])
  },
)
