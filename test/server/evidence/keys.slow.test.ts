import type { KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner, revokeKey, type Signer, signerOf } from '../../../server/evidence/signer.ts'
import { tableNames } from '../../../server/transfer/format.ts'
import { keyIdOf, newSigningKey, privatePem, signingKeyOf } from '../../../src/evidence/keys.ts'
import { readSigned } from '../../../src/evidence/signed.ts'
import { useFolder } from '../../support/cli.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { revocationOf, statementOf } from '../../support/key-statements.ts'
import { type TestNode, useService } from '../../support/service.ts'
import { newOwner } from '../consents/records.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
let sql: Sql
/** Kept by the database, so that anyone who writes to it has it too. */
let stored: KeyObject
/** The operator's. */
const own = newSigningKey()
let signer: Signer
let node: TestNode
let accountId: string
let kept: { position: number; document: string }[]
beforeAll(async () => {
  sql = service.sql
  await sql`delete from key_statements`
  const [secret] = await sql<{ value: Buffer }[]>`select value from secrets where name = 'signing'`
  stored = signingKeyOf(secret?.value ?? Buffer.alloc(0))
  await openSigner(sql, null)
  signer = await openSigner(sql, own)
  node = await service.addNode({ signer })
  const owner = await newOwner(service)
  accountId = owner.accountId
  await owner.create()
  await coverAll({ sql, signer })
  kept = await sql`select position, document from key_statements order by position`
})
const shared = new Set(['secrets', 'key_statements', 'verifications'])
beforeEach(async () => {
  await restoreStatements()
  for (const table of tableNames.toReversed().filter(name => !shared.has(name)))
    await sql`delete from ${sql(table)} where account_id <> ${accountId}`
})

const put = (document: string, position = 99) => sql`insert into key_statements values (${position}, ${document})`

async function published(by: Signer = signer): Promise<{ kid: string; statement: string; revocation: string }[]> {
  const asked = by === signer ? node : await service.addNode({ signer: by })
  return (await asked.call('GET', '/.well-known/consent-keys.json')).body.keys
}
const publishedIds = async (by?: Signer) => (await published(by)).map(({ kid }) => kid)
const findings = async () =>
  (await verified(sql, { anchor: keyIdOf(own) })).findings.map(({ problem, detail }) => `${problem}: ${detail}`)

const seedOf = (key: KeyObject) => Buffer.from(String(key.export({ format: 'jwk' }).d), 'base64url')

it('each key is introduced by the previous one, and published on every node', async () => {
  const ids = [own, stored].map(keyIdOf)
  expect(await publishedIds()).toEqual(ids)
  expect(await publishedIds(await openSigner(sql, null))).toEqual(ids.toReversed())
  const [first, second] = kept.map(({ document }) => JSON.parse(document))
  expect(first).toMatchObject({ kid: ids[1], previous: null, key_id: ids[1] })
  expect(second).toMatchObject({ kid: ids[0], previous: ids[1], key_id: ids[1] })
  expect(kept.flatMap(({ document }) => schemaProblems(document))).toEqual([])
  expect((await published()).map(({ statement }) => statement)).toEqual(kept.map(({ document }) => document).reverse())
  expect(await findings()).toEqual([])
})

it('when two nodes start concurrently with a new key, introduce it once, and nodes with the previous key keep signing', async () => {
  const next = newSigningKey()
  const opened = await Promise.all([1, 2].map(() => openSigner(sql, next, { earlier: [own] })))
  expect(await sql`select from key_statements`).toHaveLength(kept.length + 1)
  expect((await publishedIds(opened[0])).slice(0, 1)).toEqual([keyIdOf(next)])
  expect(await publishedIds()).toContain(keyIdOf(next)) // the node that has not been restarted yet
  const owner = await newOwner(service)
  await coverAll({ sql, signer })
  for (const each of [signer, ...opened, await openSigner(sql, own)]) {
    await owner.create()
    expect(await coverAll({ sql, signer: each })).toEqual({ entries: 1, checkpoints: 1 })
  }
  expect(await findings()).toEqual([])
  const third = newSigningKey()
  await expect(openSigner(sql, third, { earlier: [own] })).rejects.toMatchObject({
    name: 'OperatorError',
    hint: expect.stringContaining('SIGNING_KEY_FILE'),
  })
  await openSigner(sql, third, { earlier: [own, next] })
  expect(await findings()).toEqual([])
})

it('when a start with a new key is interrupted at any statement, verification reports nothing', async () => {
  for (let cut = 0, isOpen = false; !isOpen; cut += 1) {
    let count = 0
    const failing = (...args: Parameters<Sql>) => {
      if (count === cut) throw new Error('the power is gone')
      count += 1
      return sql(...args)
    }
    await restoreStatements()
    isOpen = await openSigner(failing as Sql, newSigningKey(), { earlier: [own] }).then(
      () => true,
      () => false,
    )
    expect(await findings(), `after ${cut} statements`).toEqual([])
  }
})

it('a statement about a new key without the current key’s signature has no effect', async () => {
  const next = newSigningKey()
  await put(statementOf(next, next, { previous: keyIdOf(own), key_id: keyIdOf(own), before: kept[1]?.document }))
  expect((await openSigner(sql, next, { earlier: [own] })).keyId).toBe(keyIdOf(next))
  expect(await sql`select from key_statements`).toHaveLength(kept.length + 2)
})

/** Ways to put a key into the log of keys by SQL. */
const evil = newSigningKey()
const accomplice = newSigningKey()
const insertions: [what: string, insert: () => Promise<unknown>][] = [
  ['as the beginning of a chain', async () => put(statementOf(evil, evil))],
  ['as the one that follows the operator’s', async () => put(following())],
  [
    'as the one that follows the operator’s, before it',
    async () => {
      await sql`update key_statements set position = position + 1000`
      await sql`update key_statements set position = position - 998`
      await put(following(), 0)
    },
  ],
  [
    'as the one that follows the operator’s, alone',
    async () => {
      await sql`delete from key_statements`
      await put(following(), 0)
    },
  ],
  [
    'introduced by an accomplice',
    async () => {
      await put(statementOf(accomplice, accomplice), 98)
      await put(statementOf(evil, accomplice))
    },
  ],
  ['introduced by the key that the database keeps', async () => put(statementOf(evil, stored, afterStored()))],
  [
    'introduced by that key, before the operator’s',
    async () => {
      await sql`update key_statements set position = 1000 where position = 1`
      await put(statementOf(evil, stored, afterStored()), 1)
    },
  ],
  [
    'introduced by one that the database’s key introduced',
    async () => {
      const between = statementOf(accomplice, stored, afterStored())
      await put(between, 98)
      await put(statementOf(evil, accomplice, { before: between }))
    },
  ],
  [
    'introduced by the operator’s key, signed by its own',
    async () =>
      put(statementOf(evil, evil, { previous: keyIdOf(own), key_id: keyIdOf(own), before: kept[1]?.document })),
  ],
  [
    'introduced by the operator’s key, by the signature of another statement',
    async () => {
      const forged = statementOf(evil, evil, {
        previous: keyIdOf(own),
        key_id: keyIdOf(own),
        before: kept[1]?.document,
      })
      await put(forged.replace(/"signature".*\n/, /"signature".*\n/.exec(kept[1]?.document ?? '')?.[0] ?? ''))
    },
  ],
  [
    'in the place of the operator’s, without the other’s proof',
    async () => put(statementOf(evil, stored, { ...afterStored(), proof: JSON.parse(kept[1]?.document ?? '').proof })),
  ],
  [
    'as the one before the database’s, by another statement of that one',
    async () => {
      const before = statementOf(evil, evil)
      await sql`update key_statements set position = position + 1000`
      await put(before, 0)
      await put(statementOf(stored, stored, { previous: keyIdOf(evil), before }), 1)
    },
  ],
  ['with the operator’s key revoked', async () => put(revocationOf(own, evil))],
  ['with the operator’s key revoked by the one before it', async () => put(revocationOf(own, stored))],
  [
    'twice in a statement',
    async () => put(statementOf(evil, stored, afterStored()).replace('"kid"', `"kid": "${keyIdOf(own)}",\n  "kid"`)),
  ],
]
const following = () => statementOf(evil, evil, { previous: keyIdOf(own), before: kept[1]?.document })
const afterStored = () => ({ before: kept[0]?.document })

it.each(insertions)('a key that SQL inserted %s is reported, and not published', async (_, insert) => {
  await insert()
  expect((await findings()).join('\n')).toMatch(/^forged: document \d+ of the log of keys has no valid signature/)
  expect(await publishedIds()).not.toContain(keyIdOf(evil))
  const restarted = await openSigner(sql, own).catch(error => error)
  if (restarted instanceof Error) expect(restarted.name).toBe('OperatorError')
  else expect(await publishedIds(restarted)).not.toContain(keyIdOf(evil))
})

it('a checkpoint exposes a key log that was truncated or changed since', async () => {
  await sql`delete from key_statements where position > 0`
  expect((await findings()).join('\n')).toMatch(/which is unknown/)
  await restoreStatements()
  const next = newSigningKey()
  const opened = await openSigner(sql, next, { earlier: [own] })
  const owner = await newOwner(service)
  await owner.create()
  await coverAll({ sql, signer: opened })
  await sql`delete from key_statements where position = 2`
  await owner.create()
  await expect(coverAll({ sql, signer })).rejects.toThrow('its last checkpoint was changed')
})

async function restoreStatements(): Promise<void> {
  await sql`delete from key_statements`
  for (const { position, document } of kept) await put(document, position)
}

describe('a revoked key', () => {
  it('is published with its revocation, expires with it, and signs nothing afterwards', async () => {
    const next = newSigningKey()
    const opened = await openSigner(sql, next, { earlier: [own] })
    await revokeKey(sql, opened, { keyId: keyIdOf(own), reason: 'superseded' })
    const keys = await published(opened)
    const revoked = keys.find(({ kid }) => kid === keyIdOf(own))
    expect(JSON.parse(revoked?.revocation ?? '')).toMatchObject({ type: 'key_revocation', reason: 'superseded' })
    expect(schemaProblems(revoked?.revocation ?? '')).toEqual([])
    await expect(openSigner(sql, own)).rejects.toThrow(`the signing key ${keyIdOf(own)} was revoked at`)
    const owner = await newOwner(service)
    await owner.create()
    await expect(coverAll({ sql, signer })).rejects.toThrow('was revoked at')
    await coverAll({ sql, signer: opened })
    expect((await verified(sql, { anchor: keyIdOf(next) })).findings).toEqual([])
  })

  it('signs no receipt, from a second after its revocation, on a node that was already using it', async () => {
    const next = await openSigner(sql, newSigningKey(), { earlier: [own] })
    const owner = await newOwner(service)
    const { id } = await owner.create()
    await coverAll({ sql, signer })
    const old = await service.addNode({ signer: await openSigner(sql, own) })
    const receipt = () => old.call('GET', `/api/v1/consents/${id}/receipt`, { key: owner.key })
    const erasure = () =>
      old.call('POST', '/api/v1/subjects/erase', { key: owner.key, body: { ids: [id], ...subject } })
    const subject = { subject_id: 'maria@example.com' }
    expect((await receipt()).status).toBe(200)
    await revokeKey(sql, next, { keyId: keyIdOf(own), reason: 'compromised' })
    await delay(1000)
    for (const { status, body } of [await receipt(), await erasure()]) {
      expect([status, body.error]).toEqual([503, 'unavailable'])
      expect(body.message).toContain(`the key ${keyIdOf(own)} of this node was revoked at`)
    }
    expect((await owner.update(id, { accepted: true })).status).toBe(200)
    expect(await coverAll({ sql, signer: next })).toEqual({ entries: 1, checkpoints: 1 }) // goes on from the old key's
  })

  it('when it is lost, a key follows without its signature, and earlier checkpoints still verify', async () => {
    const next = newSigningKey()
    await expect(openSigner(sql, next)).rejects.toMatchObject({
      hint: expect.stringContaining('admin signing-key restart'),
    })
    await expect(openSigner(sql, next, { lost: 'unknown', earlier: [own] })).rejects.toThrow('has no key unknown')
    await sql`delete from secrets where name = 'signing'`
    await put(following())
    await expect(openSigner(sql, next, { lost: keyIdOf(own) })).rejects.toThrow('do not belong to the chain of the key')
    await restoreStatements()
    for (const [lost, message] of [
      [keyIdOf(stored), `is not the newest: that is ${keyIdOf(own)}`],
      ['unknown', 'the log of keys has no key unknown'],
    ] as const)
      await expect(openSigner(sql, next, { lost })).rejects.toThrow(message)
    const opened = await openSigner(sql, next, { lost: keyIdOf(own) })
    await sql`insert into secrets (name, value) values ('signing', ${seedOf(stored)})`
    expect(await publishedIds(opened)).toEqual([next, own, stored].map(keyIdOf))
    expect((await verified(sql, { anchor: keyIdOf(next) })).findings).toEqual([])
  })

  it('must be in the chain, before the key that revokes it', async () => {
    for (const keyId of [keyIdOf(own), 'unknown'])
      await expect(revokeKey(sql, signer, { keyId, reason: 'compromised' })).rejects.toMatchObject({
        name: 'OperatorError',
      })
  })
})

describe('on a machine with a wrong clock', () => {
  afterEach(() => vi.useRealTimers())

  it('statements about keys have the time of the database', async () => {
    const next = newSigningKey()
    const hourMs = 60 * 60_000
    const before = Date.now()
    vi.useFakeTimers({ toFake: ['Date'], now: before + 24 * hourMs })
    const opened = await openSigner(sql, next, { earlier: [own] })
    const [statement] = await published(opened)
    const revocation = JSON.parse(await revokeKey(sql, opened, { keyId: keyIdOf(own), reason: 'superseded' }))
    for (const at of [JSON.parse(statement?.statement ?? '').not_before, revocation.revoked_at])
      expect(Math.abs(Date.parse(at) - before)).toBeLessThan(hourMs)
  })
})

describe('SIGNING_COMMAND', () => {
  const folder = useFolder()
  const script = (text: string) => {
    const file = join(folder.path, 'sign.sh')
    writeFileSync(file, text)
    return `sh ${file} "$1"`
  }
  const document = { type: 'consent_receipt', version: 1 }
  const key = newSigningKey()
  const publicKey = signerOf(key).publicKey

  it('signs with openssl, as it would with a hardware token', async () => {
    const pem = join(folder.path, 'key.pem')
    writeFileSync(pem, privatePem(key))
    const command = script(`
      cat > "$0.message.$$"
      openssl pkeyutl -sign -rawin -inkey ${pem} -in "$0.message.$$"
      rm "$0.message.$$"`)
    const text = await signerOf(publicKey, { command }).sign(document)
    expect(readSigned(Buffer.from(text)).isSignedBy(publicKey)).toBe(true)
    expect(text).toBe(await signerOf(key).sign(document))
    const opened = await openSigner(sql, publicKey, { earlier: [own], command })
    expect((await publishedIds(opened))[0]).toBe(keyIdOf(key))
  })

  it.each<[string, string, RegExp]>([
    ['fails', 'exit 3', /ended with the code 3/],
    ['does not exist', 'exec /nonexistent/command', /ended with the code 127/],
    ['hangs', 'sleep 100 & sleep 100', /took more than 300 ms/],
    ['signs nothing', 'cat > /dev/null', /wrote 0 bytes that are not a signature/],
    ['signs wrongly', 'head -c 64 /dev/zero', /wrote 64 bytes that are not a signature/],
    ['writes more than a signature', 'cat /dev/zero', /wrote more than a signature/],
    ['writes base64', 'printf "%086d==" 0', /wrote 88 bytes that are not a signature/],
  ])('when the command %s, nothing is signed, and the error states why', async (_, text, reason) => {
    await expect(signerOf(publicKey, { command: script(text) }).sign(document, 300)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(reason),
    })
  })

  it('when the command does not sign, an erasure deletes nothing; when it is slow, deletes everything', async () => {
    const owner = await newOwner(service)
    const subject_id = 'maria@example.com'
    const { id } = await owner.create({ subject_id })
    const erase = async (command: string) => {
      const node = await service.addNode({ signer: signerOf(publicKey, { command }) })
      return await node.call('POST', '/api/v1/subjects/erase', { key: owner.key, body: { subject_id } })
    }
    const { status, body } = await erase(script('exit 7'))
    expect([status, body.error]).toEqual([503, 'unavailable'])
    expect(body.message).toContain('SIGNING_COMMAND ended with the code 7')
    expect((await owner.get(id)).status).toBe(200)
    const pem = join(folder.path, 'key.pem')
    writeFileSync(pem, privatePem(key))
    const slow = script(`
      sleep 0.2; cat > "$0.message.$$"
      openssl pkeyutl -sign -rawin -inkey ${pem} -in "$0.message.$$"`)
    expect((await erase(slow)).body).toMatchObject({ erased: 1, certificate: expect.any(String) })
  })
})
