import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { wholeAccount } from '../../../server/db/reach.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { getConsistency, getInclusion } from '../../../server/evidence/proofs.ts'
import { openSigner, type Signer } from '../../../server/evidence/signer.ts'
import { isConsistent, rootOfInclusion } from '../../../src/evidence/proofs.ts'
import { readCheckpoint } from '../../../src/evidence/signed.ts'
import { hashLeaf, naiveTree, sha256 } from '../../src/evidence/rfc9162.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner } from '../consents/records.ts'

const service = useService()
let [sql, signer, owner] = [] as unknown as [Sql, Signer, Owner]
let id: string
beforeAll(async () => {
  sql = service.sql
  signer = await openSigner(sql, null)
  owner = await newOwner(service)
  id = (await owner.create({ accepted: true })).id
  await owner.update(id, { accepted: false })
  await coverAll({ sql, signer })
  await owner.create()
  await owner.update(id, { accepted: true })
  await coverAll({ sql, signer })
})

const get = (path: string, { key } = owner) => service.call('GET', `/api/v1/log/${path}`, { key })

describe('GET /api/v1/log/checkpoint', () => {
  it('› 200 › returns the newest checkpoint, byte for byte', async () => {
    const { text, headers, status } = await get('checkpoint')
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
    const { checkpoint, isSignedBy } = readCheckpoint(text)
    expect(isSignedBy(signer.publicKey)).toBe(true)
    expect(checkpoint).toMatchObject({ account_id: owner.accountId, tree_size: 5 })
  })

  it('› 404 › states that the proof does not exist yet', async () => {
    const { status, body } = await get('checkpoint', await newOwner(service))
    expect([status, body.error]).toEqual([404, 'not_found'])
  })
})

describe('POST /api/v1/log/checkpoint', () => {
  it('› 200 › covers new entries, and adds no checkpoint within a second of the last', async () => {
    const another = await newOwner(service)
    await another.create()
    const post = async () => {
      const { status, text } = await service.call('POST', '/api/v1/log/checkpoint', { key: another.key })
      return status === 200 ? readCheckpoint(text).checkpoint.tree_size : status
    }
    const size = await post()
    await another.create()
    expect(await post()).toBe(size)
    await sql`update checkpoints set created_at = ${new Date(Date.now() - 1000)} where account_id = ${another.accountId}`
    expect([await post(), await post()]).toEqual([size + 1, size + 1])
  })
})

describe('GET /api/v1/log/inclusion', () => {
  it.each<[string, () => string, object]>([
    ['the newest entry of a record', () => `record_id=${id}`, { version: 3, tree_size: 5 }],
    ['one of its versions', () => `record_id=${id}&version=1`, { version: 1, leaf_index: 0, tree_size: 5 }],
    ['its newest in a smaller tree', () => `record_id=${id.toUpperCase()}&tree_size=3`, { version: 2, leaf_index: 1 }],
    ['a leaf', () => 'leaf_index=0', { version: 1, leaf_index: 0 }],
  ])('› 200 › proves %s under a checkpoint', async (_, query, expected) => {
    const { status, body } = await get(`inclusion?${query()}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ record_id: id, ...expected })
    const { data } = (await owner.history(id)).body
    const path = body.path.map((node: string) => Buffer.from(node, 'hex'))
    const hash = Buffer.from(data[body.version - 1].hash, 'hex')
    const leaf = hashLeaf(hash)
    expect(leaf.toString('hex')).toBe(body.leaf_hash)
    const root = rootOfInclusion({ leafHash: leaf, index: body.leaf_index, size: body.tree_size, path })
    const [row] = await sql`
      select root_hash from checkpoints where account_id = ${owner.accountId} and tree_size = ${body.tree_size}`
    expect(root).toEqual(row?.['root_hash'])
    expect(body.root_hash).toBe(root?.toString('hex'))
  })

  it('› 404 › responds identically for a foreign, an unknown and an uncovered entry', async () => {
    const other = await newOwner(service)
    const [record, later] = [await other.create(), await owner.create()]
    const missing = [record.id, later.id, crypto.randomUUID()].map(one => `record_id=${one}`)
    missing.push(`record_id=${id}&leaf_index=4`)
    const queries = [...missing, `record_id=${id}&version=4`, 'leaf_index=5', `record_id=${id}&tree_size=6`]
    const answers = await Promise.all(queries.map(query => get(`inclusion?${query}`)))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(404)
  })

  it.each(['', 'version=1', 'leaf_index=-1', 'leaf_index=0&tree_size=0', 'record_id=1'])(
    '› 400 › rejects ?%s',
    async query => {
      expect((await get(`inclusion?${query}`)).status).toBe(400)
    },
  )
})

describe('GET /api/v1/log/consistency', () => {
  it('› 200 › proves that the log only grew, by default to the newest size', async () => {
    const { status, body } = await get('consistency?first=3')
    expect([status, body.first, body.second]).toEqual([200, 3, 5])
    const [first, second] = await sql<{ size: number; root: Buffer }[]>`
      select tree_size::float8 as size, root_hash as root from checkpoints
      where account_id = ${owner.accountId} order by tree_size`
    const path = body.path.map((node: string) => Buffer.from(node, 'hex'))
    expect(first && second && isConsistent({ first, second, path })).toBe(true)
    expect((await get('consistency?first=5&second=5')).body.path).toEqual([])
  })

  it('› 404, 400 › rejects sizes that the log does not have', async () => {
    for (const [query, status] of [
      ['first=6', 404],
      ['first=3&second=2', 404],
      ['first=0', 400],
      ['', 400],
    ] as const)
      expect([query, (await get(`consistency?${query}`)).status]).toEqual([query, status])
  })
})

describe('GET /api/v1/log/… › 500', () => {
  it('returns no proof from a log that was changed', async () => {
    const victim = await newOwner(service)
    for (let count = 0; count < 3; count += 1) await victim.create()
    await coverAll({ sql, signer })
    await sql`update log_entries set hash = sha256('x') where account_id = ${victim.accountId} and leaf_index = 1`
    for (const query of ['leaf_index=0', 'leaf_index=1'])
      expect((await get(`inclusion?${query}`, victim)).body.error).toBe('internal_error')
    await sql`delete from log_entries where account_id = ${victim.accountId} and leaf_index = 1`
    expect((await get('inclusion?leaf_index=0', victim)).status).toBe(500)
  })
})

/** Leaves of the log of the property test; a million by hand. */
const leaves = Number(process.env['CONSENTCTL_TEST_LEAVES'] ?? 3000)
const proofs = Number(process.env['CONSENTCTL_TEST_PROOFS'] ?? 100)

describe(`a log of ${leaves} leaves with checkpoints at random sizes`, () => {
  it('returns proofs for random leaves and pairs of sizes that match the roots of a naive tree', async () => {
    const { accountId } = await newOwner(service)
    await sql`delete from log_entries where account_id = ${accountId}`
    const sizes: number[] = []
    let next = 0
    while (next < leaves) {
      const count = Math.min(leaves - next, Math.floor(2000 ** Math.random())) // as often 1 to 10 as 200 to 2000
      await sql`
        insert into log_entries (account_id, consent_id, version, hash)
        select ${accountId}, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 1, sha256(n::text::bytea)
        from generate_series(${next}::integer, ${next + count - 1}::integer) as n`
      await coverAll({ sql, signer })
      next += count
      sizes.push(next)
    }
    const tree = naiveTree(index => hashLeaf(sha256(String(index))))
    const rootOf = (size: number) => tree.mth(0, size)
    const [stored] = await sql<{ tiles: Buffer }[]>`
      select string_agg(tiles, '' order by tree_size) as tiles from checkpoints where account_id = ${accountId}`
    const tiles = Array.from({ length: Math.floor(leaves / 256) }, (_, tile) => tree.mth(tile * 256, (tile + 1) * 256))
    expect(stored?.tiles.equals(Buffer.concat(tiles))).toBe(true)
    const times: number[] = []
    for (let proof = 0; proof < proofs; proof += 1) {
      const [first = 1, second = 1] = [randomSize(), randomSize()].sort((a, b) => a - b)
      const size = proof % 2 === 0 ? leaves : second
      const index = Math.floor(Math.random() * size)
      const start = performance.now()
      const query = { leaf_index: index, tree_size: size }
      const inclusion = await getInclusion({ sql }, wholeAccount(accountId), query)
      const { path } = await getConsistency({ sql }, accountId, { first, second })
      times.push(performance.now() - start)
      expect(inclusion.root_hash).toBe(rootOf(size).toString('hex'))
      if (leaves > 10_000 && proof > 5) continue
      const nodes = path.map(node => Buffer.from(node, 'hex'))
      const sides = { first: { size: first, root: rootOf(first) }, second: { size: second, root: rootOf(second) } }
      expect(isConsistent({ ...sides, path: nodes }), `${first} of ${second}`).toBe(true)
    }
    function randomSize(): number {
      return 1 + Math.floor(Math.random() * leaves)
    }
    times.sort((one, other) => one - other)
    if (leaves > 10_000)
      process.stderr.write(`two proofs: median ${times[proofs >> 1]} ms, longest ${times.at(-1)} ms\n`)
  }, 3_600_000)
})
