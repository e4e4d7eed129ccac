import { execFileSync, spawnSync } from 'node:child_process'
import { createHmac, createPublicKey, hkdfSync, type KeyObject, sign, verify } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { describePack } from '../../../server/packs/describe.ts'
import { documents } from '../../../src/contract/documents/index.ts'
import { describeOrigin } from '../../../src/contract/origin.ts'
import { hashRecord } from '../../../src/evidence/chain.ts'
import { verifyAudit } from '../../../src/evidence/history.ts'
import { listFiles, readPack } from '../../../src/evidence/pack.ts'
import { verifyPack } from '../../../src/evidence/pack-checks.ts'
import { consistencyRanges } from '../../../src/evidence/proofs.ts'
import { noteText, signedNote, tlogProof, verifierKey } from '../../../src/evidence/tlog.ts'
import { runVerifier } from '../../support/verifier.ts'
import { examplePack, examples, pages, pagesFolder, proofOf, rootOf, serviceKey, signedAgain } from './examples.ts'
import { hashLeaf, naiveTree, sha256 } from './rfc9162.ts'

/** The pages in src/evidence against the verifier in Python, which was written from them; what that leaves out is computed here. */

const fixtures = fileURLToPath(new URL('../../fixtures/verifier', import.meta.url))
const block = (name: string) => examples[name] ?? ''

// biome-ignore lint/suspicious/noExplicitAny: JSON of the page
type Json = any

const byte = (value: number) => Buffer.of(value)
const hex = (text: string | null) => Buffer.from(text ?? '', 'hex')

/** JCS: names sorted, everything else as JSON.stringify writes it. */
function jcs(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(jcs).join(',')}]`
  const members = Object.keys(value)
    .sort()
    .map(name => `${JSON.stringify(name)}:${jcs(value[name])}`)
  return `{${members.join(',')}}`
}

const recordHash = (identity: Json, salt: Buffer) => sha256(byte(2), salt, jcs(identity))

const keys = new Map<string, KeyObject>()
const keyId = (x: string) => sha256(jcs({ crv: 'Ed25519', kty: 'OKP', x })).toString('base64url')
for (const { kty, crv, x, kid } of JSON.parse(block('keys')).keys) {
  expect(kid).toBe(keyId(x))
  keys.set(kid, createPublicKey({ key: { kty, crv, x }, format: 'jwk' }))
}
const profileKey = createPublicKey(block('profile key'))
keys.set(keyId(String(profileKey.export({ format: 'jwk' }).x)), profileKey)

/** The document, if its signature is valid. */
function readSigned(text: string): Json {
  const at = text.lastIndexOf('\n', text.length - 2) + 1
  const signature = /^"signature":"([A-Za-z0-9+/]{85}[AQgw]==)"\}\n$/.exec(text.slice(at))?.[1]
  if (!signature || !/^[\n -~]*$/.test(text)) return null
  const document = JSON.parse(text)
  const key = keys.get(document.key_id)
  const message = Buffer.from(text.slice(0, at))
  return key && verify(null, message, key, Buffer.from(signature, 'base64')) ? document : null
}

const history: Json[] = JSON.parse(block('history')).data
const purged: Json[] = JSON.parse(block('purged history')).data
const id: string = history[0].consent_id
/** The entries of the log, whose hashes are the data of the leaves. */
const logged = [sha256(block('publication').trimEnd()), ...purged.map(({ hash }) => hex(hash))]
const tree = naiveTree(index => hashLeaf(logged[index] as Buffer))

it('the program writes every signed example byte for byte', () => {
  const signed = Object.values(examples).filter(text => text.includes('\n"signature":'))
  expect(new Set(signed.map(text => JSON.parse(text).type))).toEqual(new Set(Object.keys(documents)))
  for (const text of [...signed, examplePack.get('checkpoint.json') ?? '']) expect(signedAgain(text)).toBe(text)
})

it('the program writes the example proofs, C2SP notes and receipt origin', () => {
  const proof = JSON.parse(block('inclusion proof'))
  expect(proofOf(id, proof.version, proof.leaf_index, proof.tree_size)).toEqual(proof)
  const { first, second, path } = JSON.parse(block('consistency proof'))
  expect(consistencyRanges(first, second).map(rootOf)).toEqual(path)
  const { account_id, tree_size, root_hash } = JSON.parse(block('checkpoint'))
  const origin = `consentctl/${JSON.parse(block('first statement')).kid}/${account_id}`
  const text = noteText(origin, { size: tree_size, root: hex(root_hash) })
  const publicKey = createPublicKey(serviceKey)
  const note = signedNote(text, origin, publicKey, sign(null, Buffer.from(text), serviceKey))
  expect(block('tlog checkpoint')).toBe(note)
  expect(block('tlog proof')).toBe(tlogProof(proof.leaf_index, proof.path, note))
  expect(block('verifier key')).toBe(`${verifierKey(origin, publicKey)}\n`)
  const { statement, ...told } = JSON.parse(block('origin of a receipt'))
  expect(describeOrigin(told)).toBe(statement)
})

it('the example pack equals what the program writes, and verifies', async () => {
  const files = new Map([...examplePack].map(([name, text]) => [name, Buffer.from(text)]))
  const { files: listed, key_id, created_at } = JSON.parse(block('evidence pack'))
  for (const [name, text] of describePack(readPack(files), { created_at, keyId: key_id, isTruncated: false }))
    expect(examplePack.get(name)).toBe(text)
  expect(listFiles(files)).toEqual(listed)
  const rows = await verifyPack(files)
  expect(rows.filter(({ result }) => result !== 'valid')).toEqual([])
})

it('the script on the first page verifies only the receipt of the pack', () => {
  const [, script = 'exit 1'] = /<!-- by hand -->\n```sh\n([\s\S]*?)```\n/.exec(pages.get('README.md') ?? '') ?? []
  const folder = mkdtempSync(join(tmpdir(), 'consentctl-'))
  const run = () => spawnSync('sh', ['-c', script], { cwd: folder, encoding: 'utf8' })
  try {
    cpSync(join(fixtures, 'example-pack'), folder, { recursive: true })
    const { status, stdout } = run()
    expect([status, stdout.match(/Successfully/g)]).toEqual([0, Array(3).fill('Successfully')])
    expect(stdout).toContain(
      'dated 2026-02-01T09:30:00.000Z - not in the log at 2026-01-31T12:00:00.000Z - in it at 2026-02-01T12:00:00.000Z',
    )
    const receipt = block('consent receipt')
    const path = /"path": \[\s+"([\da-f]{8})/.exec(receipt)?.[1] ?? ''
    for (const [old, other] of [
      ['maria@', 'mario@'],
      [path, '00000000'],
    ] as const) {
      writeFileSync(join(folder, 'receipt.json'), receipt.replace(old, other))
      expect(run().status).not.toBe(0)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it('pages have no line over 140 columns and no dead link', () => {
  const anchorsOf = (page: string) =>
    [...page.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
  for (const [name, page] of pages) {
    const long = page.split('\n').filter(line => [...line].length > 140)
    expect([name, long]).toEqual([name, []])
    for (const [, file = '', anchor] of page.matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)) {
      const target = file === '' ? name : file.replace(/^\.\//, '')
      if (anchor === undefined) expect(existsSync(join(pagesFolder, target)), `${name}: ${file}`).toBe(true)
      else expect(anchorsOf(pages.get(target) ?? ''), `${name}: ${target}#${anchor}`).toContain(anchor)
    }
  }
})

describe('a verifier written from the documentation', () => {
  it.each([
    ['history', history],
    ['purged history', purged],
    ['imported history', JSON.parse(block('imported history')).data],
    ['purged imported history', JSON.parse(block('purged imported history')).data],
  ])('accepts the %s like the program, and no history with one value changed', (_, entries) => {
    expect(verifyAudit(id, entries).result).toBe('ok')
    const others = (entries as Json[]).flatMap((entry, index) => [
      ...Object.entries(entry).map(([name, value]) => entries.with(index, { ...entry, [name]: otherThan(value) })),
      ...(index < entries.length - 1 ? [entries.toSpliced(index, 1)] : []),
    ])
    const lines = [entries, ...others].map(data => `${JSON.stringify({ data })}\n`)
    const said = runVerifier(['--lines'], { input: lines.join('') })
    const [first, ...rest] = said.lines
    expect([said.stderr, first, rest.length]).toEqual(['', expect.stringMatching(/ is valid$/), others.length])
    expect(rest.filter(line => line.endsWith(' is valid'))).toEqual([])
  })

  it('computes the record hash', () => {
    const identity = JSON.parse(block('identity'))
    const [first, last] = [history[0], purged.at(-1)]
    expect(recordHash(identity, hex(first.salt)).toString('hex')).toBe(first.record_hash)
    expect(hashRecord(identity, hex(first.salt)).toString('hex')).toBe(first.record_hash)
    const gone = { consent_id: null, subject_id: null, user_agent: null, ip_network: null, notice_locale: null }
    expect(recordHash({ ...identity, ...gone }, hex(last.salt)).toString('hex')).toBe(last.record_hash)
    const whole = JSON.parse(block('imported identity'))
    const [imported] = JSON.parse(block('imported history')).data
    const purge = JSON.parse(block('purged imported history')).data.at(-1)
    expect(recordHash(whole, hex(imported.salt)).toString('hex'), 'of an imported record').toBe(imported.record_hash)
    const kept = { ...whole, ...gone, origin_id: null, origin_evidence: null }
    expect(recordHash(kept, hex(purge.salt)).toString('hex'), 'of it after a purge').toBe(purge.record_hash)
  })

  it('computes the leaves and the root of the checkpoint', () => {
    const leaves = logged.map(hashLeaf)
    expect(leaves.map((leaf, index) => `${index}  ${leaf.toString('hex')}\n`).join('')).toBe(block('leaves'))
    const { tree_size, root_hash } = readSigned(block('checkpoint'))
    expect(tree.mth(0, tree_size).toString('hex')).toBe(root_hash)
  })

  it('finds the paths of the proofs as the page describes', () => {
    const proof = JSON.parse(block('inclusion proof'))
    const entry = purged.find(({ version }) => version === proof.version)
    expect(proof).toEqual({
      ...{ record_id: entry.consent_id, version: entry.version, tree_size: 4 },
      ...{ leaf_index: logged.findIndex(hash => hash.toString('hex') === entry.hash) },
      leaf_hash: hashLeaf(hex(entry.hash)).toString('hex'),
      root_hash: tree.mth(0, proof.tree_size).toString('hex'),
      path: tree.path(proof.leaf_index, 0, proof.tree_size).map(node => node.toString('hex')),
    })
    const { first, second, path } = JSON.parse(block('consistency proof'))
    expect(path).toEqual(tree.subproof(first, 0, second).map(node => node.toString('hex')))
    expect([first, second, readSigned(block('checkpoint')).tree_size]).toEqual([3, 4, 4])
  })

  it('verifies the note and the proof of C2SP like a witness', () => {
    const [, name = '', id = '', key = ''] = /^([^+]+)\+(\w{8})\+(\S+)\n$/.exec(block('verifier key')) ?? []
    const bytes = Buffer.from(key, 'base64')
    const [, text = '', signer, signature = ''] = /^(.*\n)\n— (\S+) (\S+)\n$/s.exec(block('tlog checkpoint')) ?? []
    expect([signer, bytes[0]]).toEqual([name, 1])
    expect(sha256(`${name}\n`, bytes).toString('hex', 0, 4)).toBe(id)
    const signed = Buffer.from(signature, 'base64')
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url', 1) }
    expect(signed.toString('hex', 0, 4)).toBe(id)
    expect(verify(null, Buffer.from(text), createPublicKey({ key: jwk, format: 'jwk' }), signed.subarray(4))).toBe(true)
    const { account_id, tree_size, root_hash } = readSigned(block('checkpoint'))
    const first = readSigned(block('first statement')).kid
    expect(text).toBe(`consentctl/${first}/${account_id}\n${tree_size}\n${hex(root_hash).toString('base64')}\n`)
    const { leaf_index, path } = JSON.parse(block('inclusion proof'))
    const hashes = path.map((hash: string) => `${hex(hash).toString('base64')}\n`).join('')
    expect(block('tlog proof')).toBe(
      `c2sp.org/tlog-proof@v1\nindex ${leaf_index}\n${hashes}\n${block('tlog checkpoint')}`,
    )
  })

  it('verifies each signed document against its schema, and rejects a changed byte', () => {
    const signed = Object.values(examples).filter(text => text.includes('\n"signature":'))
    const types = signed.map(text => readSigned(text)?.type)
    expect(new Set(types)).toEqual(new Set(Object.keys(documents)))
    for (const text of signed) {
      const { signature: _, ...document } = readSigned(text)
      expect(documents[document.type]?.schema.parse(document)).toEqual(document)
      for (let at = 0; at < text.length; at += 97)
        expect(isValid(`${text.slice(0, at)}${text[at] === '0' ? '1' : '0'}${text.slice(at + 1)}`)).toBe(false)
    }
  })

  it('follows the key chain, and computes the root of its log', () => {
    const texts = ['first statement', 'next statement', 'revocation'].map(block)
    const [first, next, revocation] = texts.map(readSigned)
    const [present, earlier] = JSON.parse(block('keys')).keys
    expect([earlier.statement, present.statement, earlier.revocation]).toEqual(texts)
    for (const { proof, signature: _, ...fields } of [first, next]) {
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: fields.x }, format: 'jwk' })
      expect(verify(null, Buffer.from(jcs(fields)), key, Buffer.from(proof, 'base64'))).toBe(true)
      expect(keyId(fields.x)).toBe(fields.kid)
    }
    expect([first.previous, first.key_id]).toEqual([null, first.kid])
    expect([next.previous, next.key_id, next.kid]).toEqual([first.kid, first.kid, present.kid])
    expect([revocation.kid, revocation.key_id]).toEqual([first.kid, next.kid])
    const { keys_size, keys_root } = readSigned(block('checkpoint'))
    const log = naiveTree(index => hashLeaf(texts[index] ?? ''))
    expect(log.mth(0, keys_size).toString('hex')).toBe(keys_root)
  })

  it('verifies a document with openssl by the commands of the page', () => {
    const folder = mkdtempSync(join(tmpdir(), 'consentctl-'))
    try {
      writeFileSync(join(folder, 'receipt.json'), block('consent receipt'))
      writeFileSync(join(folder, 'key.pem'), JSON.parse(block('keys')).keys[0].pem)
      const [, script = 'exit 1'] = /```sh\n([^`]*)```/.exec(pages.get('keys.md') ?? '') ?? []
      expect(execFileSync('sh', ['-ec', script], { cwd: folder, encoding: 'utf8' })).toContain('Successfully')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('matches the consent receipt with the history', () => {
    const receipt = readSigned(block('consent receipt'))
    const entries = history.slice(0, receipt.record_version)
    expect(receipt.events).toMatchObject(
      entries.map((entry, index) => ({
        event_id: entry.id,
        event_time: entry.created_at,
        event_state: ['dpv:ConsentGiven', 'dpv:ConsentWithdrawn'][index],
        entity_id: entry.actor_id,
        changed_by: entry.changed_by,
        preferences: entry.preferences,
      })),
    )
    expect(receipt).toMatchObject({
      chain_head: entries.at(-1).hash,
      preferences: entries.at(-1).preferences,
      purposes: [
        { purpose: 'analytics', state: 'refused', since: entries[0].created_at },
        { purpose: 'marketing', state: 'withdrawn', since: entries[1].created_at },
      ],
    })
  })

  it('matches the origin of a receipt with the imported history', () => {
    const origin = JSON.parse(block('origin of a receipt'))
    const { origin_system, origin_id, origin_evidence } = JSON.parse(block('imported identity'))
    const entries: Json[] = JSON.parse(block('imported history')).data.filter(
      ({ action }: Json) => action === 'imported',
    )
    const [imported_at] = new Set(entries.map(({ created_at }) => created_at))
    const files = [...new Set(entries.map(({ file_sha256 }) => file_sha256))]
    const statement = `as told by "${origin_system}", imported on ${imported_at}, file SHA-256 ${files.join(', ')}`
    const told = { system: origin_system, id: origin_id, evidence: origin_evidence }
    expect(origin).toEqual({ ...told, imported_at, files, statement })
  })

  it('matches erasure receipts with each other, their certificates and the export', () => {
    const [first, next] = [block('erasure receipt'), block('next erasure receipt')]
    const { certificates, export_sha256, number, subject_hmacs } = readSigned(first)
    expect(certificates).toEqual([block('erasure certificate')])
    expect(readSigned(next).previous).toEqual({ number, sha256: sha256(first).toString('hex') })
    const manifest = readSigned(block('export manifest'))
    const found = {
      sha256: sha256(block('export')).toString('hex'),
      bytes: Buffer.byteLength(block('export')),
    }
    expect(manifest).toMatchObject(found)
    expect(export_sha256).toBe(manifest.sha256)
    const [seed, purpose] = [Buffer.alloc(32, 2), 'consentctl erasure receipt: subject identifiers']
    const key = Buffer.from(hkdfSync('sha256', seed, Buffer.alloc(0), purpose, 32))
    const hmac = createHmac('sha256', key).update('maria@example.com').digest('hex')
    expect(manifest.subject_hmacs).toEqual([hmac])
    expect(subject_hmacs).toEqual([readSigned(block('erasure certificate')).subject_hmac])
  })
})

function isValid(text: string): boolean {
  try {
    return readSigned(text) !== null
  } catch {
    return false
  }
}

function otherThan(value: Json): Json {
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + 1
  if (value === null) return 'ab'
  if (typeof value === 'object') return { ...value, other: true }
  const other = value.replace(/\d/, (digit: string) => String((Number(digit) + 1) % 10))
  return other === value ? `${value}x` : other
}

it('the example entries of administrators have these hashes and form a chain', () => {
  const [first = '', next = ''] = block('administrators').trim().split('\n')
  const hashes = [first, next].map(text => sha256(text).toString('hex'))
  expect(block('administrators hashes')).toBe(`7  ${hashes[0]}\n8  ${hashes[1]}\n`)
  expect(JSON.parse(next)).toMatchObject({ version: JSON.parse(first).version + 1, previous: hashes[0] })
})
