import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { compareExport } from '../../../src/commands/verify/verify.ts'
import type { AuditEntry } from '../../../src/contract/index.ts'
import { describeOrigin } from '../../../src/contract/origin.ts'
import { type Event, entryId, linkOf, system } from '../../../src/evidence/chain.ts'
import { type FindKeys, verifyDocument } from '../../../src/evidence/document.ts'
import { verifyAudit } from '../../../src/evidence/history.ts'
import { readKeySet, trustKeys } from '../../../src/evidence/key-chain.ts'
import { publicPem } from '../../../src/evidence/keys.ts'
import { leafHash, nodeHash } from '../../../src/evidence/merkle.ts'
import { verifyPack } from '../../../src/evidence/pack-checks.ts'
import { consistencyRanges, inclusionRanges } from '../../../src/evidence/proofs.ts'
import { runVerifier } from '../../support/verifier.ts'
import { historyOf, id, purgedAnew } from './chains.ts'
import {
  eventsOf,
  examplePack,
  examples,
  history,
  profileKey,
  proofOf,
  purgeReceipt,
  purposesOf,
  rootOf,
  sealed,
  signedAgain,
} from './examples.ts'

/** Documents that their own signers made wrong: the program and the verifier in Python refuse each, and say why. */

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'consentctl-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

// biome-ignore lint/suspicious/noExplicitAny: JSON of the examples
type Json = any

function put(name: string, content: string | Buffer): string {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

const findKeys: FindKeys = async signer => ({
  byId:
    signer === 'profile'
      ? trustKeys([{ publicKey: profileKey, statement: null, revocation: null }])
      : readKeySet(examples['keys'] ?? ''),
  sourceOf: () => 'the test',
  none: 'no key of the test',
})

/** What the verifier in Python says of each path, by its name. */
function verifyInPython(paths: readonly string[], keys = true): Map<string, string> {
  const flags = ['--keys', put('keys', examples['keys'] ?? ''), '--profile-key', put('pem', publicPem(profileKey))]
  const { lines, stderr } = runVerifier([...(keys ? flags : []), ...paths])
  expect(stderr).toBe('')
  return new Map(lines.map(line => [line.slice(0, line.indexOf(': ')), line.replace(/^.*?: /, '')]))
}

const purged =
  'personal data of 1 record purged by 2026-02-03T09:30:00.000Z, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered'
const texts: Readonly<Record<string, string>> = { ...examples, 'purge receipt': purgeReceipt(purged) }
const changed = (name: string, change: (document: Json) => object) => signedAgain(texts[name] ?? '', change)

const checkpointOf = (size: number, previous_size: number, created_at = '2026-02-01T12:00:00.000Z') =>
  changed('checkpoint', () => ({
    ...{ tree_size: size, previous_size, created_at },
    root_hash: rootOf({ from: 0, to: size }),
  }))

interface Place {
  readonly leaf: number
  readonly before?: readonly [size: number, previousSize: number]
  readonly after: readonly [size: number, previousSize: number]
}

/** The receipt of the second entry, which is leaf 2, with other checkpoints. */
const placed = ({ leaf, before, after }: Place) =>
  changed('consent receipt', () => ({
    inclusion: {
      ...{ leaf_index: leaf, path: inclusionRanges(leaf, after[0]).map(rootOf), timestamp: null },
      checkpoint: checkpointOf(...after),
      previous: before
        ? {
            ...{ checkpoint: checkpointOf(...before, '2026-01-31T12:00:00.000Z'), timestamp: null },
            path: consistencyRanges(before[0], after[0]).map(rootOf),
          }
        : null,
    },
  }))

/** What the program and the verifier in Python say of one fault. */
type Said = readonly [ours: RegExp, python: RegExp]
const beforeItself: Said = [/contradicts itself on the receipt before it/, /it does not name the receipt before it/]
const noSum: Said = [/contradicts itself on its counts/, /its counts do not add up/]
const recordTwice: Said = [/contradicts itself on its counts/, /it has a record or a site twice/]
const otherStatement: Said = [/contradicts itself in its statement/, /its statement contradicts its other fields/]
const otherPurge: Said = [/contradicts its purge certificates/, /its statement is not what its purge certificates say/]
const otherTimes: Said = [/contradict each other or the records/, /its times contradict each other or its records/]
const noPlace: Said = [
  /without the checkpoints between which/,
  /the checkpoint before an entry is missing, or another one/,
]
const otherEnd: Said = [/receipt\.json: it ends at another time than/, /its expires_at is not by its notice/]

const garbage = Buffer.from('garbage').toString('base64')

it.each<[what: string, text: () => string, ours: RegExp, python: RegExp]>([
  [
    'a receipt whose leaf is in A',
    () => placed({ leaf: 2, before: [3, 0], after: [5, 3] }),
    /without the checkpoints between which/,
    /the first checkpoint with an entry is missing/,
  ],
  [
    'a receipt with a checkpoint before although B has none',
    () => placed({ leaf: 2, before: [2, 0], after: [3, 0] }),
    ...noPlace,
  ],
  ['a receipt without a checkpoint before although B has one', () => placed({ leaf: 2, after: [3, 2] }), ...noPlace],
  [
    'a receipt with another time stamp',
    () => changed('consent receipt', ({ inclusion }) => ({ inclusion: { ...inclusion, timestamp: garbage } })),
    /its time stamp is not of its checkpoint/,
    /a time stamp is not of its checkpoint/,
  ],
  [
    'a receipt whose notice is behind it in the log',
    () =>
      changed('consent receipt', ({ privacy_notice: notice }) => ({
        privacy_notice: { ...notice, publication: { ...notice.publication, leaf_index: 1 } },
      })),
    /contradicts itself on the leaves of the log/,
    /its leaves leave no place for its events/,
  ],
  [
    'a receipt with another count of events',
    () => changed('consent receipt', () => ({ record_version: 3 })),
    /contradicts itself on its last event/,
    /its state is not that of its last event/,
  ],
  ...Object.entries({
    'that its preferences do not have': { state: 'given' },
    'since no event': { since: '2026-02-01T09:30:00.001Z' },
    'withdrawn at no time': { since: null },
  }).map(([what, other]): [string, () => string, RegExp, RegExp] => [
    `a receipt with a purpose ${what}`,
    () => changed('consent receipt', ({ purposes: [first, last] }) => ({ purposes: [first, { ...last, ...other }] })),
    /contradicts itself on its purposes/,
    'state' in other ? /a purpose is given that its preferences do not have/ : /a purpose is not since an event/,
  ]),
  [
    'a receipt without a purpose that was answered',
    () => changed('consent receipt', ({ purposes: [, last] }) => ({ purposes: [last] })),
    /contradicts itself on its purposes/,
    /its purposes are not those of its events and its notice/,
  ],
  [
    'a receipt whose newer answer is of its own record',
    () =>
      changed('consent receipt', ({ record_id, issued_at, purposes: [{ purpose }] }) => ({
        newer_answers: [{ purpose, record_id, answered_at: issued_at, state: 'refused' }],
      })),
    /contradicts itself on its newer answers/,
    /its newer answer is not of another compared record/,
  ],
  [
    'a receipt with a newer answer that compared no other record',
    () =>
      changed('consent receipt', ({ receipt_id: record_id, issued_at, purposes: [{ purpose }] }) => ({
        compared_records: 1,
        newer_answers: [{ purpose, record_id, answered_at: issued_at, state: 'refused' }],
      })),
    /contradicts itself on its newer answers/,
    /its newer answer is not of another compared record/,
  ],
  [
    'a receipt of nobody that compared records',
    () => changed('consent receipt', () => ({ pii_principal_id: null, compared_records: 1 })),
    /contradicts itself on its newer answers/,
    /it compared records of nobody/,
  ],
  [
    'a receipt whose newer answer is about another purpose',
    () =>
      changed('consent receipt', ({ receipt_id: record_id, issued_at }) => ({
        newer_answers: [{ purpose: 'other', record_id, answered_at: issued_at, state: 'refused' }],
      })),
    /contradicts itself on its newer answers/,
    /its newer answers are not about its purposes/,
  ],
  [
    'an erasure receipt with a number and no receipt before',
    () => changed('next erasure receipt', () => ({ previous: null })),
    ...beforeItself,
  ],
  [
    'an erasure receipt with a gap before it',
    () => changed('next erasure receipt', () => ({ number: 3 })),
    ...beforeItself,
  ],
  [
    'an import receipt with a number and no receipt before',
    () => changed('import receipt', () => ({ number: 2 })),
    ...beforeItself,
  ],
  [
    'an erasure receipt with another count',
    () => changed('erasure receipt', ({ counts }) => ({ counts: { ...counts, deleted: 2 } })),
    ...noSum,
  ],
  [
    'an erasure receipt with the count at another site',
    () => changed('erasure receipt', ({ sites: [site] }) => ({ sites: [{ ...site, site_id: null }] })),
    ...noSum,
  ],
  [
    'an erasure receipt without a statement of what it deleted',
    () => changed('erasure receipt', () => ({ statement: null })),
    ...otherStatement,
  ],
  [
    'an erasure receipt that says of a record not in it that it did not verify',
    () => changed('erasure receipt', () => ({ unverified: ['019c1363-49c0-7c3e-9a51-2f6a1f0d9b12'] })),
    /contradicts itself on what did not verify/,
    /what did not verify is not of its deleted records/,
  ],
  [
    'an erasure receipt that counts a live record which it does not name',
    () => changed('erasure receipt', ({ verification }) => ({ verification: { ...verification, live: 1 } })),
    /contradicts itself on what remained/,
    /its verification contradicts itself/,
  ],
  [
    'an erasure receipt that says of a live record that it was deleted',
    () =>
      changed('erasure receipt', ({ verification, records: [{ id, site_id }] }) => ({
        result: 'remaining',
        verification: { ...verification, live: 1, remaining: [{ id, site_id }] },
      })),
    /contradicts itself on what remained/,
    /a record contradicts its verification/,
  ],
  ...['remaining', 'no_data_held', 'nothing_live'].map((result): [string, () => string, RegExp, RegExp] => [
    `an erasure receipt with the result ${result} although its records are erased`,
    () => changed('erasure receipt', () => ({ result })),
    /contradicts itself on what remained/,
    /its result contradicts its verification/,
  ]),
  ['a certificate with another sum', () => changed('erasure certificate', () => ({ remaining: 1 })), ...noSum],
  [
    'a certificate that counts more records than it names',
    () => changed('erasure certificate', ({ sites: [site] }) => ({ erased: 2, sites: [{ ...site, erased: 2 }] })),
    ...noSum,
  ],
  [
    'a certificate of a hold with a deleted record',
    () =>
      changed('erasure certificate', () => ({
        held: { until: '2030-01-01T00:00:00.000Z', reason: 'a claim', ticket: null },
      })),
    /contradicts itself on the hold/,
    /it has erased records in spite of a hold/,
  ],
  [
    'a certificate with another number of days',
    () => changed('erasure certificate', () => ({ purge_after_days: 31 })),
    ...otherStatement,
  ],
  ['a receipt of a purge with a zero before its count', () => purgeReceipt(purged.replace('1', '01')), ...otherPurge],
  [
    'a receipt of a purge that repeats a later receipt',
    () => changed('purge receipt', ({ purge }) => ({ purge: { ...purge, receipt: { ...purge.receipt, number: 3 } } })),
    /contradicts itself on the receipt that it repeats/,
    /it repeats a later receipt/,
  ],
  [
    'a receipt of a purge with the earlier of two times of a record',
    () => {
      const later = { purged_at: '2026-02-03T09:31:00.000Z' }
      const other = changed('purge certificate', ({ records }) => ({
        records: records.map((record: object) => ({ ...record, ...later })),
      }))
      return changed('purge receipt', ({ purge }) => ({
        purge: { ...purge, certificates: [other, ...purge.certificates] },
      }))
    },
    ...otherPurge,
  ],
  [
    'an erasure receipt with a record twice',
    () =>
      changed('erasure receipt', ({ records: [record] }) => ({
        records: [record, { ...record, result: 'remaining' }],
      })),
    ...recordTwice,
  ],
  [
    'an erasure receipt with a site twice',
    () =>
      changed('erasure receipt', ({ sites: [site] }) => ({
        sites: [
          site,
          { site_id: 'x', deleted: 0, already_gone: 0, unknown: 0 },
          { site_id: 'x', deleted: 0, already_gone: 0, unknown: 0 },
        ],
      })),
    ...recordTwice,
  ],
  [
    'a certificate with a site twice',
    () =>
      changed('erasure certificate', ({ sites: [site] }) => ({
        sites: [site, { ...site, erased: 0, deleted: 0, remaining: 0 }],
      })),
    /contradicts itself on its counts/,
    /it has a site twice/,
  ],
  [
    'a manifest with a site twice',
    () => changed('export manifest', () => ({ sites: [null, null].map(site_id => ({ site_id, records: 0 })) })),
    ...noSum,
  ],
  [
    'an erasure receipt with a certificate of another account',
    () => changed('erasure receipt', ({ job }) => ({ account_id: job })),
    /contradicts its certificates/,
    /a certificate is of another account/,
  ],
  [
    'an erasure receipt with a certificate of another person',
    () => changed('erasure receipt', () => ({ subject_hmacs: ['ab'.repeat(32)] })),
    /contradicts its certificates/,
    /a certificate is of another person/,
  ],
  [
    'an erasure receipt with a certificate that names more as not verified',
    () =>
      changed('erasure receipt', ({ records: [{ id }] }) => ({
        certificates: [changed('erasure certificate', () => ({ unverified: [id], statement: null }))],
      })),
    /contradicts its certificates/,
    /a certificate says that more does not verify/,
  ],
  [
    'an import receipt whose first answer is after its last one',
    () => changed('import receipt', () => ({ first_given_at: '2099-01-01T00:00:00.000Z' })),
    ...otherTimes,
  ],
  [
    'an import receipt of records without a last answer',
    () => changed('import receipt', () => ({ last_given_at: null })),
    ...otherTimes,
  ],
  [
    'an import receipt of nothing sent with times of answers',
    () =>
      changed('import receipt', ({ rows, records }) => ({
        rows: { ...rows, read: rows.read - rows.records, records: 0 },
        records: { ...records, made: 0, made_unanswered: 0, known: 0, refused: 0 },
        refused_records: [],
      })),
    ...otherTimes,
  ],
  [
    'a checkpoint whose previous_size is its tree_size',
    () => changed('checkpoint', ({ tree_size }) => ({ previous_size: tree_size })),
    /previous_size: must be below tree_size/,
    /its previous_size is not below its tree_size/,
  ],
  ...['P', 'P1D1W', 'a year'].map((valid_for): [string, () => string, RegExp, RegExp] => [
    `a receipt whose notice is valid for ${valid_for}`,
    () => changed('consent receipt', ({ privacy_notice }) => ({ privacy_notice: { ...privacy_notice, valid_for } })),
    /not as its type says \(privacy_notice/,
    /privacy_notice is not as its schema says/,
  ]),
  [
    'a receipt whose origin names a system with half a surrogate pair',
    () =>
      changed('consent receipt', ({ events: [event] }) => {
        const imported_at = event.event_time
        const origin = { system: '\ud800', id: 'x', evidence: null, imported_at, files: ['a'.repeat(64)] }
        return {
          events: [{ ...event, given_at: imported_at }],
          ...{ record_version: 1, inclusion: null, expires_at: null },
          ...{ preferences: event.preferences, consent_status: event.event_state },
          purposes: purposesOf(history.slice(0, 1), ['marketing']),
          origin: { ...origin, statement: describeOrigin(origin) },
        }
      }),
    /contradicts itself on the import of its record/,
    /a text is not UTF-8, or has no UTF-8/,
  ],
  ...Object.entries<[object, ...Said]>({
    'that counts another line': [{ list: { sha256: 'a'.repeat(64), bytes: 1, lines: 9 } }, ...noSum],
    'that allows whom nothing is known of': [
      { unknown: 'stop' },
      /contradicts itself on who is allowed/,
      /a reason contradicts who is allowed/,
    ],
    'with more near matches than lines': [
      { near_matches: 3 },
      /contradicts itself on its near matches/,
      /more near matches than lines/,
    ],
    'with more policy versions than allowed lines': [
      { policy_versions: [{ site_id: 'x', policy_version: 1, lines: 7 }] },
      /contradicts itself on its policy versions/,
      /more policy versions than allowed/,
    ],
    'that was never valid': [
      { valid_until: '2026-02-05T09:30:01.000Z' },
      /contradicts itself on its times/,
      /it was never valid/,
    ],
  }).map(([what, [fields, ...said]]): [string, () => string, RegExp, RegExp] => [
    `a gate receipt ${what}`,
    () => changed('gate receipt', () => fields),
    ...said,
  ]),
  [
    'a manifest that counts more records than its sites',
    () => changed('export manifest', () => ({ records: 1 })),
    ...noSum,
  ],
])('%s is not valid', async (_what, text, ours, python) => {
  const path = put('document.json', text())
  expect(await verifyDocument(Buffer.from(text()), { findKeys })).toMatchObject({
    result: 'not_valid',
    detail: expect.stringMatching(ours),
  })
  expect(verifyInPython([path]).get(path)).toMatch(python)
})

it.each<[what: string, change: (document: Json) => object, python: RegExp]>([
  ['it', () => ({}), /^erasure_receipt is valid$/],
  ['another ticket', () => ({ ticket: 'other' }), /does not repeat the receipt that it names$/],
  [
    'another digest',
    ({ purge }) => ({ purge: { ...purge, receipt: { ...purge.receipt, sha256: 'a'.repeat(64) } } }),
    /does not repeat the receipt that it names$/,
  ],
])('verify.py compares %s in the receipt of a purge with the receipt that it names', (_what, change, python) => {
  const path = put('purge.json', changed('purge receipt', change))
  expect(verifyInPython([put('erasure.json', examples['erasure receipt'] ?? ''), path]).get(path)).toMatch(python)
})

it('verify.py compares the policy version of a receipt with the history beside it', () => {
  const path = put(
    'receipt.json',
    changed('consent receipt', ({ privacy_notice }) => ({ privacy_notice: { ...privacy_notice, policy_version: 9 } })),
  )
  const beside = put('history.json', JSON.stringify({ data: history }))
  expect(verifyInPython([path, beside]).get(path)).toBe('not valid: its policy version is not as in the history')
})

it.each(['1e999', '-1e999'])('a history with the number %s is not valid', number => {
  const path = put('history.json', `{"data": ${JSON.stringify(historyOf('created'))}, "note": ${number}}`)
  expect(verifyInPython([path]).get(path)).toBe('not valid: a number is too large')
})

it('a consistency proof must match the checkpoints of each account', () => {
  const twin = (size: number, account_id: string) =>
    changed('checkpoint', () => ({ account_id, tree_size: size, previous_size: 0, root_hash: 'a'.repeat(64) }))
  const own = [3, 4].map(size => put(`own-${size}`, checkpointOf(size, 0)))
  const proof = put('proof', JSON.stringify({ first: 3, second: 4, path: consistencyRanges(3, 4).map(rootOf) }))
  expect(verifyInPython([...own, proof]).get(proof)).toBe('consistency_proof is valid')
  const others = [3, 4].map(size => put(`other-${size}`, twin(size, accountId.replace(/.$/, '0'))))
  expect(verifyInPython([...own, ...others, proof]).get(proof)).toMatch(/does not lead to the roots/)
})

it.each<[what: string, name: string, ours: RegExp, python: RegExp]>([
  [
    'beside its export',
    'export.json.manifest.json',
    /export\.json is the export that it is for/,
    /^export_manifest is valid$/,
  ],
  [
    'without its export',
    'other.manifest.json',
    /its export is not beside it/,
    /is valid, but its export is not beside it$/,
  ],
  ['with another name', 'manifest.json', /its export is not beside it/, /is valid, but its export is not beside it$/],
])('a manifest %s is valid', async (_what, name, ours, python) => {
  put('export.json', examples['export'] ?? '')
  const text = examples['export manifest'] ?? ''
  const path = put(name, text)
  const sources = { findKeys, compareExport: (sha256: string) => compareExport(path, sha256) }
  expect(await verifyDocument(Buffer.from(text), sources)).toMatchObject({
    result: 'valid',
    detail: expect.stringMatching(ours),
  })
  expect(verifyInPython([path]).get(path)).toMatch(python)
})

it.each<[what: string, change: Partial<AuditEntry>]>([
  ['another acceptance', { accepted: false }],
  ['another policy version', { policy_version: 4 }],
  ['preferences', { preferences: { marketing: true } }],
])('a history whose purge has %s is not valid', (_what, change) => {
  const entries = historyOf('created', 'updated', 'deleted', 'purged')
  const [whole, other] = [entries, [...entries.slice(0, -1), { ...(entries.at(-1) as AuditEntry), ...change }]].map(
    purgedAnew,
  )
  expect(verifyAudit(id, whole ?? [])).toMatchObject({ result: 'ok' })
  expect(verifyAudit(id, other ?? []).detail).toBe('version 4: has another state than a purge leaves')
  const path = put('history.json', JSON.stringify({ data: other }))
  expect(verifyInPython([path]).get(path)).toBe('not valid: version 4: it has another state than a purge leaves')
})

type Files = Map<string, string | Buffer>

function edit(file: string, change: (value: Json) => object): (files: Files) => void {
  return files => files.set(file, JSON.stringify(change(JSON.parse(String(files.get(file))))))
}

function resign(file: string, change: (value: Json) => object): (files: Files) => void {
  return files => files.set(file, signedAgain(String(files.get(file)), change))
}

/** The whole history in one checkpoint, with a receipt that no service would sign. */
function deleteRecord(files: Files): void {
  const checkpoint = checkpointOf(4, 0, '2026-02-04T00:00:00.000Z')
  const [id, account] = [history[0]?.consent_id ?? '', JSON.parse(checkpoint).account_id]
  for (const name of [...files.keys()]) if (name.startsWith('checkpoints')) files.delete(name)
  files.set('checkpoint.json', checkpoint)
  edit('history.json', answer => ({ ...answer, data: history }))(files)
  const at = history[2]?.created_at
  edit('record.json', record => ({ ...record, updated_at: at, deleted_at: at }))(files)
  files.set('record-first.inclusion.json', JSON.stringify(proofOf(id, 1, 1, 4)))
  files.set('record.inclusion.json', JSON.stringify(proofOf(id, 3, 3, 4)))
  files.set('notice.inclusion.json', JSON.stringify(proofOf(account, 4, 0, 4)))
  resign('receipt.json', () => ({
    issued_at: '2026-02-05T00:00:00.000Z',
    ...{ events: eventsOf(history, ['marketing']), purposes: purposesOf(history, ['marketing']) },
    ...{ record_version: 3, chain_head: history[2]?.hash },
    inclusion: {
      ...{ leaf_index: 3, path: inclusionRanges(3, 4).map(rootOf), checkpoint, timestamp: null, previous: null },
    },
  }))(files)
}

const upperCase = (text: string) => text.toUpperCase()

const accountId: string = JSON.parse(examples['checkpoint'] ?? '').account_id

/** The pack in one checkpoint of four leaves, whose last one is an entry of the account, made of the one after the notice. */
function withNext(change: (entry: Json) => Json): (files: Files) => void {
  return files => {
    const hashOf = (text: string) => createHash('sha256').update(text).digest()
    const notice = String(files.get('notice.json'))
    const previous = hashOf(notice).toString('hex')
    const entry = change({ ...JSON.parse(notice), version: 5, action: 'site_updated', previous })
    const file = `administration/${entry.version}`
    files.set(`${file}.json`, JSON.stringify(entry))
    const recorded = history.slice(0, 2).map(({ hash }) => Buffer.from(hash ?? '', 'hex'))
    const leaves = [hashOf(notice), ...recorded, hashOf(JSON.stringify(entry))].map(leafHash)
    const [left, right] = [leaves.slice(0, 2), leaves.slice(2)].map(pair =>
      nodeHash(pair[0] as Buffer, pair[1] as Buffer),
    )
    const root_hash = nodeHash(left as Buffer, right as Buffer).toString('hex')
    const prove = (record_id: string, version: number, leaf_index: number) => ({
      ...{ record_id, version, leaf_index, tree_size: 4, root_hash },
      leaf_hash: leaves[leaf_index]?.toString('hex'),
      path: [leaves[leaf_index ^ 1], leaf_index < 2 ? right : left].map(node => node?.toString('hex')),
    })
    const checkpoint = changed('checkpoint', () => ({ tree_size: 4, previous_size: 0, root_hash }))
    for (const name of [...files.keys()]) if (name.startsWith('checkpoints')) files.delete(name)
    const record = history[0]?.consent_id ?? ''
    files.set('checkpoint.json', checkpoint)
    files.set('notice.inclusion.json', JSON.stringify(prove(accountId, 4, 0)))
    files.set('record-first.inclusion.json', JSON.stringify(prove(record, 1, 1)))
    files.set('record.inclusion.json', JSON.stringify(prove(record, 2, 2)))
    files.set(`${file}.inclusion.json`, JSON.stringify(prove(accountId, entry.version, 3)))
    const { path } = prove(record, 2, 2)
    const inclusion = { leaf_index: 2, path, checkpoint, timestamp: null, previous: null }
    resign('receipt.json', () => ({ inclusion }))(files)
  }
}

it.each<[what: string, change: (files: Files) => unknown, ours: RegExp, python: RegExp]>([
  ['without README.txt', files => files.delete('README.txt'), /README\.txt: it is missing/, /README\.txt is missing/],
  [
    'without certificate.html',
    files => files.delete('certificate.html'),
    /certificate\.html: it is missing/,
    /certificate\.html is missing/,
  ],
  [
    'without record.json',
    files => files.delete('record.json'),
    /record\.json: it is missing/,
    /record\.json is missing/,
  ],
  [
    'without record-first.inclusion.json',
    files => files.delete('record-first.inclusion.json'),
    /record-first\.inclusion\.json: it is missing/,
    /record-first\.inclusion\.json is missing/,
  ],
  [
    'without notice/de.txt',
    files => files.delete('notice/de.txt'),
    /notice\/de\.txt: it is missing/,
    /its texts are not those of the notice/,
  ],
  [
    'with another file',
    files => files.set('notes.txt', 'x'),
    /notes\.txt: it is not a file of a pack/,
    /it has a file that no pack has/,
  ],
  [
    'of a deleted record, with a receipt',
    deleteRecord,
    /receipt\.json: it is of a deleted record/,
    /receipt\.json is of a deleted record/,
  ],
  [
    'with a receipt that ends later',
    resign('receipt.json', () => ({ expires_at: '2027-02-02T09:30:00.000Z' })),
    ...otherEnd,
  ],
  ['with a receipt without an end', resign('receipt.json', () => ({ expires_at: null })), ...otherEnd],
  [
    'with a receipt with a purpose that was withdrawn earlier',
    resign('receipt.json', ({ purposes: [first, last] }) => ({ purposes: [first, { ...last, since: first.since }] })),
    /receipt\.json: it has other purposes than its events/,
    /its purposes are not as in the history/,
  ],
  [
    'with a receipt without a place in the log',
    resign('receipt.json', () => ({ inclusion: null })),
    /receipt\.json: it does not say where the log has the record/,
    /receipt\.json does not say where the log has the record/,
  ],
  [
    'with garbage for a time stamp',
    files => files.set('checkpoint.tsr', 'garbage'),
    /checkpoint\.tsr: it is not of its checkpoint/,
    /a time stamp is not of its checkpoint/,
  ],
  [
    'with garbage for the time stamp of an earlier checkpoint',
    files => files.set('checkpoints/2.tsr', 'garbage'),
    /checkpoints\/2\.tsr: it is not of its checkpoint/,
    /a time stamp is not of its checkpoint/,
  ],
  [
    'with capitals in the hash of a leaf',
    edit('record.inclusion.json', proof => ({ ...proof, leaf_hash: upperCase(proof.leaf_hash) })),
    /record\.inclusion\.json: it is not of its kind \(leaf_hash\)/,
    /leaf_hash is not as its schema says/,
  ],
  [
    'with capitals in a root',
    edit('notice.inclusion.json', proof => ({ ...proof, root_hash: upperCase(proof.root_hash) })),
    /notice\.inclusion\.json: it is not of its kind \(root_hash\)/,
    /root_hash is not as its schema says/,
  ],
  [
    'with gpc false',
    edit('record.json', record => ({ ...record, gpc: false })),
    /record\.json: it contradicts its history on the signal/,
    /the record has other facts/,
  ],
  [
    'with a null for an origin',
    edit('record.json', record => ({ ...record, origin: null })),
    /record\.json: it is not of its kind \(origin\)/,
    /the record has other facts/,
  ],
  [
    'with an entry that does not follow the notice',
    withNext(entry => ({ ...entry, previous: 'a'.repeat(64) })),
    /administration\/5\.json: it does not follow the entry before it/,
    /an entry does not follow the one before/,
  ],
  [
    'with another entry of the version of the notice',
    withNext(entry => ({ ...entry, version: 4, previous: null })),
    /administration\/4\.json: it has the version of notice\.json/,
    /an entry has the version of notice\.json/,
  ],
  [
    'with an empty text for a time of deletion',
    edit('record.json', record => ({ ...record, deleted_at: '' })),
    /record\.json: it is not of its kind \(deleted_at\)/,
    /deleted_at is not as its schema says/,
  ],
  [
    'with a number for an address',
    edit('history.json', answer => ({ ...answer, ip_network: 5 })),
    /history\.json: it is not of its kind \(ip_network\)/,
    /ip_network is not as its schema says/,
  ],
])('a pack %s is not valid', async (what, change, ours, python) => {
  const { rows, inPython } = await verifyChanged(what, change)
  const refused = rows.filter(({ result }) => result === 'not_valid')
  expect(refused.map(({ file, detail }) => `${file}: ${detail}`).join('\n')).toMatch(ours)
  expect(inPython).toMatch(python)
})

it('a pack whose record lacks nullable fields is valid', async () => {
  const isThere = ([, value]: [string, unknown]) => value !== null
  const change = edit('record.json', record => Object.fromEntries(Object.entries(record).filter(isThere)))
  const { rows, inPython } = await verifyChanged('without nulls', change)
  expect(rows.filter(({ result }) => result !== 'valid')).toEqual([])
  expect(inPython).toBe('evidence pack is valid')
})

it('a pack with the entry after the notice is valid', async () => {
  const { rows, inPython } = await verifyChanged(
    'with the next entry',
    withNext(entry => entry),
  )
  expect(rows.filter(({ result }) => result !== 'valid')).toEqual([])
  expect(inPython).toBe('evidence pack is valid')
})

it('a purged history whose first entry has a salt is not valid', () => {
  const [first, last, purge] = historyOf('created', 'deleted', 'purged') as [AuditEntry, AuditEntry, AuditEntry]
  const link = (entry: AuditEntry, previous: string, salt: Buffer) => {
    const linked = linkOf(
      {
        ...{ id, version: entry.version, action: entry.action, actor: system, at: new Date(entry.created_at) },
        ...{ previous: Buffer.from(previous, 'hex'), state: { ...entry, preferences: {} } },
      } as Event,
      salt,
    )
    const hashes = { payload_hash: linked.payloadHash.toString('hex'), hash: linked.hash.toString('hex') }
    const actor = { changed_by: 'system' as const, actor_id: null }
    return { ...entry, ...actor, preferences: {}, record_hash: null, id: entryId(linked.hash), ...hashes }
  }
  const salt = Buffer.alloc(16, 1)
  const created = { ...link(first, '00'.repeat(32), salt), salt: salt.toString('hex') }
  const deleted = { ...link(last, created.hash, salt), salt: null }
  const verify = (entries: AuditEntry[]) => {
    const path = put('history.json', JSON.stringify({ data: entries }))
    return [verifyAudit(id, entries), verifyInPython([path]).get(path)]
  }
  expect(verify(purgedAnew([{ ...created, salt: null }, deleted, purge]))).toEqual([
    expect.objectContaining({ result: 'ok' }),
    'history is valid',
  ])
  expect(verify(purgedAnew([created, deleted, purge]))).toEqual([
    expect.objectContaining({ detail: expect.stringMatching(/^version 1: /) }),
    'not valid: version 1: it has no salt, or has what was purged',
  ])
})

it('reading a large history takes linear time', () => {
  const path = put('history.json', JSON.stringify({ data: historyOf('created'), note: '['.repeat(1_000_000) }))
  expect(verifyInPython([path]).get(path)).toBe('history is valid')
})

async function verifyChanged(name: string, change: (files: Files) => unknown) {
  const files: Files = new Map([...examplePack].filter(([file]) => file !== 'pack.json'))
  change(files)
  const pack = sealed(new Map([...files].map(([file, content]) => [file, String(content)])))
  for (const [file, content] of pack) put(`${name}/${file}`, content)
  const rows = await verifyPack(new Map([...pack].map(([file, text]) => [file, Buffer.from(text)])))
  const path = join(folder, name)
  return { rows, inPython: verifyInPython([path], false).get(path) }
}
