import type { Sql } from 'postgres'
import { beforeEach, expect, it } from 'vitest'
import { coverAccount, coverAll } from '../../../server/evidence/log.ts'
import { openSigner, type Signer, signerOf } from '../../../server/evidence/signer.ts'
import { newSigningKey, signingKeyOf } from '../../../src/evidence/keys.ts'
import { MerkleTree } from '../../../src/evidence/merkle.ts'
import { readCheckpoint } from '../../../src/evidence/signed.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
const key = signingKeyOf(Buffer.alloc(32, 5))
let [sql, signer, owner] = [] as unknown as [Sql, Signer, Owner]
beforeEach(async () => {
  sql = service.sql
  signer = await openSigner(sql, key)
  await coverAll({ sql, signer })
  owner = await newOwner(service)
})

const cover = () => coverAll({ sql, signer })

interface Leaf {
  readonly leaf: number | null
  readonly hash: Buffer
}

const leaves = () => sql<Leaf[]>`
  select leaf_index::float8 as leaf, hash from log_entries where account_id = ${owner.accountId} order by leaf_index`
const checkpoints = () => sql<{ tree_size: number; root_hash: Buffer; document: string }[]>`
  select tree_size::float8 as tree_size, root_hash, document from checkpoints
  where account_id = ${owner.accountId} order by tree_size`

it('the log contains every entry once, and its checkpoint signs the root', async () => {
  const first = await owner.create()
  await owner.update(first.id, { accepted: true })
  expect(await cover()).toEqual({ entries: 3, checkpoints: 1 })
  expect(await cover()).toBeNull()
  await owner.create()
  await owner.remove(first.id)
  expect(await cover()).toEqual({ entries: 2, checkpoints: 1 })
  const tree = new MerkleTree()
  const roots = (await leaves()).map(({ leaf, hash }, index) => {
    expect(leaf).toBe(index)
    tree.append(hash)
    return tree.root
  })
  const made = await checkpoints()
  expect(made.map(({ tree_size }) => tree_size)).toEqual([3, 5])
  for (const { tree_size, root_hash, document } of made) {
    expect(root_hash).toEqual(roots[tree_size - 1])
    const { checkpoint, isSignedBy } = readCheckpoint(document)
    expect(isSignedBy(key)).toBe(true)
    expect(schemaProblems(document)).toEqual([])
    expect(checkpoint).toMatchObject({
      account_id: owner.accountId,
      tree_size,
      root_hash: root_hash.toString('hex'),
    })
  }
})

it('an account without new entries gets no checkpoint', async () => {
  await owner.create()
  await cover()
  const other = await newOwner(service)
  await other.create()
  await cover()
  expect(await checkpoints()).toHaveLength(1)
})

it('when several nodes cover the log during writes, it has no gaps and all checkpoints verify', async () => {
  const writing = Promise.all(
    Array.from({ length: 20 }, async () => {
      const { id } = await owner.create()
      await owner.update(id, { accepted: true })
    }),
  )
  let isOver = false
  const covering = Array.from({ length: 3 }, async () => {
    while (!isOver) await cover()
  })
  await writing
  isOver = true
  await Promise.all(covering)
  await cover()
  expect((await leaves()).map(({ leaf }) => leaf)).toEqual(Array.from({ length: 41 }, (_, index) => index))
  expect((await checkpoints()).at(-1)).toMatchObject({ tree_size: 41 })
  expect((await verified(sql, { account: owner.accountId })).findings).toEqual([])
})

it('when there are more entries than one statement appends, each statement gets a checkpoint, even after a stop', async () => {
  const count = 9000
  await sql`
    insert into log_entries (account_id, consent_id, version, hash)
    select ${owner.accountId}, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, sha256(n::text::bytea)
    from generate_series(1, ${count}::integer) as n`
  const stopped = coverAccount({ sql, signer }, owner.accountId)
  expect(await stopped.next()).toEqual({ done: false, value: 2000 })
  await stopped.return(undefined)
  expect(await cover()).toEqual({ entries: 7001, checkpoints: 4 })
  expect((await checkpoints()).map(({ tree_size }) => tree_size)).toEqual([2000, 4000, 6000, 8000, 9001])
  const findings = async () => {
    const { findings: all } = await verified(sql, { account: owner.accountId })
    return all.filter(({ consent_id }) => consent_id === null).map(({ detail }) => detail)
  }
  expect(await findings()).toEqual([])
  await sql`
    update checkpoints set tiles = substr(tiles, 33) || substr(tiles, 1, 32)
    where account_id = ${owner.accountId} and tree_size = 6000`
  expect(await findings()).toEqual(['the checkpoint of 6000 leaves: its tiles were changed'])
})

it('when a checkpoint was changed, nothing is signed after it, and other accounts are still covered', async () => {
  await owner.create()
  await cover()
  await sql`update checkpoints set frontier = ${Buffer.alloc(32)} where account_id = ${owner.accountId}`
  const other = await newOwner(service)
  await Promise.all([owner.create(), other.create()])
  await expect(cover()).rejects.toThrow(`the log of the account ${owner.accountId}: its last checkpoint was changed`)
  const [row] = await sql`select tree_size from checkpoints where account_id = ${other.accountId}`
  expect(row?.['tree_size']).toBe('2')
  await sql`delete from checkpoints where account_id = ${owner.accountId}`
  await expect(cover()).rejects.toThrow('the checkpoint of 2 leaves, signed by this node, is missing')
  signer = await openSigner(sql, key) // as another node, which has signed nothing of it
  await expect(cover()).rejects.toThrow('the checkpoint of 2 leaves is missing')
  await sql`delete from log_entries where account_id = ${owner.accountId}` // it would be told again after every test
})

it('when a checkpoint is signed by an unpublished key, nothing is signed after it', async () => {
  await owner.create()
  await cover()
  const [row] = await checkpoints()
  const { key_id: _, ...checkpoint } = readCheckpoint(row?.document ?? '').checkpoint
  const replace = (document: string) =>
    sql`update checkpoints set document = ${document} where account_id = ${owner.accountId}`
  await replace(await signerOf(newSigningKey()).sign(checkpoint))
  await owner.create()
  await expect(cover()).rejects.toThrow('its last checkpoint was changed')
  const next = await openSigner(sql, newSigningKey(), { earlier: [key] })
  await replace(await next.sign(checkpoint))
  expect(await cover()).toEqual({ entries: 1, checkpoints: 1 })
})

it('when the service signs with an operator key that is not configured, it generates no other key', async () => {
  const before = await sql`select value from secrets where name = 'signing'`
  await sql`delete from secrets where name = 'signing'`
  await expect(openSigner(sql, null)).rejects.toMatchObject({
    name: 'OperatorError',
    hint: expect.stringContaining('SIGNING_KEY_FILE'),
  })
  expect(await sql`select from secrets where name = 'signing'`).toEqual([])
  await sql`insert into secrets (name, value) values ('signing', ${before[0]?.['value']})`
  await openSigner(sql, null)
})
