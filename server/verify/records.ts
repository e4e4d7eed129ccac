import type { Sql } from 'postgres'
import { parseExactJson } from '../../src/contract/exact-json.ts'
import type { DatabaseFinding } from '../../src/contract/index.ts'
import { endOfConsent } from '../../src/contract/validity.ts'
import { sameJson } from '../../src/evidence/canonical.ts'
import { type ChainEntry, dropVerified, findDeletion, readFacts, showSealed } from '../../src/evidence/chain.ts'
import { type Finding, verifyHistory } from '../../src/evidence/history.ts'
import { originSecretName } from '../consents/origin.ts'
import { findSecret } from '../db/secrets.ts'
import { firstIdAt, lastIdAt, noId, readInstant } from '../ids.ts'
import { findPublications } from '../notices/held-queries.ts'
import { isNoticeOf, type Publication, readPublication } from '../notices/receipt.ts'
import { findInOrigin, type OriginScope } from './origins.ts'
import {
  findLooseOrigins,
  findPageEnd,
  listVersions,
  type Position,
  type Range,
  type RecordRow,
  type StoredRecord,
  type VersionRow,
} from './queries.ts'
import { attempt, type Found, reading, type Work } from './work.ts'

/** Each entry may hold 16 KiB of preferences. */
export const maxEntriesPerPurge = 2000

export interface Stored {
  readonly id: string
  /** Read from the last page, which has the last entry. */
  record: StoredRecord | null
  /** Oldest first. Verified entries lose their preferences, because a history may exceed the memory. */
  readonly entries: ChainEntry[]
  readonly log: Map<number, Buffer>
  /** The newest, as a purge may seal them; kept only on request. */
  readonly answers: Answer[]
  /** Leaf of the first entry; null until it is in the log. */
  firstLeaf: number | null
  /** False if a number in the record's preferences has more digits than a double. */
  isExact: boolean
  /** Versions with such a number. */
  readonly inexact: number[]
}

interface Answer {
  readonly version: number
  readonly accepted: boolean
  readonly preferences: Record<string, boolean>
}

/** As many as a pack has entries. */
const maxAnswers = 500

/** Keeps the entry if its acceptance or its choices differ from those of the entry before. */
function addAnswer(answers: Answer[], { version, accepted, preferences }: ChainEntry): void {
  const choices = Object.entries(preferences ?? {}).filter(
    (choice): choice is [string, boolean] => typeof choice[1] === 'boolean',
  )
  const answer = { version, accepted, preferences: Object.fromEntries(choices) }
  const last = answers.at(-1)
  if (last?.accepted === accepted && sameJson(last.preferences, answer.preferences)) return
  answers.push(answer)
  if (answers.length > maxAnswers) answers.shift()
}

function newStored(id: string): Stored {
  return { id, record: null, entries: [], log: new Map(), answers: [], firstLeaf: null, isExact: true, inexact: [] }
}

function add(stored: Stored, row: VersionRow, keepsAnswers: boolean): void {
  if (row.record) {
    stored.record = toRecord(row.record)
    stored.isExact = isExact(row.record.preferences)
  }
  if (row.version === null) return
  if (!isExact(row.preferences)) stored.inexact.push(row.version)
  if (row.logged) stored.log.set(row.version, row.logged)
  if (row.version === 1) stored.firstLeaf = row.leaf_index
  if (!row.hash) return
  const { entries } = stored
  const previous = entries.at(-1)
  if (previous && entries.length > 1) entries[entries.length - 1] = dropVerified(previous)
  const entry = toEntry(row, row.version, row.hash)
  if (keepsAnswers) addAnswer(stored.answers, entry)
  entries.push(entry)
}

/** Only a number of 16 digits or more can have more than a double. */
function isExact(json: string | null): boolean {
  return json === null || !/[\d.]{16}/.test(json) || attempt(() => [parseExactJson(json)]) !== null
}

/** Missing columns become empty values, which match no hash. */
function toEntry(row: VersionRow, version: number, hash: Buffer): ChainEntry {
  const { accepted, policy_version, salt, sealed } = row
  return {
    version,
    action: row.action ?? '',
    accepted,
    preferences: JSON.parse(row.preferences ?? 'null'),
    policy_version,
    actor: { kind: row.changed_by ?? '', id: row.actor_id },
    at: row.created_at ?? new Date(Number.NaN),
    salt,
    payloadHash: row.payload_hash ?? Buffer.alloc(0),
    hash,
    facts: readFacts(row),
    ...(sealed && { sealed: salt ? showSealed(sealed, salt, true) : { ...sealed, proof_hash: '' } }),
  }
}

function toRecord(row: RecordRow): StoredRecord {
  const preferences = JSON.parse(row.preferences ?? 'null')
  return { ...row, preferences, chain_head: row.chain_head ?? Buffer.alloc(0) }
}

function verifyStored(scope: Scope, stored: Stored): Finding[] {
  const { id, record, entries, log, isExact, inexact } = stored
  if (entries.length === 0 || !record) return [findAbsence({ record, entries, log })]
  const { record_hash: recordHash, purged_at } = record
  const found = findInLog(entries, log)
  const moved = new Set(found.flatMap(({ version, problem }) => (problem === 'reordered' ? version : [])))
  const history = verifyHistory({ id, recordHash, identity: record, isPurged: purged_at !== null }, entries)
  const chain = history.filter(({ version }) => version === null || !moved.has(version))
  const numbers = [...(isExact ? [] : [null]), ...inexact].map(
    (version): Finding => ({ version, problem: 'changed', detail: inexactDetail }),
  )
  const isReported = new Set(chain.map(({ version }) => version))
  const logged = found.filter(({ version }) => !isReported.has(version))
  return [
    ...chain,
    ...numbers,
    ...logged,
    ...findInRecord(record, entries),
    ...findInNotice(record, stored, scope.publications),
    ...findInOrigin(scope, record, entries),
  ]
}

const inexactDetail = 'its preferences have a number with more digits than a double'

function findAbsence({ record, entries, log }: Pick<Stored, 'record' | 'entries' | 'log'>): Finding {
  const missing = record ? 'its history is' : entries.length > 0 ? 'the record is' : 'the record and its history are'
  if (log.size > 0) return { version: null, problem: 'lost', detail: `${missing} missing` }
  return { version: null, problem: 'forged', detail: `${missing} missing, and the log has no entries of it` }
}

function findInLog(entries: readonly ChainEntry[], log: Stored['log']): Finding[] {
  const findings: Finding[] = []
  const last = entries.at(-1)?.version ?? 0
  let known: Map<string, number> | undefined
  for (const { version, hash } of entries) {
    const logged = log.get(version)
    if (logged?.equals(hash)) continue
    known ??= new Map([...log].map(([version, logged]) => [logged.toString('hex'), version]))
    const other = known.get(hash.toString('hex'))
    if (other !== undefined) {
      findings.push({ version, problem: 'reordered', detail: `is version ${other} in the log` })
    } else if (logged) findings.push({ version, problem: 'changed', detail: 'has another hash in the log' })
    else findings.push({ version, problem: 'forged', detail: 'is not in the log' })
  }
  const present = new Set(entries.map(({ version }) => version))
  for (const version of log.keys()) {
    if (present.has(version)) continue
    const problem = version > last ? 'shortened' : 'lost'
    findings.push({ version, problem, detail: 'is missing from the history' })
  }
  return findings
}

function findInRecord(record: StoredRecord, entries: readonly ChainEntry[]): Finding[] {
  const findings: Finding[] = []
  const found = (problem: Finding['problem'], detail: string) => void findings.push({ version: null, problem, detail })
  const last = entries.at(-1)
  const timeOf = (action: string) => entries.findLast(entry => entry.action === action)?.at.getTime() ?? null
  if (!last) return []
  const versions = `its version is ${record.version}; its history ends at ${last.version}`
  if (record.version !== last.version) found(record.version > last.version ? 'shortened' : 'changed', versions)
  if (!record.chain_head.equals(last.hash)) found('changed', 'its head is not the hash of its last entry')
  const isAnswer = record.accepted === last.accepted && record.policy_version === last.policy_version
  const arePreferences = attempt(() => sameJson(record.preferences, last.preferences)) // throws for no JSON number
  if (!isAnswer || !arePreferences) found('changed', 'its state is not that of its last entry')
  const compare = (name: 'created_at' | 'updated_at' | 'deleted_at' | 'purged_at', expected: number | null) => {
    if ((record[name]?.getTime() ?? null) !== expected) found('changed', `its ${name} does not match its history`)
  }
  compare('created_at', readInstant(record.id).getTime())
  compare('updated_at', last.at.getTime())
  compare('deleted_at', findDeletion(entries)?.at.getTime() ?? null)
  compare('purged_at', isPurging(record, last) ? null : timeOf('purged'))
  if (record.site === null) found('changed', 'the account does not have its site')
  return findings
}

type Publications = ReadonlyMap<number, Publication | null>

interface Scope extends OriginScope {
  readonly publications: Publications
}

async function readScope(sql: Sql, accountId: string, records: readonly Stored[]): Promise<Scope> {
  const hasOrigin = records.some(({ record }) => record?.origin)
  const originSecret = hasOrigin ? await reading(() => findSecret(sql, originSecretName)) : undefined
  return { accountId, originSecret, publications: await readPublications(sql, accountId, records) }
}

function findInNotice(record: StoredRecord, { entries, firstLeaf }: Stored, publications: Publications): Finding[] {
  const { notice_entry: entry, expires_at } = record
  const found = (detail: string): Finding[] => [{ version: null, problem: 'changed', detail }]
  const publication = entry === null ? undefined : publications.get(entry)
  if (entry !== null && !(publication && isNoticeOf(publication, record, firstLeaf)))
    return found('its notice was not published for its site and policy version before it')
  const last = entries.findLast(({ action }) => action === 'created' || action === 'updated')
  const end = last?.accepted && publication ? endOfConsent(last.at, publication.manifest.valid_for) : null
  const isEnd = (expires_at?.getTime() ?? null) === (end?.getTime() ?? null)
  return isEnd ? [] : found('its expires_at does not match its history and notice')
}

async function readPublications(sql: Sql, accountId: string, records: readonly Stored[]): Promise<Publications> {
  const entries = new Set(records.flatMap(({ record }) => record?.notice_entry ?? []))
  if (entries.size === 0) return new Map()
  const rows = await reading(() => findPublications(sql, accountId, [...entries]))
  return new Map(rows.map(row => [row.version, attempt(() => readPublication(row))])) // verifyAdministration reports null
}

function isPurging({ purged_at }: StoredRecord, last: ChainEntry): boolean {
  return last.action === 'purged' && purged_at === null
}

/** Few, because rows that outlive the young heap cost more than statements. */
const rowsPerPage = 250

/** Skips records created meanwhile; otherwise it might never end. */
export async function* verifyRecords(
  { sql, signal, inspected }: Work,
  accountId: string,
): AsyncGenerator<readonly Found[]> {
  const past = () => ({ upTo: firstIdAt(Date.now()) })
  const future = () => ({ after: { id: lastIdAt(Date.now()), version: maxVersion } }) // from when the past is read
  for (const range of [past, future])
    for await (const { records, findings } of inspectRecords(sql, accountId, range())) {
      signal.throwIfAborted()
      for (const { record, entries } of records) {
        inspected.records += record ? 1 : 0
        inspected.entries += entries.length
      }
      yield findings
    }
  for (let after: string | null = noId; after !== null; ) {
    signal.throwIfAborted()
    const last: string = after
    const [page] = await reading(() => findLooseOrigins(sql, accountId, last, originsPerPage))
    yield (page?.loose ?? []).map(consent_id => ({ ...loose, consent_id }))
    after = page?.last ?? null
  }
}

const originsPerPage = 10_000
const loose = { problem: 'lost', detail: 'an origin refers to a missing record' } as const

/** PostgreSQL's largest integer. */
const maxVersion = 2 ** 31 - 1

interface InspectedPage {
  readonly records: readonly Stored[]
  readonly verified: readonly Stored[]
  readonly findings: readonly RecordFinding[]
}

interface RecordFinding extends DatabaseFinding {
  readonly consent_id: string
}

/** Reads a record again before reporting it: it may have changed between two pages. */
export async function* inspectRecords(sql: Sql, accountId: string, range: Range): AsyncGenerator<InspectedPage> {
  for await (const records of readRecords(sql, accountId, range)) {
    const scope = await readScope(sql, accountId, records)
    const verified = records.filter(stored => inspect(scope, stored).length === 0)
    const findings: RecordFinding[] = []
    if (verified.length < records.length) {
      const isVerified = new Set(verified)
      const ids = records.filter(stored => !isVerified.has(stored)).map(({ id }) => id)
      for await (const again of readRecords(sql, accountId, { ids })) {
        const current = await readScope(sql, accountId, again)
        for (const stored of again) {
          for (const finding of inspect(current, stored))
            findings.push({ account_id: accountId, consent_id: stored.id, ...finding })
        }
      }
    }
    yield { records, verified, findings }
  }
}

/** An error becomes a finding, so that later records are verified too. */
function inspect(scope: Scope, stored: Stored): Finding[] {
  try {
    return verifyStored(scope, stored)
  } catch {
    return [{ version: null, problem: 'changed', detail: 'it has values that the service cannot have written' }]
  }
}

/** Reads one page ahead. Yields a record with the page that completes it. */
async function* readRecords(sql: Sql, accountId: string, range: Range): AsyncGenerator<Stored[]> {
  let page = readPage(sql, accountId, range)
  let records: Stored[] = []
  for (;;) {
    const { rows, end } = await page
    if (end) page = readPage(sql, accountId, { ...range, after: end })
    page.catch(() => {})
    for (const row of rows) {
      if (row.record_id === null) continue // taken from a record, which is reported
      add(lastOf(records, row.record_id), row, range.keepsAnswers === true)
    }
    const incomplete = end ? records.splice(-1) : []
    if (records.length > 0) yield records
    if (!end) return
    records = incomplete
  }
}

function lastOf(records: Stored[], id: string): Stored {
  const last = records.at(-1)
  if (last?.id === id) return last
  const stored = newStored(id)
  records.push(stored)
  return stored
}

async function readPage(
  sql: Sql,
  accountId: string,
  range: Range,
): Promise<{ rows: VersionRow[]; end: Position | null }> {
  const end = await reading(() => findPageEnd(sql, accountId, range, rowsPerPage))
  return { end, rows: await reading(() => listVersions(sql, accountId, range, end)) }
}
