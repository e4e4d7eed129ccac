import { namedPurposes, stateTerms } from '../contract/documents/consent-receipt.ts'
import type { EvidencePack } from '../contract/documents/evidence-pack.ts'
import type { AuditEntry, InclusionProof } from '../contract/index.ts'
import { endOfConsent } from '../contract/validity.ts'
import { canonical } from './canonical.ts'
import { findDeletion, hashRecord, type Identity } from './chain.ts'
import { type Bracket, describeDate, findBracket, findDateProblem } from './dates.ts'
import { type FindKeys, type Sources, verifyDocument } from './document.ts'
import { verifyAudit } from './history.ts'
import { readKeySet } from './key-chain.ts'
import { leafHash } from './merkle.ts'
import {
  consistencyOf,
  type EarlierCheckpoint,
  isPackFile,
  listFile,
  listFiles,
  type Pack,
  type PackFiles,
  type ProvedEntry,
  proofOf,
  readPack,
  requireFile,
  textFile,
} from './pack.ts'
import { isConsistent, isIncluded, isStampOf, toBytes } from './proofs.ts'
import { readSigned, toSide } from './signed.ts'
import { consentOf, datePurposes } from './state.ts'
import { NotValid, notValid, type Verdict } from './verdict.ts'

interface PackSources extends Sources {
  readonly hashed: EvidencePack['files']
  /** Called between checks; may throw to stop. */
  readonly pause: () => Promise<unknown>
}

export interface PackVerdict extends Verdict {
  readonly file: string
}

/**
 * Stops after a list that does not fit the files, and after an invalid signed document: the other files rely on both.
 * Default for `findKeys`: the keys in the pack.
 */
export async function verifyPack(
  files: PackFiles,
  {
    findKeys = keysIn(files),
    newest,
    findPresent,
    hashed = listFiles(files),
    pause = async () => {},
  }: Partial<PackSources> = {},
): Promise<PackVerdict[]> {
  const rows: PackVerdict[] = []
  try {
    const list = await verifyDocument(requireFile(files, listFile), { findKeys })
    if (list.type !== 'evidence_pack') throw new NotValid('is not the list of an evidence pack', listFile)
    if (list.result === 'not_valid') return [{ file: listFile, ...list }]
    const sealed = readSigned(requireFile(files, listFile)).document as unknown as EvidencePack
    requireListed(files, sealed.files, hashed)
    const whose = `of the record ${sealed.record_id} of the account ${sealed.account_id}`
    const detail = `${list.detail}; ${whose}; all ${sealed.files.length} files that it lists are as they were; later changes are not known`
    rows.push({ file: listFile, ...list, detail })
    const pack = readPack(files)
    const verdicts = new Map<string, Verdict>()
    // The other documents are compared with checkpoint.json, so the log only has to extend that one.
    const signed = [...pack.checkpoints.map(({ file }) => file), ...(pack.receipt ? ['receipt.json'] : [])]
    for (const file of ['checkpoint.json', ...signed]) {
      const sources = file === 'checkpoint.json' ? { findKeys, newest } : { findKeys, findPresent }
      verdicts.set(file, await verifyDocument(requireFile(files, file), sources))
      await pause()
    }
    const wrong = [...verdicts].flatMap(([file, verdict]) => (verdict.result === 'valid' ? [] : [{ file, ...verdict }]))
    if (wrong.length > 0) return [...rows, ...wrong]
    for (const check of packChecks(pack, sealed)) {
      rows.push(run(check, verdicts.get(check.file)))
      await pause()
    }
  } catch (error) {
    rows.push(refusal(error))
  }
  return rows
}

/** @throws NotValid if the keys of the pack contradict each other */
function keysIn(files: PackFiles): FindKeys {
  let byId: ReturnType<typeof readKeySet> | undefined
  return async () => {
    try {
      byId ??= readKeySet(requireFile(files, 'consent-keys.json').toString())
      return {
        byId,
        sourceOf: () => 'the one in the pack itself: compare its id with the operator of the service',
        none: 'none of those in the pack itself',
      }
    } catch (error) {
      throw error instanceof SyntaxError ? new NotValid(error.message, 'consent-keys.json') : error
    }
  }
}

function run({ file, type, check }: PackCheck, signed: Verdict | undefined): PackVerdict {
  const row: Verdict = signed ?? { type, result: 'valid', signed_by: null, issued_at: null, detail: '' }
  try {
    const seen = check()
    return { file, ...row, detail: row.detail === '' ? seen : `${row.detail}; ${seen}` }
  } catch (error) {
    return refusal(error, type)
  }
}

function refusal(error: unknown, type: string | null = null): PackVerdict {
  if (!(error instanceof NotValid)) throw error
  return { file: error.file, ...notValid(`it ${error.message}`, type) }
}

const dependent: readonly (readonly [name: RegExp, other: string])[] = [
  [/^(checkpoints\/\d+)\.(consistency\.json|tsr)$/, '$1.json'],
  [/^(administration\/\d+)\.inclusion\.json$/, '$1.json'],
]

/** Made of the other files, and compared with none of them. */
const describing = ['certificate.html', 'README.txt', 'verify.sh']

/** @throws NotValid */
function requireListed(files: PackFiles, list: EvidencePack['files'], hashed: EvidencePack['files']): void {
  const actual = new Map(hashed.map(each => [each.name, each]))
  for (const { name, bytes, sha256 } of list) {
    const found = actual.get(name)
    if (!found) throw new NotValid('is missing', name)
    if (found.bytes !== bytes || found.sha256 !== sha256)
      throw new NotValid(`was changed: it is not the file that ${listFile} lists`, name)
    actual.delete(name)
  }
  for (const name of actual.keys()) throw new NotValid(`is not listed in ${listFile}`, name)
  for (const name of describing) requireFile(files, name)
  for (const { name } of list) {
    need(name, isPackFile(name), 'is not a file of a pack')
    for (const [pattern, other] of dependent)
      need(name, !pattern.test(name) || files.has(name.replace(pattern, other)), 'is there without what it is of')
  }
}

interface PackCheck {
  readonly file: string
  readonly type: string
  /** Completes "valid; …". @throws NotValid */
  check(): string
}

/** All files except signed documents. */
function packChecks(pack: Pack, listed: EvidencePack): PackCheck[] {
  const { notice, receipt, checkpoint } = pack
  return [
    { file: 'consent-keys.json', type: 'keys', check: () => checkKeys(pack) },
    { file: 'history.json', type: 'history', check: () => checkHistory(pack, listed.record_id) },
    { file: 'record.json', type: 'record', check: () => checkRecord(pack, listed.record_id) },
    ...(listed.presented || pack.history.some(({ sealed }) => sealed)
      ? [{ file: listFile, type: 'sealed_proof', check: () => checkPresented(pack, listed) }]
      : []),
    ...(receipt ? [{ file: 'receipt.json', type: 'consent_receipt', check: () => checkReceipt(pack, receipt) }] : []),
    {
      file: 'checkpoint.json',
      type: 'checkpoint',
      check: () => {
        need('checkpoint.json', checkpoint.account_id === listed.account_id, 'is of another account')
        return `of ${checkpoint.tree_size} entries${describeStamp(pack, 'checkpoint.tsr')}`
      },
    },
    ...pack.checkpoints.map(earlier => ({
      file: earlier.file,
      type: 'checkpoint',
      check: () => checkEarlier(pack, earlier),
    })),
    ...listPlaces(pack).map((place, index, places) => ({
      file: place.file,
      type: 'inclusion_proof',
      check: () => checkPlace(pack, place, places[index - 1]?.version ?? 0),
    })),
    ...(notice
      ? [
          { file: 'notice.json', type: 'account_entry', check: () => checkNotice(pack, notice, listed.files) },
          ...notice.manifest.texts.map(text => ({
            file: textFile(text),
            type: 'notice_text',
            check: () => `in ${text.language}: the bytes that were published`,
          })),
        ]
      : [{ file: 'history.json', type: 'notice', check: () => checkNoNotice(pack) }]),
    ...pack.administration.map(proved => ({
      file: proved.file,
      type: 'account_entry',
      check: () => checkAdministration(pack, proved),
    })),
  ]
}

function need(file: string, holds: boolean, problem: string): void {
  if (!holds) throw new NotValid(problem, file)
}

/** The PEM files are for verifying by hand. */
function checkKeys({ files, keys }: Pack): string {
  const names = new Set([...files.keys()].filter(name => name.startsWith('keys/')))
  for (const { kid, pem } of keys) {
    const name = `keys/${kid}.pem`
    need(name, requireFile(files, name).toString() === pem, 'is not the key of consent-keys.json')
    names.delete(name)
  }
  for (const name of names) need(name, false, 'is not a key of consent-keys.json')
  return 'keys/ has the same keys'
}

function checkHistory(pack: Pack, id: string): string {
  const { history } = pack
  const { result, detail } = verifyAudit(id, history)
  need('history.json', result === 'ok', `does not verify: ${detail}`)
  return `${history.length} ${history.length === 1 ? 'entry' : 'entries'}, each with the hash of the one before; ${endOf(pack)}`
}

/** `checkHistory` compares the proof with its hash; the service alone can compare an identifier. */
function checkPresented({ history }: Pack, { presented, created_at }: EvidencePack): string {
  const sealed = history.at(-1)?.sealed
  need(
    listFile,
    (presented !== undefined) === (sealed?.answers !== undefined),
    'contradicts history.json on a sealed proof',
  )
  if (!presented) return 'no identifier was presented'
  need(listFile, presented.matched_at <= created_at, 'was made before an identifier was presented')
  return `the service signed that the identifier presented at ${presented.matched_at} is the one of the sealed proof`
}

/** An earlier entry has an inclusion proof too, so a proof does not show the end. */
function endOf({ history, receipt }: Pack): string {
  const action = history.at(-1)?.action
  if (receipt) {
    need('receipt.json', !isDeletion(action), 'is of a deleted record, of which the service signs none')
    requireSameEnd(history, receipt)
    return `the service signed at ${receipt.issued_at} that they are all; later changes are not known`
  }
  need('receipt.json', isDeletion(action), 'is missing: the service signs one of each live record that it vouches for')
  return `they end as ${action}; later changes, such as a restore, are not known`
}

function isDeletion(action: string | null | undefined): boolean {
  return action === 'deleted' || action === 'purged'
}

function requireSameEnd(history: Pack['history'], { chain_head }: NonNullable<Pack['receipt']>): void {
  need('receipt.json', chain_head === history.at(-1)?.hash, 'is of another history')
}

/** The record's hash covers the person, the site and the notice. */
function checkRecord({ record, history, ipNetwork, noticeEntry }: Pack, id: string): string {
  const file = 'record.json'
  const last = history.at(-1) as AuditEntry
  need(file, record.id === id, 'is of another record')
  const isDated = record.created_at === history[0].created_at && record.updated_at === last.created_at
  need(file, isDated, 'has other times than its history')
  const stateOf = ({ accepted, preferences, policy_version }: typeof record | AuditEntry) =>
    canonical([accepted, preferences, policy_version])
  need(file, stateOf(record) === stateOf(last), 'has another state than the last entry of its history')
  const isDeleted = isDeletion(last.action)
  need(file, (record.deleted_at !== null) === isDeleted, `is ${isDeleted ? 'not ' : ''}deleted, unlike its history`)
  const deletion = findDeletion(history)
  need(file, record.deleted_at === (deletion?.created_at ?? null), 'was deleted at another time than in its history')
  const anchor = history.findLast(({ action }) => action === 'purged') ?? history[0]
  const { origin } = record
  const provenance = {
    origin_system: origin?.system,
    origin_id: origin?.id,
    origin_evidence: origin?.evidence,
  }
  const identity = { ...record, ...provenance, ip_network: ipNetwork, notice_entry: noticeEntry } as Identity
  const hash = hashRecord(identity, Buffer.from(anchor.salt ?? '', 'hex')).toString('hex')
  need(file, hash === anchor.record_hash, 'is not what the hash in its history covers')
  requireSameFacts(record, history)
  return anchor.action === 'purged'
    ? 'what the purge left of it is that of the hash of the purge'
    : 'the person, the site and the notice are those of the hash in its history'
}

function requireSameFacts(record: Pack['record'], history: Pack['history']): void {
  const file = 'record.json'
  const imported = history.findLast(({ action }) => action === 'imported')
  need(file, record.given_at === imported?.given_at, 'was answered at another time than in its history')
  need(file, (record.origin !== undefined) === (imported !== undefined), 'contradicts its history on its origin')
  const answer = history.findLast(({ action }) => ['created', 'imported', 'updated'].includes(action ?? ''))
  need(file, record.gpc === answer?.gpc, 'contradicts its history on the signal of the browser')
}

function checkReceipt(pack: Pack, receipt: NonNullable<Pack['receipt']>): string {
  const file = 'receipt.json'
  const { record, history } = pack
  const { pii_principal_id, consent_id, country, region, privacy_notice } = receipt
  need(file, receipt.record_id === record.id, 'is of another record')
  requireSameEnd(history, receipt)
  requireSameCheckpoints(pack, receipt.inclusion)
  const said = [pii_principal_id, consent_id, country, region, privacy_notice.site_id, privacy_notice.policy_version]
  const { subject_id, site_id, policy_version } = record
  const held = [subject_id, record.consent_id, record.country, record.region, site_id, policy_version]
  need(file, canonical(said) === canonical(held), 'says something else than record.json')
  const { events, purposes } = describeHistory(history, receipt)
  need(file, canonical(receipt.events.map(toEvent)) === canonical(events), 'has other events than history.json')
  need(file, canonical(receipt.purposes) === canonical(purposes), 'has other purposes than its events')
  need(file, isEnd(receipt, history), 'ends at another time than by its notice and history')
  requireSameNotice(pack, privacy_notice)
  requireSameOrigin(pack, receipt)
  return 'it is of this record, and has the events of its history'
}

function requireSameCheckpoints(
  { files, checkpoints }: Pack,
  inclusion: NonNullable<Pack['receipt']>['inclusion'],
): void {
  const names = ['checkpoint.json', ...checkpoints.map(({ file }) => file)]
  const texts = new Set(names.map(name => requireFile(files, name).toString('latin1')))
  need('receipt.json', inclusion !== null, 'does not say where the log has the record, unlike the pack')
  const own = [inclusion?.checkpoint ?? '', inclusion?.previous?.checkpoint ?? []].flat()
  need(
    'receipt.json',
    own.every(text => texts.has(text)),
    'has another checkpoint than the pack',
  )
}

function requireSameNotice({ record, notice }: Pack, said: NonNullable<Pack['receipt']>['privacy_notice']): void {
  const file = 'receipt.json'
  need(file, said.locale === (record.notice_locale ?? null), 'names another language than record.json')
  need(file, (said.notice === 'held') === (notice !== null), 'contradicts the pack on what notice was held')
  if (said.notice !== 'held' || notice === null) return
  const { version, hash, leaf_index } = said.publication
  const isSame = version === notice.entry.version && hash === notice.hash.toString('hex')
  need(file, isSame && leaf_index === notice.proof.leaf_index, 'names another publication than notice.json')
  need(file, detailsOf(said) === detailsOf(notice.manifest), 'says something else of the notice than notice.json')
}

function requireSameOrigin({ record, history }: Pack, { origin, events }: NonNullable<Pack['receipt']>): void {
  const file = 'receipt.json'
  const { system, id, evidence, files } = origin ?? {}
  const imported = history.flatMap(({ file_sha256 }) => file_sha256 ?? [])
  const held = record.origin && [record.origin.system, record.origin.id, record.origin.evidence, [...new Set(imported)]]
  const said = origin && [system, id, evidence, files]
  need(file, canonical([said ?? null]) === canonical([held ?? null]), 'has another origin than record.json')
  const told = events.map(({ given_at, gpc, circumstances = null }) => [given_at, gpc, circumstances])
  const facts = history.map(({ given_at = null, gpc = false, circumstances = null }) => [given_at, gpc, circumstances])
  need(
    file,
    canonical(told) === canonical(facts),
    'has other times, signals or circumstances of answers than history.json',
  )
}

/** True for the end of the last answer given to the service itself. */
function isEnd(
  { expires_at, privacy_notice: notice }: NonNullable<Pack['receipt']>,
  history: Pack['history'],
): boolean {
  const answer = history.findLast(({ action }) => action === 'created' || action === 'updated')
  const validFor = answer?.accepted && notice.notice === 'held' ? notice.valid_for : null
  const end = endOfConsent(new Date(answer?.created_at ?? 0), validFor)
  return end ? end.getTime() === Date.parse(expires_at ?? '') : expires_at === null
}

function detailsOf(notice: Readonly<Record<string, unknown>>): string {
  const names = ['texts', 'purposes', 'controller', 'valid_for', 'requires_renewal', 'effective_from']
  return canonical(names.map(name => notice[name] ?? null))
}

function toEvent(event: NonNullable<Pack['receipt']>['events'][number]) {
  const { event_id, event_time, entity_id, changed_by, event_state, preferences } = event
  return [event_id, event_time, entity_id, changed_by, event_state, preferences]
}

/** Events and purposes as in receipt.md. Purged data is taken from the receipt. */
function describeHistory(
  history: readonly AuditEntry[],
  { events, privacy_notice: notice }: NonNullable<Pack['receipt']>,
) {
  const told = history.map((entry, index) =>
    entry.salt === null ? { ...entry, preferences: events[index]?.preferences ?? null } : entry,
  )
  const consent = consentOf(told, namedPurposes(notice))
  const times = told.map(({ given_at, created_at }) => given_at ?? created_at)
  return {
    events: told.map(({ id, created_at, actor_id, changed_by, preferences }, index) => [
      ...[id, created_at, actor_id, changed_by],
      ...[stateTerms[consent.events[index]?.state ?? 'refused'], preferences],
    ]),
    purposes: datePurposes(consent.purposes, times),
  }
}

interface Place {
  readonly file: string
  readonly version: number
  readonly proof: InclusionProof
}

/** Entries with a proved place in the log, oldest first. */
function listPlaces({ history, first, between, last }: Pack): Place[] {
  return [
    { file: 'record-first.inclusion.json', version: 1, proof: first },
    ...between.map(proof => ({ file: `record-${proof.version}.inclusion.json`, version: proof.version, proof })),
    { file: 'record.inclusion.json', version: history.length, proof: last },
  ]
}

/** An entry's hash covers those back to `after`, which is proved, so the log had them then too. */
function checkPlace(pack: Pack, { file, version, proof }: Place, after: number): string {
  const { history, checkpoint, files } = pack
  const entry = history[version - 1]
  need(file, files.has(file) && entry !== undefined && version >= after, 'is of another entry')
  const { consent_id, hash, created_at } = entry as AuditEntry
  need(file, proof.record_id === consent_id && proof.version === version, 'is of another entry')
  requireIncluded(file, Buffer.from(hash ?? '', 'hex'), proof, checkpoint)
  const bracket = findPackBracket(pack, proof.leaf_index)
  for (const each of history.slice(Math.min(after, version - 1), version)) {
    const problem = findDateProblem(each.created_at, proof.leaf_index, bracket)
    need('history.json', problem === null, `has a version ${each.version} that ${problem}`)
  }
  const others = version - after > 1 ? `, as are the entries from ${after + 1} on` : ''
  return `entry ${version} of the record is leaf ${proof.leaf_index} of checkpoint.json; ${describeDate(created_at, bracket)}${others}`
}

function findPackBracket({ checkpoints, checkpoint }: Pack, leaf: number): Bracket {
  return findBracket([...checkpoints.map(earlier => earlier.checkpoint), checkpoint], leaf)
}

function requireIncluded(file: string, hash: Buffer, proof: InclusionProof, checkpoint: Pack['checkpoint']): void {
  need(file, proof.tree_size === checkpoint.tree_size, 'is of another tree than checkpoint.json')
  need(file, isIncluded(hash, proof, checkpoint), 'does not lead to the root of checkpoint.json')
  need(
    file,
    proof.root_hash === checkpoint.root_hash && proof.leaf_hash === leafHash(hash).toString('hex'),
    'names another leaf or root',
  )
}

function requireEntry({ checkpoint, administration, notice }: Pack, { file, hash, entry, proof }: ProvedEntry): void {
  const { account_id, version } = entry
  need(file, account_id === checkpoint.account_id, 'is of another account')
  need(proofOf(file), proof.record_id === account_id && proof.version === version, 'is of another entry')
  requireIncluded(proofOf(file), hash, proof, checkpoint)
  const before = [...administration, ...(notice ? [notice] : [])].find(one => one.entry.version === version - 1)
  need(file, !before || entry.previous === before.hash.toString('hex'), 'does not follow the entry before it')
}

function checkEarlier(pack: Pack, { file, checkpoint: earlier, proof }: EarlierCheckpoint): string {
  const { checkpoint } = pack
  need(file, earlier.account_id === checkpoint.account_id, 'is of another account')
  need(file, file === `checkpoints/${earlier.tree_size}.json`, 'has another size than its name')
  const [first, second] = [toSide(earlier), toSide(checkpoint)]
  const isOf = first.size < second.size && proof.first === first.size && proof.second === second.size
  need(consistencyOf(file), isOf, 'is of other checkpoints')
  const path = toBytes(proof.path)
  need(consistencyOf(file), isConsistent({ first, second, path }), 'does not lead from one checkpoint to the other')
  const stamp = describeStamp(pack, file.replace(/json$/, 'tsr'))
  return `the log only grew from ${first.size} to ${second.size} entries${stamp}`
}

function describeStamp({ files }: Pack, name: string): string {
  const stamp = files.get(name)
  if (!stamp) return ''
  need(name, isStampOf(stamp, requireFile(files, name.replace(/tsr$/, 'json'))), 'is not of its checkpoint')
  return '; its time stamp is not verified here: see README.txt'
}

function checkNotice(pack: Pack, notice: NonNullable<Pack['notice']>, listed: EvidencePack['files']): string {
  const { file, entry, proof, manifest } = notice
  const { record, noticeEntry, first } = pack
  requireEntry(pack, notice)
  need(file, entry.version === noticeEntry, 'is not the entry that the record names')
  const { site_id, policy_version } = record
  const target = { kind: 'notice', id: site_id, policy_version }
  need(file, entry.action === 'notice_published', 'publishes nothing')
  need(file, canonical([entry.target]) === canonical([target]), 'is of another site or version than the record')
  need(file, manifest.site_id === site_id && manifest.policy_version === policy_version, 'contradicts itself')
  need(file, proof.leaf_index < first.leaf_index, 'is behind the record in the log: it was published after it')
  const bracket = findPackBracket(pack, proof.leaf_index)
  const problem = findDateProblem(entry.at, proof.leaf_index, bracket)
  need(file, problem === null, problem ?? '')
  requireTexts(listed, manifest)
  return `${describeDate(entry.at, bracket)}; it is leaf ${proof.leaf_index}, before the record, whose first entry is leaf ${first.leaf_index}`
}

function requireTexts(listed: EvidencePack['files'], { texts }: NonNullable<Pack['notice']>['manifest']): void {
  const expected = new Map(texts.map(text => [textFile(text), text]))
  for (const [name, { size, sha256 }] of expected) {
    const actual = listed.find(file => file.name === name)
    need(name, actual !== undefined, 'is missing')
    need(name, actual?.bytes === size && actual.sha256 === sha256, 'is not the text that was published')
  }
  const others = listed.filter(({ name }) => name.startsWith('notice/') && !expected.has(name))
  for (const { name } of others) need(name, false, 'is not a text of the notice')
}

function checkNoNotice({ noticeEntry, files }: Pack): string {
  need('notice.json', noticeEntry === null, 'is missing: the record names a notice')
  for (const name of files.keys()) need(name, !/^notice[./]/.test(name), 'belongs to a notice, but the record has none')
  return 'the service tied no published notice to the record when it wrote it'
}

function checkAdministration(pack: Pack, proved: ProvedEntry): string {
  const { file, entry, proof } = proved
  requireEntry(pack, proved)
  need(file, file === `administration/${entry.version}.json`, 'has another version than its name')
  need(file, entry.version !== pack.notice?.entry.version, 'has the version of notice.json')
  return `${entry.action} at ${entry.at}; it is leaf ${proof.leaf_index} of checkpoint.json`
}
