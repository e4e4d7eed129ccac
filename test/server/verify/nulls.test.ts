import type { Sql } from 'postgres'
import { beforeAll, expect, it } from 'vitest'
import { inTransaction } from '../../../server/db/transaction.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { columnsOf } from '../../e2e/tampering/columns.ts'
import { useService } from '../../support/service.ts'
import { newOwner } from '../consents/records.ts'
import { verified } from './verified.ts'

const service = useService()
let [id, account] = ['', '']
beforeAll(async () => {
  const owner = await newOwner(service)
  account = owner.accountId
  id = (await owner.create({ subject_id: 'maria', preferences: { a: 1 } })).id
  await owner.update(id, { accepted: true })
  await owner.create()
  await coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })
})

it.each(['consents', 'consent_history', 'log_entries'] as const)(
  'a null where none may be is told of its record, in each column of %s',
  async table => {
    const columns = (await columnsOf(service.sql, table)).filter(({ isNullable }) => !isNullable)
    expect(columns.length).toBeGreaterThan(3)
    for (const { name } of columns) {
      const where = table === 'consents' ? 'where id = $1' : 'where consent_id = $1 and version = 1'
      const findings = await foundWithNull({ table, name, where, parameters: [id] })
      expect(
        findings.map(({ consent_id }) => consent_id),
        name,
      ).toContain(id)
    }
  },
)

it('a null in a checkpoint is told of its account, and one in a key of what it has signed', async () => {
  for (const name of [
    'account_id',
    'tree_size',
    'from_size',
    'root_hash',
    'frontier',
    'document',
    'created_at',
  ]) {
    const findings = await foundWithNull({ table: 'checkpoints', name })
    expect(
      findings.map(({ account_id }) => account_id),
      name,
    ).toContain(account)
  }
  expect(await foundWithNull({ table: 'signing_keys', name: 'public_key' })).not.toEqual([])
})

interface Place {
  readonly table: string
  readonly name: string
  readonly where?: string
  readonly parameters?: string[]
}

/** What is found with a null there, which is then taken back. */
async function foundWithNull({ table, name, where = '', parameters = [] }: Place) {
  let findings: Awaited<ReturnType<typeof verified>>['findings'] = []
  const undone = new Error('undone')
  await inTransaction(service.sql, async tx => {
    await tx.unsafe('set local session_replication_role = replica')
    await tx.unsafe(`alter table ${table} drop constraint ${table}_pkey cascade`)
    await tx.unsafe(`alter table ${table} alter column ${name} drop not null`)
    await tx.unsafe(`update ${table} set ${name} = null ${where}`, parameters)
    findings = (await verified(tx as unknown as Sql)).findings
    throw undone
  }).catch(error => {
    if (error !== undone) throw error
  })
  return findings
}
