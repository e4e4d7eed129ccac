import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AuditEntry, History } from '../../../src/contract/index.ts'
import type { Action } from '../../../src/evidence/chain.ts'
import { verifyAudit } from '../../../src/evidence/history.ts'
import { keyIdOf, publicBytes, publicPem, signingKeyOf } from '../../../src/evidence/keys.ts'
import { MerkleTree } from '../../../src/evidence/merkle.ts'
import { consistencyRanges } from '../../../src/evidence/proofs.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { randomFrom } from '../../e2e/campaign.ts'
import { revocationOf, statementOf } from '../../support/key-statements.ts'
import { hasVerifier, runVerifier } from '../../support/verifier.ts'
import { circumstancesOf, historyWith, id, importedFacts } from './chains.ts'
import {
  eventsOf,
  examplePack,
  examples,
  importedReceipt,
  purgeReceipt,
  purposesOf,
  sealed,
  signedAgain,
} from './examples.ts'
import { type Below, newHistory, preferences } from './histories.ts'

/** The verifier in Python, which was written from the pages in src/evidence, against documents of the program. */

const histories = Number(process.env['CONSENTCTL_TEST_HISTORIES'] ?? 500)
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000_000)
const serviceKey = signingKeyOf(Buffer.alloc(32, 1))
type Key = typeof serviceKey

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'consentctl-'))
  for (const [name, text] of Object.entries(examples)) put(name, text)
})
afterAll(() => rmSync(folder, { recursive: true }))

const put = (name: string, text: string) => writeFileSync(join(folder, name), text)
function verify(files: readonly string[], input = '', keys = 'keys') {
  const more = input === '' ? [] : ['--lines']
  return runVerifier(['--keys', keys, '--profile-key', 'profile key', ...more, ...files], { cwd: folder, input })
}
const isValid = (line: string) => line.endsWith(' is valid')

describe.skipIf(!hasVerifier)('Python verifier', () => {
  it('verifies the examples on the page, and related ones against each other', () => {
    put('export.manifest.json', examples['export manifest'] ?? '')
    const signed = Object.keys(examples).filter(
      name => examples[name]?.includes('\n"signature":"') && name !== 'export manifest',
    )
    const { status, lines, stderr } = verify([...signed, 'history', 'export.manifest.json'])
    expect([status, stderr, lines.filter(line => !isValid(line))]).toEqual([0, '', []])
    expect(lines).toHaveLength(signed.length + 2)
    for (const other of Object.keys(examples).filter(name => name.includes('history') && name !== 'history'))
      expect(verify([other])).toEqual({ status: 0, lines: [`${other}: history is valid`], stderr: '' })
    expect(verify(['consent receipt', 'purged history']).status).toBe(0)
  })

  it('accepts a receipt of an imported record, and rejects one with a different import', () => {
    const { signature: _, ...receipt } = JSON.parse(importedReceipt)
    const [first, ...rest] = receipt.events
    const forge = (changes: object) => signDocument({ ...receipt, ...changes } as never, serviceKey)
    const origin = (changes: object) => forge({ origin: { ...receipt.origin, ...changes } })
    const forged = {
      'of another file': origin({
        files: ['0'.repeat(64)],
        statement: receipt.origin.statement.replace(/\w+$/, '0'.repeat(64)),
      }),
      'of other words': origin({ statement: receipt.origin.statement.replace('as told', 'as seen') }),
      'of another time of import': origin({ imported_at: '2026-01-30T09:30:00.000Z' }),
      'with another answer': forge({ events: [{ ...first, given_at: '2021-05-03T08:15:00.001Z' }, ...rest] }),
      'with circumstances': forge({ events: [{ ...first, circumstances: { method: 'paper' } }, ...rest] }),
      'with empty circumstances': forge({ events: [{ ...first, circumstances: {} }, ...rest] }),
      'with a signal': forge({ events: [{ ...first, gpc: true }, ...rest] }),
      'without origin': forge({ origin: null }),
      'of a record of ours': forge({
        origin: null,
        events: receipt.events.map((each: object) => ({ ...each, given_at: null })),
      }),
    }
    put('imported receipt', importedReceipt)
    for (const [name, text] of Object.entries(forged)) put(name, text)
    expect(verify(['imported receipt', 'imported history'])).toMatchObject({ status: 0, stderr: '' })
    expect(verify(['imported receipt', 'purged imported history']).status).toBe(0)
    const { lines, stderr } = verify([...Object.keys(forged), 'imported history'])
    expect([stderr, lines.filter(isValid)]).toEqual(['', ['imported history: history is valid']])
  })

  it('accepts a receipt with circumstances, also after a purge, and rejects one with others', () => {
    const make = (...actions: Action[]) =>
      historyWith(actions, undefined, undefined, index =>
        index < 2 ? { circumstances: circumstancesOf(index) } : undefined,
      )
    const live = make('created', 'updated')
    const receiptOf = (change: (circumstances: object) => object) =>
      signedAgain(examples['consent receipt'] ?? '', ({ privacy_notice: { site_id } }) => {
        const [first, ...rest] = eventsOf(live)
        return {
          ...{ record_id: id, consent_id: null, country: null, region: null, preferences: live[1]?.preferences },
          privacy_notice: { site_id, policy_version: 3, locale: null, notice: 'not held' },
          events: [{ ...first, circumstances: change(first?.circumstances ?? {}) }, ...rest],
          ...{ purposes: purposesOf(live), consent_status: rest[0]?.event_state, expires_at: null },
          ...{ record_version: 2, chain_head: live[1]?.hash, inclusion: null, origin: null },
          ...{ newer_answers: [], issued_at: '2026-02-03T09:30:00.000Z' },
        }
      })
    put('live', JSON.stringify({ data: live }))
    put('purged', JSON.stringify({ data: make('created', 'updated', 'deleted', 'purged') }))
    put(
      'told',
      receiptOf(told => told),
    )
    expect(['live', 'purged'].map(name => verify(['told', name]).status)).toEqual([0, 0])
    put(
      'told',
      receiptOf(told => ({ ...told, note: 'another' })),
    )
    expect(['live', 'purged'].map(name => verify(['told', name]).status)).toEqual([1, 0])
    put(
      'told',
      receiptOf(told => ({ ...told, form: 'another' })),
    )
    expect(['live', 'purged'].map(name => verify(['told', name]).status)).toEqual([1, 1])
  })

  it('accepts the receipt of a purge, and rejects one that differs from its certificates', () => {
    const said =
      'personal data of 1 record purged by 2026-02-03T09:30:00.000Z, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered'
    const good = purgeReceipt(said)
    const { purge } = JSON.parse(good)
    const forged = { ...purge, certificates: [purge.certificates[0].replace('T09:30:00', 'T09:30:09')] }
    const bad = [
      purgeReceipt('logically deleted; personal data to be purged after 30 days'),
      purgeReceipt(said.replace('1 record', '2 records')),
      purgeReceipt(said.replace('09:30:00', '09:30:01')),
      purgeReceipt(said, { purge: undefined }),
      purgeReceipt(said, { purge: forged }),
    ]
    for (const [index, text] of [good, ...bad].entries()) put(`purge ${index}`, text)
    const { lines, stderr } = verify([0, 1, 2, 3, 4, 5].map(index => `purge ${index}`))
    expect([stderr, lines.map(isValid)]).toEqual(['', [true, false, false, false, false, false]])
  })

  it('rejects documents with a changed character', () => {
    const text = examples['consent receipt'] ?? ''
    const damaged = Array.from({ length: 40 }, (_, index) => {
      const at = Math.floor((index * text.length) / 40)
      put(`damaged ${index}`, `${text.slice(0, at)}${text[at] === '0' ? '1' : '0'}${text.slice(at + 1)}`)
      return `damaged ${index}`
    })
    put('binary', '\u0000\u00ff{"data":[{}]}')
    const refused = verify([...damaged, 'binary', 'nowhere', 'identity', 'leaves', 'profile key'])
    expect(refused).toMatchObject({ status: 1, stderr: '' })
    expect(refused.lines.filter(isValid)).toEqual([])
    expect(refused.lines).toHaveLength(45)
  })

  it('trusts only keys of a set that chain to its first one at their time and are not revoked', () => {
    const [stranger, earlier] = [9, 4].map(byte => signingKeyOf(Buffer.alloc(32, byte))) as [Key, Key]
    const set = JSON.parse(examples['keys'] ?? '')
    const x = publicBytes(stranger).toString('base64url')
    const forged = { kty: 'OKP', crv: 'Ed25519', x, kid: keyIdOf(stranger), pem: publicPem(stranger) }
    const { signature: _, ...checkpoint } = JSON.parse(examples['checkpoint'] ?? '')
    const signedAt = (created_at: string, key: Key) =>
      signDocument({ ...checkpoint, created_at, key_id: keyIdOf(key) }, key)
    const files = {
      'by the stranger': signedAt('2026-02-01T00:00:00.000Z', stranger),
      'by the earlier key': signedAt('2026-01-30T13:00:00.000Z', earlier),
      'after its revocation': signedAt('2026-01-30T13:00:00.001Z', earlier),
      'before its time': signedAt('2026-01-30T11:59:59.999Z', serviceKey),
    }
    for (const [name, text] of Object.entries(files)) put(name, text)
    const refusals = (revocation: string) => {
      const keys = [
        set.keys[0],
        { ...set.keys[1], revocation },
        { ...forged, statement: statementOf(stranger, earlier) },
      ]
      put('forged keys', JSON.stringify({ keys }))
      const { status, lines } = verify(Object.keys(files), '', 'forged keys')
      return [status, ...lines.filter(line => !isValid(line)).map(line => line.split(':')[0])]
    }
    const [first, ...others] = ['by the earlier key', 'by the stranger', 'after its revocation', 'before its time']
    expect(refusals(set.keys[1].revocation)).toEqual([1, ...others])
    expect(refusals(revocationOf(earlier, serviceKey))).toEqual([1, others[0], first, ...others.slice(1)])
    expect(refusals(revocationOf(earlier, earlier))).toEqual([1, others[0], others[2]])
    const before = statementOf(stranger, stranger)
    const other = statementOf(earlier, earlier, { previous: keyIdOf(stranger), before })
    const revoked = { ...set.keys[1], statement: other, revocation: revocationOf(earlier, serviceKey) }
    put('keys', JSON.stringify({ keys: [set.keys[0], revoked, { ...forged, statement: before }] }))
    expect(verify(['by the stranger'], '', 'keys')).toMatchObject({ status: 1 })
    put('keys of another x', JSON.stringify({ keys: [{ ...set.keys[0], x }] }))
    expect(verify(['checkpoint'], '', 'keys of another x')).toMatchObject({ status: 1, stderr: '' })
  })

  const valid = 'evidence pack is valid'
  it('rejects packs and documents in an undocumented form', () => {
    const packs: string[] = []
    const pack = (name: string, change: (files: Map<string, string>) => unknown) => {
      const files = new Map([...examplePack].filter(([file]) => file !== 'pack.json'))
      change(files)
      expect(Object.fromEntries(files), name).not.toEqual(Object.fromEntries(examplePack))
      for (const [file, text] of sealed(files)) {
        mkdirSync(dirname(join(folder, name, file)), { recursive: true })
        put(join(name, file), text)
      }
      packs.push(name)
    }
    const edit = (file: string, old: string | RegExp, other: string | ((found: string) => string)) => {
      return (files: Map<string, string>) => files.set(file, files.get(file)?.replace(old, other as string) ?? '')
    }
    const capitals = (found: string) => found.toUpperCase()
    const add = (text: string) => edit('record.json', '{', `{ ${text},`)
    const last = (text: string) => text.replace(/.$/, char => String.fromCharCode(char.charCodeAt(0) + 1))
    pack('with a number of 17 digits', add('"a": 0.10000000000000001'))
    pack('with another number', add('"a": 0.30000000000000004441'))
    pack('with a large integer', add('"a": 1e300'))
    pack('with minus zero', add('"a": -0.0'))
    pack('with a name twice', add('"id": "x"'))
    pack('with a prototype', add('"__proto__": {}'))
    pack('with a deep value', add(`"a": ${'['.repeat(32)}${']'.repeat(32)}`))
    pack('with a fact that is null', add('"gpc": null'))
    pack('with a time that is null', add('"given_at": null'))
    pack('with true for 1', edit('record-first.inclusion.json', '"version": 1', '"version": true'))
    pack('with true for a leaf', edit('record-first.inclusion.json', '"leaf_index": 1', '"leaf_index": true'))
    pack('with capitals in a path', edit('record.inclusion.json', /(?<=path[\s\S]*)[\da-f]{64}/, capitals))
    pack(
      'with blanks in a path',
      edit('checkpoints/2.consistency.json', /(?<=path[\s\S]*)([\da-f]{32})(?=[\da-f])/, '$1 '),
    )
    pack('with a zero in a name', files =>
      files.set('record-02.inclusion.json', files.get('record.inclusion.json') ?? ''),
    )
    pack('with another end of a key', edit('consent-keys.json', /(?<="x": ").{43}(?=",\n\s+"kid": "UDD)/, last))
    pack('with another PEM', files => {
      const file = `keys/${keyIdOf(serviceKey)}.pem`
      const pem = files.get(file) ?? ''
      files.set(file, `${pem}\n`)
      edit('consent-keys.json', JSON.stringify(pem), JSON.stringify(`${pem}\n`))(files)
    })
    pack('with another end of a note', files => {
      for (const file of ['checkpoint.tlog', 'record.tlog-proof', 'notice.tlog-proof'])
        edit(file, /.(?==\n$)/, last)(files)
    })
    pack('with a large file', files => files.set('README.txt', ' '.repeat(2 ** 26 + 1)))
    const inPacks = runVerifier(packs, { cwd: folder })
    const [first, ...others] = inPacks.lines
    expect([inPacks.stderr, first]).toEqual(['', `${packs[0]}: ${valid}`])
    expect(others.filter(line => !line.includes(': not valid: '))).toEqual([])
    expect(others).toHaveLength(packs.length - 1)

    const { signature: _, ...checkpoint } = JSON.parse(examples['checkpoint'] ?? '')
    const { signature: __, ...certificate } = JSON.parse(examples['erasure certificate'] ?? '')
    const changes: Record<string, object> = {
      'version true': { version: true },
      'no day': { created_at: '2026-02-30T00:00:00.000Z' },
      'no zone': { created_at: '2026-02-04T00:00:00.000' },
      'another zone': { created_at: '2026-02-04T00:00:00.000+00:00' },
      'leap second': { created_at: '2026-12-31T23:59:60.000Z' },
      microseconds: { created_at: '2026-02-04T00:00:00.000000Z' },
      'other digits': { created_at: '\u0662\u0660\u0662\u0666-02-04T00:00:00.000Z' },
      'another field': { more: 1 },
      'capitals in a hash': { root_hash: checkpoint.root_hash.toUpperCase() },
      'a line feed behind a hash': { root_hash: `${checkpoint.root_hash}\n` },
      'no integer': { keys_size: 3.5 },
      'a negative number': { previous_size: -1 },
      'a number as text': { tree_size: '4' },
    }
    const documents = Object.entries(changes).map(([name, change]) => {
      put(name, signDocument({ ...checkpoint, ...change, key_id: keyIdOf(serviceKey) }, serviceKey))
      return name
    })
    put('another sentence', signDocument({ ...certificate, statement: 'deleted for ever' }, serviceKey))
    const { status, lines, stderr } = verify([...documents, 'another sentence'])
    const reason =
      /: not valid: (.* is not as its schema says|it has another field, more|its type and version are not known)$/
    expect([status, stderr, lines.filter(line => !reason.test(line))]).toEqual([1, '', []])
    expect(lines).toHaveLength(documents.length + 1)
  })

  it('trusts no key of a set with a revocation but no statement, and none that one of two files revokes', () => {
    const earlier = signingKeyOf(Buffer.alloc(32, 4))
    const set = JSON.parse(examples['keys'] ?? '')
    const { signature: _, ...checkpoint } = JSON.parse(examples['checkpoint'] ?? '')
    put('by it', signDocument({ ...checkpoint, key_id: keyIdOf(earlier) }, earlier))
    const withoutStatements = set.keys.map((key: object) => ({ ...key, statement: null }))
    put('no statements', JSON.stringify({ keys: withoutStatements }))
    put('neither', JSON.stringify({ keys: withoutStatements.map((key: object) => ({ ...key, revocation: null })) }))
    put('pem', set.keys[1].pem)
    const trusted = (...keys: string[]) =>
      runVerifier([...keys.flatMap(key => ['--keys', key]), 'by it'], { cwd: folder }).status === 0
    expect([trusted('no statements'), trusted('neither')]).toEqual([false, true])
    expect([trusted('pem'), trusted('keys', 'pem'), trusted('pem', 'keys')]).toEqual([true, false, false])
    put('late', revocationOf(signingKeyOf(Buffer.alloc(32, 6)), earlier, { revoked_at: '2026-02-01T00:00:00.000Z' }))
    expect(verify(['late'])).toMatchObject({ status: 1, stderr: '' })
  })

  it('verifies consistency between checkpoints of all sizes, and rejects any other path', () => {
    const leaves = Array.from({ length: 9 }, (_, index) => Buffer.alloc(32, index))
    const rootOf = ({ from, to }: { from: number; to: number }) => {
      const tree = new MerkleTree()
      for (const leaf of leaves.slice(from, to)) tree.append(leaf)
      return tree.root.toString('hex')
    }
    const checkpoint = JSON.parse(examples['checkpoint'] ?? '')
    delete checkpoint.signature
    const log = leaves.map((_, index) =>
      signDocument(
        { ...checkpoint, previous_size: 0, tree_size: index + 1, root_hash: rootOf({ from: 0, to: index + 1 }) },
        serviceKey,
      ),
    )
    put('log', log.join(''))
    const names: string[] = []
    for (let second = 1; second <= leaves.length; second += 1)
      for (let first = 1; first <= second; first += 1) {
        const path = consistencyRanges(first, second).map(rootOf)
        put(`good ${first} ${second}`, JSON.stringify({ first, second, path }))
        put(`bad ${first} ${second}`, JSON.stringify({ first, second, path: [...path, '00'.repeat(32)] }))
        put(`bad cut ${first} ${second}`, JSON.stringify({ first, second, path: path.slice(1) }))
        names.push(`good ${first} ${second}`, `bad ${first} ${second}`)
        if (path.length > 0) names.push(`bad cut ${first} ${second}`)
      }
    const { lines } = verify([...names, 'log'])
    const wrong = lines.filter(line => isValid(line) === line.startsWith('bad'))
    expect(wrong).toEqual([])
    expect(lines).toHaveLength(names.length + leaves.length)
    expect(verify(['good 2 3']).lines).toEqual(['good 2 3: not valid: the checkpoints of its sizes are not given'])
  })

  it(`agrees with the program on ${histories} histories (CONSENTCTL_TEST_SEED=${seed})`, { timeout: 600_000 }, () => {
    const random = randomFrom(seed)
    const below = (count: number) => Math.floor(random() * count)
    const states = fc.sample(preferences, { numRuns: Math.min(histories, 2000) * 3, seed })
    const damagedCount = Math.round(histories >= 10_000 ? histories / 50 : histories * 0.12)
    const every = Math.floor(histories / damagedCount)
    const made = Array.from({ length: histories }, (_, index) => {
      const entries = newHistory(below, states)
      return index % every === 0 && index / every < damagedCount ? damage(entries, below) : entries
    })
    const ours = made.map(
      entries => History.safeParse({ data: entries }).success && verifyAudit(id, entries).result === 'ok',
    )
    const { lines, stderr } = verify([], made.map(entries => `${JSON.stringify({ data: entries })}\n`).join(''))
    expect([stderr, lines.length]).toEqual(['', histories])
    const disagreed = made.flatMap((entries, index) =>
      isValid(lines[index] ?? '') === ours[index]
        ? []
        : [{ line: lines[index], ours: verifyAudit(id, entries), entries }],
    )
    expect(disagreed).toEqual([])
    expect(ours.filter(isOk => !isOk)).toHaveLength(damagedCount)
  })
})

const facts = ['gpc', 'given_at', 'file_sha256', 'erased', 'circumstances'] as const

/** One thing of one entry is another, or an entry is missing, doubled or in another place. */
function damage(entries: readonly AuditEntry[], below: Below): AuditEntry[] {
  const at = below(entries.length)
  const entry = entries[at] as AuditEntry
  const way = below(10)
  if (way === 0 && at < entries.length - 1) return entries.toSpliced(at, 1)
  if (way === 1) return entries.toSpliced(at, 0, entry)
  if (way === 2 && at > 0) return entries.toSpliced(at - 1, 2, entry, entries[at - 1] as AuditEntry)
  const { [facts[below(4)] ?? 'gpc']: fact, ...others } = entry
  if (way === 3 && fact !== undefined) return entries.with(at, others)
  if (way === 4 && fact === undefined) return entries.with(at, { ...importedFacts(at), gpc: true, ...entry })
  const names = Object.keys(entry) as (keyof AuditEntry)[]
  const name = names[below(names.length)] ?? 'hash'
  return entries.with(at, { ...entry, [name]: otherThan(entry[name], name, below) })
}

function otherThan(value: unknown, name: keyof AuditEntry, below: Below): unknown {
  if (value === null) return name === 'actor_id' ? id : 'ab'.repeat(name === 'salt' ? 16 : 32)
  if (below(8) === 0) return null
  if (typeof value === 'boolean') return !value
  if (typeof value === 'number') return value + (below(2) === 0 ? 1 : 0.5)
  if (name === 'sealed') return { ...Object(value), basis: 'another one' } // further members are not covered
  if (typeof value === 'object') return { ...value, other: below(100) }
  const text = String(value)
  const index = below(text.length)
  const digit = text[index] === '1' ? '2' : '1'
  return below(5) === 0 ? `${text}0` : `${text.slice(0, index)}${digit}${text.slice(index + 1)}`
}
