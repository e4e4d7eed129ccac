import type { Sql } from 'postgres'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { machine } from '../../../server/audit/entries.ts'
import { findSecret } from '../../../server/db/secrets.ts'
import type { Backdated } from '../../../server/evidence/backdating.ts'
import { backdatedMessage, coverAccount, coverAll } from '../../../server/evidence/log.ts'
import { openSigner, type Signer } from '../../../server/evidence/signer.ts'
import { setPassword } from '../../../server/session/queries.ts'
import { backdatingToleranceMs, entriesPerCheckpoint } from '../../../src/evidence/dates.ts'
import { signingKeyOf } from '../../../src/evidence/keys.ts'
import { statementOf } from '../../support/key-statements.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { insertChains, type Shape } from '../purge/chains.ts'
import { verified } from '../verify/verified.ts'

const forgeries = Number(process.env['CONSENTCTL_TEST_FORGERIES'] ?? 20)

const service = useService()
let [sql, signer, owner] = [] as unknown as [Sql, Signer, Owner]
beforeEach(async () => {
  sql = service.sql
  await sql`truncate accounts, checkpoints, log_entries, key_statements cascade`
  const key = signingKeyOf((await findSecret(sql, 'signing')) ?? Buffer.alloc(0))
  const statement = statementOf(key, key, { not_before: ago(100).toISOString() })
  await sql`insert into key_statements (position, document) values (0, ${statement})`
  signer = await openSigner(sql, null)
  owner = await newOwner(service)
})
afterEach(() => void vi.useRealTimers())

const dayMs = 24 * 60 * 60 * 1000

const now = Date.now() // before the clock is moved
const ago = (days: number) => new Date(now - days * dayMs)

/** Moves the clock of this process, but no timer. */
const setClock = (at: Date) => vi.useFakeTimers({ toFake: ['Date'], now: at })

const insert = (shape: Partial<Shape>) => insertChains(sql, owner, { records: 1, entries: 1, isLive: true, ...shape })

/** Covers all entries. Returns what was reported. */
async function cover(): Promise<Backdated[]> {
  const reported: Backdated[] = []
  await coverAll({ sql, signer, onBackdated: (_, entries) => void reported.push(...entries) })
  return reported
}

const found = async () => (await verified(sql)).findings

const idsOf = (entries: readonly { consent_id: string | null }[]) =>
  [...new Set(entries.map(({ consent_id }) => consent_id))].sort()

it(`${forgeries} records that are forged today and dated 400 days back are reported, covered or not, and get no receipt`, async () => {
  const { id } = await owner.create()
  expect(await cover()).toEqual([])
  const forged = (await insert({ records: forgeries, entries: 2, at: ago(400) })).sort()
  const expected = forged.flatMap(consent_id => [1, 2].map(version => ({ consent_id, version, problem: 'forged' })))
  const detail = expect.stringMatching(/^is dated .+, but the checkpoint of .+ was made without it$/)

  expect(await found()).toMatchObject(expected.map(finding => ({ ...finding, detail })))
  for (const each of forged) await expectNoReceipt(each)
  const reported = await cover()
  expect(idsOf(reported)).toEqual(forged)
  expect(backdatedMessage(reported)).toContain(`${2 * forgeries} entries are dated before a checkpoint`)
  expect(await found()).toMatchObject(expected.map(finding => ({ ...finding, detail })))
  for (const each of forged) await expectNoReceipt(each)
  await owner.create()
  expect(await cover()).toEqual([])
  expect(idsOf(await found())).toEqual(forged)
  expect((await receipt(id)).status).toBe(200)
})

it('a change that is forged today and backdated is reported with its version', async () => {
  setClock(ago(10))
  const { id } = await owner.create()
  await cover()
  setClock(ago(2))
  await owner.create()
  await cover()
  setClock(ago(5))
  await owner.update(id, { accepted: true })
  vi.useRealTimers()
  expect(await cover()).toMatchObject([{ consent_id: id, version: 2 }])
  expect(await found()).toMatchObject([{ consent_id: id, version: 2, problem: 'forged' }])
  await expectNoReceipt(id)
})

it('a checkpoint that SQL backdates hides nothing', async () => {
  const { id } = await owner.create()
  await cover()
  const [forged = ''] = await insert({ at: ago(400) })
  await sql`update checkpoints set created_at = '2020-01-01'`
  expect(idsOf(await found())).toEqual(expect.arrayContaining([forged]))
  await expectNoReceipt(forged)
  expect(idsOf(await cover())).toEqual([forged])
  await sql`update checkpoints set document = replace(document, '"created_at": "20', '"created_at": "19')`
  for (const each of [id, forged]) // nothing was before the first one, but its receipt would have such a checkpoint in it
    expect(await receipt(each)).toMatchObject({
      status: 500,
      body: { message: expect.stringContaining('was changed') },
    })
  await owner.create()
  await expect(cover()).rejects.toThrow('was changed')
})

it('a kept checkpoint exposes records dated before it, even in a rebuilt log', async () => {
  setClock(ago(30))
  await owner.create()
  await cover()
  setClock(ago(20))
  await owner.create()
  setClock(ago(10))
  await cover()
  const kept = async () =>
    (await sql<{ document: string }[]>`select document from checkpoints order by tree_size`).map(row => row.document)
  const before = await kept()
  vi.useRealTimers()
  const [forged] = await insert({ at: ago(15) })
  setClock(ago(5))
  await sql`delete from checkpoints where tree_size > (select min(tree_size) from checkpoints)`
  await sql`update log_entries set leaf_index = null where leaf_index >= (select max(tree_size) from checkpoints)`
  await sql`update accounts set checkpoint_size = 0`
  vi.useRealTimers()
  const restarted = await openSigner(sql, null) // a new process does not know what it has signed
  await coverAll({ sql, signer: restarted })
  expect(await found()).toEqual([])
  expect(idsOf((await verified(sql, { kept: before })).findings)).toEqual([forged])
})

it('the tolerance covers entries that are committed late', async () => {
  await owner.create()
  await cover()
  await insert({ at: new Date(Date.now() - backdatingToleranceMs + 60_000) })
  expect(await found()).toEqual([])
  expect(await cover()).toEqual([])
  const [late] = await insert({ at: new Date(Date.now() - backdatingToleranceMs - 60_000) })
  expect(idsOf(await found())).toEqual([late])
  expect(idsOf(await cover())).toEqual([late])
})

it('all backdated entries that are not in the log yet are reported', async () => {
  await owner.create()
  await cover()
  const forged = (await insert({ records: 101, entries: 3, at: ago(400) })).sort()
  const expected = forged.flatMap(consent_id => [1, 2, 3].map(version => ({ consent_id, version })))
  expect(await found()).toMatchObject(expected)
})

it('old entries do not count as backdated if nothing was covered before, even after checkpoints of the same run', async () => {
  const shape = { records: entriesPerCheckpoint / 2 + 100, entries: 2, at: ago(400) }
  const [first] = await insert(shape)
  expect(await found()).toEqual([])
  for await (const _ of coverAccount({ sql, signer }, owner.accountId)) break // stopped after the first batch
  expect(await found()).toEqual([])
  expect(await cover()).toEqual([])
  expect(await found()).toEqual([])
  expect((await receipt(first ?? '')).status).toBe(200)
  const [forged] = await insert({ at: ago(400) })
  expect(idsOf(await found())).toEqual([forged])
})

it('entries that wait long for their checkpoint do not count as backdated', async () => {
  setClock(ago(30))
  await owner.create()
  await cover()
  setClock(ago(20))
  const { id } = await owner.create()
  vi.useRealTimers()
  await owner.create()
  expect(await found()).toEqual([])
  expect(await cover()).toEqual([])
  expect(await found()).toEqual([])
  expect((await receipt(id)).status).toBe(200)
})

it.each([0, 1])(
  'an account entry that waits behind many record entries does not count as backdated (%i more)',
  async more => {
    const { accountId, userId } = owner
    await cover()
    await setPassword(sql, { accountId, userId }, { passwordHash: 'another', at: new Date(now) }, machine)
    setClock(new Date(now + 2 * backdatingToleranceMs))
    await insert({ records: entriesPerCheckpoint + more })
    expect(await cover()).toEqual([])
    expect(await found()).toEqual([])
    expect(await sql`select from log_entries where leaf_index is null`).toHaveLength(0)
  },
)

const receipt = (id: string) => service.call('GET', `/api/v1/consents/${id}/receipt`, { key: owner.key })

async function expectNoReceipt(id: string): Promise<void> {
  const { status, body } = await receipt(id)
  expect([status, body.error, body.message]).toEqual([409, 'conflict', expect.stringContaining('was made without it')])
}
