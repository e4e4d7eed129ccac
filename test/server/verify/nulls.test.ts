import type { Sql } from 'postgres'
import { beforeAll, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { columnsOf, tables } from '../../e2e/tampering/columns.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { useService } from '../../support/service.ts'
import { newOwner } from '../consents/records.ts'
import { verified } from './verified.ts'

const service = useService()
const hasNoNulls = skippedOnCitus('nulls in the column that tables are spread by')
/** The columns of each table that may not be null. */
const required = new Map<string, string[]>()
let [id, account] = ['', '']
beforeAll(async () => {
  const owner = await newOwner(service)
  account = owner.accountId
  id = (await owner.create({ subject_id: 'maria', preferences: { a: 1 } })).id
  await owner.update(id, { accepted: true })
  await owner.create()
  await coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })
  for (const table of tables) {
    const columns = await columnsOf(service.sql, table)
    required.set(
      table,
      columns.filter(({ isNullable }) => !isNullable).map(({ name }) => name),
    )
  }
  if (!hasNoNulls) await allowAnything(service.sql)
})

it.skipIf(hasNoNulls).each(['consents', 'consent_history', 'log_entries'] as const)(
  'a null in any column of %s that must not be null is reported with the record',
  async table => {
    const names = required.get(table) ?? []
    expect(names.length).toBeGreaterThan(3)
    for (const name of names) {
      const where = table === 'consents' ? 'where id = $1' : 'where consent_id = $1 and version = 1'
      const findings = await foundWithNull({ table, name, where, parameters: [id] })
      expect(
        findings.map(({ consent_id }) => consent_id),
        name,
      ).toContain(id)
    }
  },
)

it.skipIf(hasNoNulls)(
  'a null in a checkpoint is reported with the account, and one in a key with what it signed',
  async () => {
    for (const name of ['account_id', 'tree_size', 'from_size', 'root_hash', 'frontier', 'document', 'created_at']) {
      const findings = await foundWithNull({ table: 'checkpoints', name })
      expect(
        findings.map(({ account_id }) => account_id),
        name,
      ).toContain(account)
    }
    expect(await foundWithNull({ table: 'signing_keys', name: 'public_key' })).not.toEqual([])
  },
)

interface Place {
  readonly table: string
  readonly name: string
  readonly where?: string
  readonly parameters?: string[]
}

/** What is found with a null there, which is then taken back. */
async function foundWithNull({ table, name, where = '', parameters = [] }: Place) {
  const { sql } = service
  await sql.unsafe(`update ${table} set ${name} = null ${where}`, parameters)
  const { findings } = await verified(sql)
  await sql.unsafe(`delete from ${table}`)
  await sql.unsafe(`insert into ${table} select * from saved_${table}`)
  return findings
}

async function allowAnything(sql: Sql): Promise<void> {
  for (const table of [...tables, 'checkpoints', 'signing_keys'] as const) {
    await sql.unsafe(`create table saved_${table} as select * from ${table}`)
    await sql.unsafe(`alter table ${table} drop constraint ${table}_pkey cascade`)
    for (const { name } of await columnsOf(sql, table)) {
      await sql.unsafe(`alter table ${table} alter column ${name} drop not null`)
    }
  }
}
