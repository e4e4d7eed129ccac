import { createHash, createHmac, hkdfSync, sign } from 'node:crypto'
import { formatReadme } from '../../../server/packs/readme.ts'
import { dueAfter } from '../../../src/contract/deadline.ts'
import {
  type ConsentReceipt,
  consentSchemaVersion,
  stateTerms,
} from '../../../src/contract/documents/consent-receipt.ts'
import type { ErasureCertificate } from '../../../src/contract/documents/erasure-certificate.ts'
import type { ErasureReceipt } from '../../../src/contract/documents/erasure-receipt.ts'
import type { EvidencePack } from '../../../src/contract/documents/evidence-pack.ts'
import type { ExportManifest } from '../../../src/contract/documents/export-manifest.ts'
import type { ImportReceipt } from '../../../src/contract/documents/import-receipt.ts'
import { type PurgeCertificate, purgeStatement } from '../../../src/contract/documents/purge-certificate.ts'
import type { AuditEntry, InclusionProof } from '../../../src/contract/index.ts'
import { describeOrigin } from '../../../src/contract/origin.ts'
import {
  type Action,
  type Actor,
  entryId,
  type Facts,
  hashHistory,
  hashRecord,
  type Identity,
  linkOf,
  type State,
  system,
} from '../../../src/evidence/chain.ts'
import { findKeysRoot } from '../../../src/evidence/key-chain.ts'
import { keyIdOf, publicBytes, publicKeyOf, publicPem, signingKeyOf } from '../../../src/evidence/keys.ts'
import { leafHash, MerkleTree } from '../../../src/evidence/merkle.ts'
import { listFiles, readPack } from '../../../src/evidence/pack.ts'
import { consistencyRanges, inclusionRanges, type Range } from '../../../src/evidence/proofs.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { consentStates } from '../../../src/evidence/state.ts'
import { noteText, signedNote, tlogProof, verifierKey } from '../../../src/evidence/tlog.ts'
import { revocationOf, statementOf } from '../../support/key-statements.ts'

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')

export const serviceKey = signingKeyOf(Buffer.alloc(32, 1))
const earlierKey = signingKeyOf(Buffer.alloc(32, 4))
const profileSeed = Buffer.alloc(32, 2)
export const profileKey = signingKeyOf(profileSeed)

const account = '01939d2c-0000-7000-8000-00000000000a'
const site = '01939d2c-0000-7000-8000-00000000000b'
const apiKey: Actor = { kind: 'api_key', id: '01939d2c-0000-7000-8000-00000000000c' }
const start = Date.UTC(2026, 0, 31, 9, 30)
const timeHex = start.toString(16).padStart(12, '0')
const record = `${timeHex.slice(0, 8)}-${timeHex.slice(8)}-7c3e-9a51-2f6a1f0d9b11`

const identity: Identity = {
  site_id: site,
  consent_id: 'newsletter',
  subject_id: 'maria@example.com',
  country: 'DE',
  region: 'Bavaria',
  user_agent: 'Firefox',
  ip_network: '203.0.113.0/24',
}
const noOrigin = { origin_system: null, origin_id: null, origin_evidence: null }
const withNotice: Identity = { ...identity, notice_locale: 'de', notice_entry: 4, ...noOrigin }
const imported: Identity = {
  ...{ site_id: site, consent_id: null, subject_id: identity.subject_id, country: null, region: null },
  ...{ user_agent: null, ip_network: null, notice_locale: null, notice_entry: null },
  ...{ origin_system: 'usercentrics', origin_id: '5f3c9a', origin_evidence: 'export of May, row 17' },
}
const gone = {
  ...{ consent_id: null, subject_id: null, user_agent: null, ip_network: null, notice_locale: null },
  ...{ origin_id: null, origin_evidence: null },
}

interface Change {
  readonly action: Action
  readonly accepted: boolean
  readonly preferences: Record<string, unknown>
  readonly facts?: Facts
  /** Default: the API key, or the service for a purge. */
  readonly actor?: Actor
}

const changes: Change[] = [
  { action: 'created', accepted: true, preferences: { marketing: true, analytics: false } },
  {
    action: 'updated',
    accepted: true,
    preferences: { marketing: false, 'e-mail': ['weekly'], analytics: 1.5 },
  },
  {
    action: 'deleted',
    accepted: true,
    preferences: { marketing: false, 'e-mail': ['weekly'], analytics: 1.5 },
    facts: { erased: true },
  },
]

/** A history as the API answers it, of a record of this identity. */
function historyOf(list: readonly Change[], of = withNotice): AuditEntry[] {
  let previous: Buffer | null = null
  const entries: AuditEntry[] = []
  for (const [index, { action, facts, actor: by, ...change }] of list.entries()) {
    const isPurge = action === 'purged'
    const salt = Buffer.alloc(16, 0xa1 + index)
    const recordHash = isPurge ? hashRecord({ ...of, ...gone }, salt) : index === 0 ? hashRecord(of, salt) : undefined
    const state: State = { ...change, policy_version: 3 }
    const at = new Date(action === 'imported' ? start : start + index * 86_400_000)
    const actor = by ?? (isPurge ? system : apiKey)
    const event = {
      ...{ id: record, version: index + 1, action, actor, at, previous, state, facts },
      ...(recordHash && { recordHash }),
      ...(isPurge && { historyHash: hashHistory(entries as unknown as State[]) }),
    }
    const { hash, payloadHash } = linkOf(event, salt)
    if (isPurge) for (const entry of entries) Object.assign(entry, { salt: null, record_hash: null, preferences: {} })
    entries.push({
      ...{ id: entryId(hash), consent_id: record, action, ...state },
      ...{ changed_by: actor.kind, actor_id: actor.id, created_at: at.toISOString(), version: index + 1 },
      ...{ salt: salt.toString('hex'), record_hash: recordHash?.toString('hex') ?? null },
      ...{ payload_hash: payloadHash.toString('hex'), hash: hash.toString('hex') },
      ...facts,
    })
    previous = hash
  }
  return entries
}

export const history = historyOf(changes)
const purge: Change = { action: 'purged', accepted: true, preferences: {} }
const purged = historyOf([...changes, purge])
const file_sha256 = sha256('Controller ID,Timestamp,Consent Given\n')
const importedChanges: Change[] = [
  {
    ...{ action: 'imported', accepted: true, preferences: { marketing: true } },
    facts: { given_at: '2021-05-03T08:15:00.000Z', file_sha256 },
  },
  {
    ...{ action: 'imported', accepted: false, preferences: { marketing: false } },
    facts: { given_at: '2022-01-10T19:40:12.500Z', file_sha256 },
  },
  {
    ...{ action: 'updated', accepted: true, preferences: { analytics: true } },
    ...{ actor: { kind: 'site_token', id: site }, facts: { gpc: true } },
  },
]
const importedHistory = historyOf(importedChanges, imported)
const deletion: Change = { action: 'deleted', accepted: true, preferences: { analytics: true } }
const purgedImport = historyOf([...importedChanges, deletion, purge], imported)
const noticeText = 'Wir senden Werbung per E-Mail, wenn Sie zustimmen.\n'
/** Entries of the account as PostgreSQL writes them. */
const publication = `{"at": "2025-12-30T15:00:00.000Z", "type": "account_entry", "actor": {"id": "01939d2c-0000-7000-8000-00000000000e", "kind": "user"}, "after": {"texts": [{"size": ${noticeText.length}, "sha256": "${sha256(noticeText)}", "language": "de", "media_type": "text/plain"}], "site_id": "${site}", "purposes": [{"iri": "https://w3id.org/dpv#DirectMarketing", "key": "marketing", "title": "Werbung per E-Mail", "language": "de"}], "valid_for": "P1Y", "controller": "Example GmbH, Berlin", "effective_from": null, "policy_version": 3, "requires_renewal": false}, "nonce": "5d0be1c2f7a94d3c8a6b90e1f4c25d78", "action": "notice_published", "before": null, "target": {"id": "${site}", "kind": "notice", "policy_version": 3}, "version": 4, "previous": "${sha256('entry 3')}", "account_id": "${account}"}`
/** The leaves of the log: the publication of the notice, then the record. */
const hashes = [publication, ...purged].map(one =>
  typeof one === 'string' ? createHash('sha256').update(one).digest() : Buffer.from(one.hash ?? '', 'hex'),
)
const tree = new MerkleTree()
for (const hash of hashes.slice(0, 4)) tree.append(hash)

/** The root of a few leaves. */
export function rootOf({ from, to }: Range): string {
  const subtree = new MerkleTree()
  for (const hash of hashes.slice(from, to)) subtree.append(hash)
  return subtree.root.toString('hex')
}
const pathOf = (ranges: readonly Range[]) => ranges.map(rootOf)
export const proofOf = (record_id: string, version: number, leaf_index: number, tree_size: number): InclusionProof => ({
  ...{ record_id, version, leaf_index },
  leaf_hash: leafHash(hashes[leaf_index] as Buffer).toString('hex'),
  ...{ tree_size, root_hash: rootOf({ from: 0, to: tree_size }) },
  path: pathOf(inclusionRanges(leaf_index, tree_size)),
})
const inclusionProof = proofOf(record, 2, 2, tree.size)

const signed = (document: object, key: typeof serviceKey) =>
  signDocument({ ...(document as { type: string; version: number }), key_id: keyIdOf(key) }, key)

const statement = statementOf(serviceKey, earlierKey, { not_before: '2026-01-30T12:00:00.000Z' })
const firstStatement = statementOf(earlierKey, earlierKey)
const revocation = revocationOf(earlierKey, serviceKey, {
  revoked_at: '2026-01-30T13:00:00.000Z',
  reason: 'superseded',
})
const keyDocuments = [firstStatement, statement, revocation]

function checkpointOf(size: number, created_at: string, previous_size = size - 1): string {
  const keys_root = findKeysRoot(keyDocuments, keyDocuments.length)?.toString('hex')
  const root_hash = rootOf({ from: 0, to: size })
  const claim = {
    account_id: account,
    tree_size: size,
    root_hash,
    previous_size,
    created_at,
    keys_size: keyDocuments.length,
    keys_root,
  }
  return signed({ type: 'checkpoint', version: 1, ...claim }, serviceKey)
}

const receipt: Omit<ConsentReceipt, 'key_id'> = {
  type: 'consent_receipt',
  version: 1,
  schema_version: consentSchemaVersion,
  receipt_id: '01939d2c-0000-7000-8000-00000000000d',
  issued_at: new Date(start + 2 * 86_400_000 - 1).toISOString(),
  record_id: record,
  pii_principal_id: identity.subject_id,
  consent_id: identity.consent_id,
  privacy_notice: {
    site_id: site,
    policy_version: 3,
    locale: withNotice.notice_locale ?? null,
    notice: 'held',
    texts: [{ language: 'de', media_type: 'text/plain', size: noticeText.length, sha256: sha256(noticeText) }],
    purposes: [
      { key: 'marketing', title: 'Werbung per E-Mail', language: 'de', iri: 'https://w3id.org/dpv#DirectMarketing' },
    ],
    controller: 'Example GmbH, Berlin',
    valid_for: 'P1Y',
    requires_renewal: false,
    effective_from: null,
    publication: { version: 4, hash: sha256(publication), leaf_index: 0 },
  },
  country: identity.country,
  region: identity.region,
  consent_status: 'dpv:ConsentWithdrawn',
  preferences: changes[1]?.preferences ?? {},
  events: eventsOf(history.slice(0, 2)),
  record_version: 2,
  chain_head: history[1]?.hash ?? '',
  inclusion: {
    leaf_index: 2,
    path: pathOf(inclusionRanges(2, 3)),
    checkpoint: checkpointOf(3, '2026-02-01T12:00:00.000Z'),
    timestamp: null,
    previous: {
      checkpoint: checkpointOf(2, '2026-01-31T12:00:00.000Z', 0),
      timestamp: null,
      path: pathOf(consistencyRanges(2, 3)),
    },
  },
  expires_at: '2027-02-01T09:30:00.000Z',
  origin: null,
}

export function eventsOf(entries: readonly AuditEntry[]): ConsentReceipt['events'] {
  const states = consentStates(entries)
  return entries.map((entry, index) => ({
    event_id: entry.id,
    event_time: entry.created_at,
    event_type: 'dpv:Consent',
    event_state: stateTerms[states[index] ?? 'refused'],
    entity_id: entry.actor_id,
    changed_by: entry.changed_by as 'api_key',
    preferences: entry.preferences ?? {},
    given_at: entry.given_at ?? null,
    gpc: entry.gpc === true,
  }))
}

const origin = {
  ...{ system: 'usercentrics', id: '5f3c9a', evidence: 'export of May, row 17' },
  ...{ imported_at: new Date(start).toISOString(), files: [file_sha256] },
}
const receiptOrigin = { ...origin, statement: describeOrigin(origin) }

/** A receipt of the imported history. */
export const importedReceipt = signed(
  {
    ...receipt,
    ...{ consent_id: null, country: null, region: null, preferences: { analytics: true } },
    privacy_notice: { site_id: site, policy_version: 3, locale: null, notice: 'not held' },
    issued_at: new Date(start + 3 * 86_400_000).toISOString(),
    events: eventsOf(importedHistory),
    consent_status: 'urn:consentctl:ConsentPartlyGiven',
    expires_at: null,
    record_version: importedHistory.length,
    chain_head: importedHistory.at(-1)?.hash ?? '',
    ...{ inclusion: null, origin: receiptOrigin },
  },
  serviceKey,
)

const counted = { erased: 1, deleted: 1, remaining: 0 }
const accountKey = createHmac('sha256', Buffer.alloc(32, 3)).update(account).digest()
const certificate: Omit<ErasureCertificate, 'key_id'> = {
  type: 'erasure_certificate',
  version: 1,
  certificate_id: '01939d2c-0000-7000-8000-00000000000e',
  issued_at: new Date(start + 2 * 86_400_000).toISOString(),
  statement: 'logically deleted; personal data to be purged after 30 days',
  account_id: account,
  subject_hmac: createHmac('sha256', accountKey).update('maria@example.com').digest('hex'),
  erased_by: { kind: 'api_key', id: apiKey.id ?? '' },
  ticket: 'PRIV-123',
  reason: null,
  ...counted,
  sites: [{ site_id: site, ...counted }],
  purge_after_days: 30,
  request_id: 'req-1',
  records: [{ id: record, deleted_at: history[2]?.created_at ?? '' }],
  unverified: [],
}
const certificateText = signed(certificate, serviceKey)

const purgeCertificate: Omit<PurgeCertificate, 'key_id'> = {
  type: 'purge_certificate',
  version: 1,
  certificate_id: '01939d2c-0000-7000-8000-00000000000f',
  issued_at: new Date(start + 4 * 86_400_000).toISOString(),
  statement: purgeStatement,
  account_id: account,
  requested_by: { kind: 'api_key', id: apiKey.id ?? '' },
  request_id: 'req-2',
  records: [
    {
      id: record,
      site_id: site,
      deleted_at: purged.at(-2)?.created_at ?? '',
      purged_at: purged.at(-1)?.created_at ?? '',
      chain_head: purged.at(-1)?.hash ?? '',
    },
  ],
}

const info = 'consentctl erasure receipt: subject identifiers'
const subjectKey = Buffer.from(hkdfSync('sha256', profileSeed, Buffer.alloc(0), info, 32))
const subject_hmacs = [createHmac('sha256', subjectKey).update('maria@example.com').digest('hex')]
const about = { instance: 'https://consent.example.com', profile: 'default', who: 'jo', host: 'desk' }

const exportHead = {
  type: 'subject_export',
  version: 1,
  instance: about.instance,
  exported_at: '2026-02-01T09:00:00.000Z',
}
const exportText = `${JSON.stringify({ ...exportHead, subjects: ['maria@example.com'] }).slice(0, -1)},"records":[\n]}\n`
const manifest: Omit<ExportManifest, 'key_id'> = {
  type: 'export_manifest',
  version: 1,
  ...about,
  exported_at: exportHead.exported_at,
  subject_hmacs,
  sites: [],
  records: 0,
  entries: 0,
  bytes: Buffer.byteLength(exportText),
  sha256: sha256(exportText),
  account_id: account,
  api_key_id: apiKey.id,
}

const none = { deleted: 0, already_gone: 0, unknown: 0 }
function erasureReceipt(own: Partial<ErasureReceipt>): string {
  const document: Omit<ErasureReceipt, 'key_id'> = {
    type: 'erasure_receipt',
    version: 1,
    number: 1,
    job: '0198f0aa-0000-4000-8000-000000000001',
    ...about,
    ticket: 'PRIV-123',
    reason: null,
    received_at: '2026-01-30',
    due_at: dueAfter('2026-01-30'),
    started_at: '2026-02-02T09:29:59.000Z',
    finished_at: '2026-02-02T09:30:01.000Z',
    clock_offset_seconds: null,
    subject_hmacs,
    subjects: null,
    result: 'erased',
    statement: 'logically deleted; personal data to be purged after 30 days',
    counts: { ...none, deleted: 1 },
    sites: [{ site_id: site, ...none, deleted: 1 }],
    records: [
      {
        id: record,
        site_id: site,
        result: 'deleted',
        deleted_at: history[2]?.created_at ?? null,
        request_id: 'req-1',
        deleted_at_by: 'service',
      },
    ],
    unverified: [],
    planned_by: null,
    plan_sha256: null,
    export_sha256: sha256(exportText),
    verification: { checked_at: '2026-02-02T09:30:00.500Z', live: 0, deleted: 1, remaining: [] },
    answers_lost: 0,
    certificates: [certificateText],
    previous: null,
    account_id: account,
    api_key_id: apiKey.id,
    near_matches: null,
    ...own,
  }
  return signed(document, profileKey)
}
const firstReceipt = erasureReceipt({})
const secondReceipt = erasureReceipt({
  number: 2,
  job: '0198f0aa-0000-4000-8000-000000000002',
  ticket: 'PRIV-124',
  started_at: '2026-02-03T09:29:59.000Z',
  finished_at: '2026-02-03T09:30:01.000Z',
  result: 'no_data_held',
  statement: null,
  counts: none,
  sites: [],
  records: [],
  export_sha256: null,
  verification: { checked_at: '2026-02-03T09:30:00.500Z', live: 0, deleted: 0, remaining: [] },
  certificates: [],
  previous: { number: 1, sha256: sha256(firstReceipt) },
  near_matches: 1,
})

/** The receipt of the purge of what the first one deleted, with this statement. */
export function purgeReceipt(statement: string, own: Partial<ErasureReceipt> = {}): string {
  const receipt = { number: 1, sha256: sha256(firstReceipt) }
  const certificates = [signed(purgeCertificate, serviceKey)]
  const purge = { receipt, finished_at: '2026-02-04T09:30:01.000Z', who: 'jo', host: 'desk', certificates }
  return erasureReceipt({ number: 3, previous: { number: 2, sha256: sha256(secondReceipt) }, statement, purge, ...own })
}

const importReceipt: Omit<ImportReceipt, 'key_id'> = {
  type: 'import_receipt',
  version: 1,
  number: 1,
  job: '0198f0aa-0000-4000-8000-000000000003',
  ...about,
  api_key_id: apiKey.id,
  account_id: account,
  format: 'usercentrics',
  system: 'usercentrics',
  map_sha256: sha256('{}'),
  policy_version: 3,
  timezone: null,
  csv_unguard: false,
  files: [{ name: 'consents.csv', size: 120_000, sha256: sha256('consents') }],
  rows: { read: 1010, records: 300, changes: 40, merged: 660, duplicates: 1, left_out: 7, refused: 2 },
  left_out: [{ table: 'event', value: 'IMPLICIT', rows: 7 }],
  refused_rows: [{ reason: 'time', rows: 2 }],
  first_given_at: '2019-05-25T08:00:00.000Z',
  last_given_at: '2026-01-30T17:45:12.000Z',
  started_at: '2026-02-02T09:29:58.412Z',
  began_at: '2026-02-02T09:29:59.000Z',
  site_id: site,
  sent_sha256: sha256('sent'),
  records: { made: 290, made_unanswered: 12, known: 9, refused: 1 },
  refused_records: [{ code: 'conflict', message: 'its origin is known with another content', records: 1 }],
  finished_at: '2026-02-02T09:30:04.127Z',
  previous: null,
}

const jwk = (key: typeof serviceKey) => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: publicBytes(key).toString('base64url'),
  kid: keyIdOf(key),
  use: 'sig',
  alg: 'EdDSA',
  pem: publicPem(key),
})

const logOrigin = `consentctl/${keyIdOf(earlierKey)}/${account}`
function noteOf(size: number): string {
  const text = noteText(logOrigin, { size, root: Buffer.from(rootOf({ from: 0, to: size }), 'hex') })
  return signedNote(text, logOrigin, publicKeyOf(publicBytes(serviceKey)), sign(null, Buffer.from(text), serviceKey))
}
const note = noteOf(tree.size)

const keySet = json({
  keys: [
    { ...jwk(serviceKey), statement, revocation: null },
    { ...jwk(earlierKey), statement: firstStatement, revocation },
  ],
})

/** The evidence of the record before it was deleted: test/fixtures/verifier/example-pack. */
function packFiles(): Map<string, string> {
  const { ip_network, notice_entry, origin_system, origin_id, origin_evidence, ...shown } = withNotice
  const [first, last] = history as [AuditEntry, AuditEntry]
  const { accepted, preferences, policy_version } = last
  const checkpoint = receipt.inclusion?.checkpoint ?? ''
  const files = new Map([
    ['checkpoint.json', checkpoint],
    ['checkpoints/2.consistency.json', json({ first: 2, second: 3, path: pathOf(consistencyRanges(2, 3)) })],
    ['checkpoints/2.json', receipt.inclusion?.previous?.checkpoint ?? ''],
    ['consent-keys.json', keySet],
    ['history.json', json({ data: [first, last], ip_network, notice_entry })],
    ...[serviceKey, earlierKey].map((key): [string, string] => [`keys/${keyIdOf(key)}.pem`, publicPem(key)]),
    ['notice.inclusion.json', json(proofOf(account, 4, 0, 3))],
    ['notice.json', publication],
    ['notice/de.txt', noticeText],
    ['receipt.json', signed(receipt, serviceKey)],
    ['record-first.inclusion.json', json(proofOf(record, 1, 1, 3))],
    ['record.inclusion.json', json(proofOf(record, 2, 2, 3))],
    [
      'record.json',
      json({
        ...{ id: record, ...shown, accepted, preferences, policy_version },
        ...{ created_at: first.created_at, updated_at: last.created_at, deleted_at: null },
      }),
    ],
  ])
  const sealing = { createdAt: receipt.issued_at, keyId: keyIdOf(serviceKey), isTruncated: false }
  return files.set('README.txt', formatReadme(readPack(toBytes(files)), sealing))
}

const toBytes = (files: ReadonlyMap<string, string>) =>
  new Map([...files].map(([name, text]) => [name, Buffer.from(text)]))

/** A file list and its signature, anew. */
export function sealed(files: ReadonlyMap<string, string>): Map<string, string> {
  const pack: Omit<EvidencePack, 'key_id'> = {
    ...{ type: 'evidence_pack', version: 1, created_at: receipt.issued_at },
    ...{ account_id: account, record_id: record, files: listFiles(toBytes(files)) },
  }
  return new Map(files).set('pack.json', signed(pack, serviceKey))
}

export const examplePack: ReadonlyMap<string, string> = sealed(packFiles())

const quota = `{"at": "2026-01-01T09:00:00.000Z", "type": "account_entry", "actor": {"id": null, "kind": "admin"}, "after": {"monthly_quota": 1000000}, "nonce": "a3f1c07be6d84f0c9b2e51d7764c08aa", "action": "quota_changed", "before": {"monthly_quota": null}, "target": {"id": "01939d2c-0000-7000-8000-00000000000a", "kind": "account"}, "version": 7, "previous": "106c411261819e5a35192eab47324d72ae3caf362762d66613aa74cdc1c2a993", "account_id": "01939d2c-0000-7000-8000-00000000000a"}`
const settings = [
  quota,
  `{"at": "2026-01-02T10:30:00.000Z", "type": "account_entry", "actor": {"id": "01939d2c-0000-7000-8000-00000000000b", "kind": "user"}, "after": {"policy_version": 2, "updated_at": "2026-01-02T10:30:00.000Z"}, "nonce": "0c9d5e2f83b1476a9e4470d15fb2c613", "action": "site_updated", "before": {"policy_version": 1, "updated_at": "2026-01-01T09:00:00.000Z"}, "target": {"id": "01939d2c-0000-7000-8000-000000000001", "kind": "site"}, "version": 8, "previous": "${sha256(quota)}", "account_id": "01939d2c-0000-7000-8000-00000000000a"}`,
]

/** The examples of the pages in src/evidence, as the program makes them, by name. */
export const examples: Readonly<Record<string, string>> = {
  keys: keySet,
  'first statement': firstStatement,
  'next statement': statement,
  revocation,
  'profile key': publicPem(profileKey),
  history: json({ data: history }),
  'purged history': json({ data: purged }),
  identity: json(withNotice),
  'imported history': json({ data: importedHistory }),
  'imported identity': json(imported),
  'purged imported history': json({ data: purgedImport }),
  publication: `${publication}\n`,
  administrators: `${settings[0]}\n${settings[1]}\n`,
  'administrators hashes': settings.map((text, index) => `${index + 7}  ${sha256(text)}\n`).join(''),
  leaves: hashes.map((hash, index) => `${index}  ${leafHash(hash).toString('hex')}\n`).join(''),
  checkpoint: checkpointOf(4, '2026-02-04T00:00:00.000Z'),
  'inclusion proof': json(inclusionProof),
  'consistency proof': json({ first: 3, second: tree.size, path: pathOf(consistencyRanges(3, tree.size)) }),
  'tlog checkpoint': note,
  'tlog proof': tlogProof(inclusionProof.leaf_index, inclusionProof.path, note),
  'verifier key': `${verifierKey(logOrigin, serviceKey)}\n`,
  'consent receipt': signed(receipt, serviceKey),
  'origin of a receipt': json(receiptOrigin),
  'erasure certificate': certificateText,
  'purge certificate': signed(purgeCertificate, serviceKey),
  'erasure receipt': firstReceipt,
  'next erasure receipt': secondReceipt,
  export: exportText,
  'export manifest': signed(manifest, profileKey),
  'import receipt': signed(importReceipt, profileKey),
  'evidence pack': examplePack.get('pack.json') ?? '',
}
