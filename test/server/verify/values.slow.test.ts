import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { createMetrics } from '../../../server/metrics/metrics.ts'
import { timestampJob } from '../../../server/timestamps/job.ts'
import { isLongRun } from '../../e2e/campaign.ts'
import { type Column, columnsOf } from '../../e2e/tampering/columns.ts'
import { hasOpenssl, useAuthority } from '../../support/authority.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { newDocument } from '../../support/operator-document.ts'
import { mediaBytes, useService } from '../../support/service.ts'
import { newImporter } from '../consents/imports.ts'
import { newOwner } from '../consents/records.ts'
import { verified } from './verified.ts'

/** All tables that are evidence, or that evidence is compared with. */
const tables = [
  ...(['consents', 'consent_history', 'log_entries', 'origins', 'checkpoints', 'timestamp_tokens'] as const),
  ...(['key_statements', 'accounts', 'account_entries', 'sites', 'site_tokens', 'api_keys'] as const),
  ...(['users', 'logins', 'notices', 'notice_texts', 'subject_requests', 'operator_documents', 'webhooks'] as const),
]

/** Columns that carry no evidence. */
const unverified = new Set([
  ...['consents.near_subject', 'consents.request_hash', 'log_entries.is_counted', 'timestamp_tokens.created_at'],
  ...['notices.revision', 'notices.created_at', 'notices.updated_at'],
  ...['key_statements.position', 'api_keys.last_used_on', 'users.session_version', 'origins.body_hash'],
  'subject_requests.subject_ids',
  ...['position', 'undelivered', 'retry_at', 'failures', 'attempts', 'turn', 'next_turn_at'].map(
    name => `webhooks.${name}`,
  ),
  ...['webhooks.previous_secret', 'webhooks.previous_secret_until'],
  'timestamp_tokens.account_id', // of another account is as good as gone, and the last one may be
])

const odd: Readonly<Record<string, readonly string[]>> = {
  'timestamp with time zone': ['infinity', '-infinity', '0044-03-15 12:00:00 BC', '294000-01-01'],
  bytea: ['\\x', '\\x00'],
  text: ['', '\u0001{', '"\u{1f600}'],
  jsonb: ['null', '[]', '{"a": 1e400}', '"x"', '{}'],
  integer: ['-2147483648', '0', '2147483647'],
  bigint: ['-9223372036854775808', '9223372036854775807'],
  uuid: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  cidr: ['::/0'],
  date: ['infinity', '0044-03-15 BC'],
}

/** All in a long run; otherwise one, and the next one for the next column. */
function oddValues(type: string, index: number): readonly string[] {
  const values = odd[type] ?? []
  return isLongRun ? values : values.slice(index % values.length).slice(0, 1)
}

const service = useService()
const tsa = useAuthority()
const isSkipped = skippedOnCitus('odd values in the column that tables are spread by') || !hasOpenssl
let [id, account, other] = ['', '', '']
beforeAll(async () => {
  if (isSkipped) return
  const { sql } = service
  const { caFile } = tsa.authority
  const owner = await newImporter(service)
  account = owner.accountId
  const headers = await service.signIn(owner)
  const notice = `/api/v1/sites/${owner.siteId}/notices/1`
  const texts = mediaBytes('We write to you.', 'text/plain')
  for (const [method, path, body] of [
    ...([
      ['PUT', '', { valid_for: 'P1Y' }],
      ['PUT', '/texts/en', texts],
      ['POST', '/publish', {}],
    ] as const),
  ])
    expect((await service.call(method, notice + path, { headers, body })).status).toBe(200)
  id = (await owner.create({ subject_id: 'maria', preferences: { a: 1 } })).id
  await owner.update(id, { accepted: true })
  await owner.remove((await owner.create()).id)
  await owner.sendAll([owner.row('imported')])
  const request = { ticket: 'DSR-1', kind: 'erasure', subject_ids: ['maria'], received_on: '2026-01-31' }
  expect((await service.call('POST', '/api/v1/requests', { key: owner.key, body: request })).status).toBe(201)
  const hook = { headers, body: { url: 'https://hooks.example.com/', types: ['erased'], site_ids: [owner.siteId] } }
  expect((await service.call('POST', '/api/v1/webhooks', hook)).status).toBe(201)
  const document = newDocument(account)
  expect((await service.call('POST', '/api/v1/subjects/documents', { key: owner.key, body: document })).status).toBe(
    201,
  )
  await coverAll({ sql, signer: await openSigner(sql, null) })
  const job = timestampJob({
    sql,
    tsa: { url: tsa.url, caFile },
    logger: pino({ enabled: false }),
    counts: createMetrics(),
  })
  await job.run(new AbortController().signal)
  const later = await newOwner(service)
  other = later.accountId
  const { id: changed } = await later.create()
  await sql`update consents set country = 'XX' where id = ${changed}`
  const { findings } = await verified(sql, { tsaCa: caFile })
  expect(findings).toMatchObject([{ account_id: other }])
  await allowAnything(sql)
})

describe.skipIf(isSkipped)('admin verify checks every account', () => {
  it.each(tables)(
    'when any column of %s has an odd value, reports it and still checks the other account',
    async table => {
      const columns = await columnsOf(service.sql, table)
      expect(columns.length).toBeGreaterThan(1)
      const wrong: string[] = []
      for (const [index, column] of columns.entries())
        for (const value of [null, ...oddValues(column.type, index)]) {
          const problem = await foundWith(table, column, value).then(
            accounts => findProblem(accounts, !unverified.has(`${table}.${column.name}`)),
            (error: Error) => `ends it: ${error.message}`,
          )
          if (problem) wrong.push(`${column.name} = ${value} ${problem}`)
        }
      expect(wrong).toEqual([])
    },
  )
})

it.skipIf(isSkipped)('when a record has a second, older row, admin verify names it', async () => {
  const { sql } = service
  await sql`insert into consents select * from consents where id = ${id}`
  await sql`update consents set version = 1 where ctid = (select min(ctid) from consents where id = ${id})`
  try {
    expect((await verified(sql)).findings).toContainEqual(expect.objectContaining({ consent_id: id }))
  } finally {
    await sql`delete from consents`
    await sql`insert into consents select * from saved_consents`
  }
})

it('the evidence page lists the columns that no check covers', () => {
  const page = readFileSync(new URL('../../../src/evidence/limits.md', import.meta.url), 'utf8')
  const [, listed = ''] = /a column that no check looks at\*\*:([^;]*)/.exec(page) ?? []
  expect(new Set([...listed.matchAll(/`([\w.]+)`/g)].map(([, name]) => name))).toEqual(unverified)
})

function findProblem(accounts: ReadonlySet<string | null> | null, isEvidence: boolean): string | null {
  if (accounts === null) return null
  if (!accounts.has(other)) return 'hides the other account'
  return isEvidence && accounts.size === 1 ? 'is not named' : null
}

/** The accounts that are named with a value in the rows of the first one, which is then taken back; null for the keys. Null if they have it. */
async function foundWith(table: string, { name, type }: Column, value: string | null) {
  const { sql } = service
  const own = table === 'key_statements' ? 'true' : `account_id = '${account}'`
  const toValue = (text: string) => (type === 'jsonb' ? `coalesce(${text}, 'null')` : text) // JSON's null says the same
  const { count } = await sql.unsafe(
    `update ${table} set ${name} = $1::text::${type}
     where ${own} and ${toValue(name)} is distinct from ${toValue(`$1::text::${type}`)}`,
    [value],
  )
  if (count === 0) return null
  try {
    const isStamped = ['timestamp_tokens', 'checkpoints'].includes(table)
    const { findings } = await verified(sql, isStamped ? { tsaCa: tsa.authority.caFile } : {})
    return new Set(findings.map(({ account_id }) => account_id))
  } finally {
    await sql.unsafe(`delete from ${table}`)
    await sql.unsafe(`insert into ${table} select * from saved_${table}`)
  }
}

/** Drops all constraints and unique indexes, as a superuser can. */
async function allowAnything(sql: Sql): Promise<void> {
  const constraints = await sql<{ relation: string; name: string }[]>`
    select conrelid::regclass::text as relation, conname as name from pg_constraint
    where connamespace = 'public'::regnamespace and conrelid <> 0 order by contype = 'f' desc`
  for (const { relation, name } of constraints)
    await sql.unsafe(`alter table ${relation} drop constraint if exists ${name} cascade`)
  for (const { name } of await sql`
    select indexrelid::regclass::text as name from pg_index where indisunique and indrelid::regclass::text in ${sql(tables)}`)
    await sql.unsafe(`drop index if exists ${name}`)
  for (const table of tables) {
    await sql.unsafe(`create table saved_${table} as select * from ${table}`)
    for (const { name } of await columnsOf(sql, table))
      await sql.unsafe(`alter table ${table} alter column ${name} drop not null`)
  }
}
