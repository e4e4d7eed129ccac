import { spawnSync } from 'node:child_process'
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner, type Signer, signerOf } from '../../../server/evidence/signer.ts'
import { newSigningKey, privatePem } from '../../../src/evidence/keys.ts'
import { rootOfInclusion } from '../../../src/evidence/proofs.ts'
import { readCheckpoint } from '../../../src/evidence/signed.ts'
import { hashLeaf, sha256 } from '../../src/evidence/rfc9162.ts'
import { useFolder } from '../../support/cli.ts'
import { useService } from '../../support/service.ts'
import { hasVerifier, python } from '../../support/verifier.ts'
import { newOwner, type Owner } from '../consents/records.ts'

const service = useService()
const folder = useFolder()
let [sql, signer, owner] = [] as unknown as [Sql, Signer, Owner]
let id: string
/** The sizes of both checkpoints. */
let [first, last] = [0, 0]
beforeAll(async () => {
  sql = service.sql
  signer = await openSigner(sql, null)
  owner = await newOwner(service)
  id = (await owner.create({ accepted: true })).id
  await owner.update(id, { accepted: false })
  await coverAll({ sql, signer })
  for (let index = 0; index < 4; index += 1) await owner.create()
  await owner.update(id, { accepted: true })
  await coverAll({ sql, signer })
  const sizes = await sql<{ size: number }[]>`
    select tree_size::float8 as size from checkpoints where account_id = ${owner.accountId} order by 1`
  ;[first = 0, last = 0] = sizes.map(({ size }) => size)
})

const get = (path: string, { key } = owner) => service.call('GET', `/api/v1/log/${path}`, { key })

/** Reads a signed note by c2sp.org/signed-note. */
function openNote(note: string, vkey: string): string[] {
  const [, name = '', keyId, key = ''] = /^([^+\s]+)\+([\da-f]{8})\+(.+)$/.exec(vkey) ?? []
  const data = Buffer.from(key, 'base64')
  expect([data[0], data.length]).toEqual([1, 33])
  expect(sha256(`${name}\n`, data).toString('hex', 0, 4)).toBe(keyId)
  const [, text = '', by, signature = ''] = /^(.*\n)\n— (\S+) (\S+)\n$/s.exec(note) ?? []
  const bytes = Buffer.from(signature, 'base64')
  expect([by, bytes.toString('hex', 0, 4), bytes.length]).toEqual([name, keyId, 68])
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: data.subarray(1).toString('base64url') }
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
  expect(verify(null, Buffer.from(text), publicKey, bytes.subarray(4))).toBe(true)
  return text.split('\n')
}

const script = fileURLToPath(new URL('../../fixtures/verifier/tlog.py', import.meta.url))

/** Verifies with Python and openssl; null if they are not there. */
function check(vkey: string, text: string, entry = ''): string | null {
  if (!hasVerifier) return null
  const file = join(folder.path, 'text')
  writeFileSync(file, text)
  const { stdout, stderr } = spawnSync(python, [script, vkey, file, entry], { encoding: 'utf8' })
  return stdout + stderr
}

describe('GET /api/v1/log/tlog-checkpoint', () => {
  it('› 200 › returns a note with the checkpoint’s size and root, signed by the service’s key', async () => {
    const { status, text, headers } = await get('tlog-checkpoint')
    const vkey = String(headers['verifier-key'])
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
    const { checkpoint } = readCheckpoint((await get('checkpoint')).text)
    expect(openNote(text, vkey)).toEqual([
      `consentctl/${signer.keyId}/${owner.accountId}`,
      String(last),
      Buffer.from(checkpoint.root_hash, 'hex').toString('base64'),
      '',
    ])
    expect((await get('tlog-checkpoint')).text).toBe(text)
    const earlier = await get(`tlog-checkpoint?tree_size=${first}`)
    expect(openNote(earlier.text, vkey)[1]).toBe(String(first))
    expect(check(vkey, text) ?? `checkpoint of ${last}\n`).toBe(`checkpoint of ${last}\n`)
  })

  it('› 404 › is returned for a size without a checkpoint', async () => {
    expect((await get(`tlog-checkpoint?tree_size=${first + 1}`)).status).toBe(404)
    expect((await get('tlog-checkpoint', await newOwner(service))).status).toBe(404)
  })

  it('keeps its origin when the key changes, also when a command signs', async () => {
    const key = newSigningKey()
    const file = join(folder.path, 'key.mjs')
    writeFileSync(file, signWith(key))
    const before = await get('tlog-checkpoint')
    const command = `'${process.execPath}' '${file}'`
    const introduced = await openSigner(sql, createPublicKey(key), { command })
    expect(introduced.keyId).not.toBe(signer.keyId)
    const node = await service.addNode({ signer: introduced })
    const after = await node.call('GET', '/api/v1/log/tlog-checkpoint', { key: owner.key })
    const vkey = String(after.headers['verifier-key'])
    expect(vkey).not.toBe(before.headers['verifier-key'])
    expect(openNote(after.text, vkey).slice(0, 3)).toEqual(before.text.split('\n').slice(0, 3))
  })

  it.each<[string, (document: string) => Promise<string>, string]>([
    ['another root', async document => document.replace(/(?<="root_hash": ")\w{4}/, '0000'), 'is not what was signed'],
    ['a signature by a key that is not in the chain', forge, 'which is unknown'],
  ])('› 500 › signs nothing if the checkpoint has %s, and reports it', async (_, change, problem) => {
    const other = await newOwner(service)
    await other.create()
    await coverAll({ sql, signer })
    const [row] = await sql`select document from checkpoints where account_id = ${other.accountId}`
    await sql`
      update checkpoints set document = ${await change(row?.['document'])} where account_id = ${other.accountId}`
    const { status, text } = await get('tlog-checkpoint', other)
    expect([status, text]).toEqual([500, expect.not.stringContaining('—')])
    expect(text).toContain(problem)
    expect((await get('tlog-proof?leaf_index=0', other)).status).toBe(500)
  })

  it('› 500 › signs nothing if the root in the columns differs from the document', async () => {
    const other = await newOwner(service)
    await other.create()
    await coverAll({ sql, signer })
    await sql`
      update log_entries set hash = ${Buffer.alloc(32)} where account_id = ${other.accountId}`
    await sql`
      update checkpoints set root_hash = ${sha256(Buffer.alloc(33))} where account_id = ${other.accountId}`
    expect((await get('tlog-proof?leaf_index=0', other)).status).toBe(500)
  })
})

/** A program that signs its standard input. */
function signWith(key: KeyObject): string {
  return `
    import { sign } from 'node:crypto'
    import { readFileSync } from 'node:fs'
    process.stdout.write(sign(null, readFileSync(0), ${JSON.stringify(privatePem(key))}))`
}

/** A checkpoint as an attacker without the service's key would sign it. */
async function forge(document: string): Promise<string> {
  const { key_id: _, ...checkpoint } = readCheckpoint(document).checkpoint
  return await signerOf(newSigningKey()).sign(checkpoint)
}

describe('GET /api/v1/log/tlog-proof', () => {
  it.each([
    ['the newest entry of a record', () => '', 3],
    ['one of its versions', () => '&version=1', 1],
    ['its newest in a smaller tree', () => `&tree_size=${first}`, 2],
  ])('› 200 › proves %s', async (_, query, version) => {
    const { text, status, headers } = await get(`tlog-proof?record_id=${id}${query()}`)
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
    const vkey = String((await get('tlog-checkpoint')).headers['verifier-key'])
    const [, index = '', lines = '', note = ''] =
      /^c2sp\.org\/tlog-proof@v1\nindex (\d+)\n((?:\S+\n)*)\n(.*)$/s.exec(text) ?? []
    const [, size = '', root = ''] = openNote(note, vkey)
    const hash = Buffer.from((await owner.history(id)).body.data[version - 1].hash, 'hex')
    const path = lines.split('\n').flatMap(line => (line === '' ? [] : Buffer.from(line, 'base64')))
    const proof = { leafHash: hashLeaf(hash), index: Number(index), size: Number(size), path }
    expect(rootOfInclusion(proof)?.toString('base64')).toBe(root)
    const valid = `entry ${index} of ${size}\n`
    expect(check(vkey, text, hash.toString('hex')) ?? valid).toBe(valid)
    const other = sha256(hash).toString('hex')
    expect(check(vkey, text, other) ?? 'not valid: the proof\n').toBe('not valid: the proof\n')
    const changed = text.replace(/\n\d+\n([^\n]+\n\n—)/, '\n1\n$1')
    expect(check(vkey, changed, hash.toString('hex')) ?? 'the signature').toContain('the signature')
  })

  it.each([
    ['a size that no checkpoint has', () => `leaf_index=0&tree_size=${first + 1}`, 404],
    ['a leaf outside of the tree', () => `leaf_index=${first}&tree_size=${first}`, 404],
    ['an unknown record', () => `record_id=${crypto.randomUUID()}`, 404],
    ['no entry', () => `tree_size=${first}`, 400],
  ])('› returns %s', async (_, query, status) => {
    expect((await get(`tlog-proof?${query()}`)).status).toBe(status)
  })
})

describe('GET /api/v1/log/checkpoint › tree_size and timestamped', () => {
  it('select an earlier checkpoint, and one that has a timestamp', async () => {
    expect(readCheckpoint((await get(`checkpoint?tree_size=${first}`)).text).checkpoint.tree_size).toBe(first)
    expect((await get(`checkpoint?tree_size=${first + 1}`)).status).toBe(404)
    expect((await get('checkpoint?timestamped=true')).status).toBe(404)
    expect((await get('timestamp')).status).toBe(404)
    const token = Buffer.from([0x30, 0xff, 0x00])
    await sql`
      insert into timestamp_tokens (account_id, tree_size, position, token, created_at)
      values (${owner.accountId}, ${first}, 1, ${token}, now())`
    expect(readCheckpoint((await get('checkpoint?timestamped=true')).text).checkpoint.tree_size).toBe(first)
    expect((await get(`checkpoint?tree_size=${last}&timestamped=true`)).status).toBe(404)
    const { status, headers } = await get(`timestamp?tree_size=${first}`)
    expect([status, headers['content-type'], headers['content-length']]).toEqual([
      ...[200, 'application/timestamp-reply', '3'],
    ])
    expect((await get(`timestamp?tree_size=${last}`)).status).toBe(404)
    expect((await get('timestamp', await newOwner(service))).status).toBe(404)
  })
})
