import { type ErrorReason, ImportRow, type ImportRow as Row } from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { canonical } from '../../src/evidence/canonical.ts'
import { type Actor, hashRecord, linkOf, newSalt } from '../../src/evidence/chain.ts'
import type { Caller } from '../auth/caller.ts'
import { reaches } from '../db/reach.ts'
import { Failure, noSiteInUse } from '../failure.ts'
import { newId, readInstant } from '../ids.ts'
import { findPlace, forEachYielding, toIdentity } from './create.ts'
import type { ConsentDeps } from './deps.ts'
import { findImports, insertImports, type KnownImport } from './insert-queries.ts'
import { hashOrigin } from './origin.ts'
import type { View } from './queries.ts'
import type { Created, CreateResult, ImportClaim, ImportedAnswer, NewImport } from './rows.ts'

interface ImportDraft {
  readonly row: Row
  readonly answers: readonly ImportedAnswer[]
  readonly claim: ImportClaim
}

interface Growing extends NewImport {
  readonly entries: NewImport['entries'][number][]
}

interface ImportRun {
  readonly view: View
  /** By row index, so that a retry does not report its own record as a replay. */
  readonly newIds: Map<number, string>
}

/**
 * Imports all in one statement; results are in row order. A known origin replays its first record. Idempotent without a
 * time limit.
 */
export async function importRows(
  deps: ConsentDeps,
  caller: Caller,
  rows: readonly unknown[],
  run: ImportRun,
): Promise<CreateResult[]> {
  const results: CreateResult[] = []
  const drafts = new Map<number, ImportDraft>()
  await forEachYielding(rows.entries(), ([index, row]) => {
    const { data, error } = ImportRow.safeParse(row)
    if (!data) results[index] = error
    else if (reaches(caller, data.site_id)) drafts.set(index, toDraft(deps.originSecret, caller.accountId, data))
    else results[index] = noSiteInUse()
  })
  for (const [index, json] of await insertNew(deps, caller, drafts, run)) results[index] = { json, isReplayed: false }
  await replayKnown(deps, caller, { drafts, results, ...run })
  return results
}

async function insertNew(
  deps: ConsentDeps,
  caller: Caller,
  drafts: ReadonlyMap<number, ImportDraft>,
  { view, newIds }: ImportRun,
): Promise<Map<number, string>> {
  const indexes = new Map<string, number>()
  const imports: NewImport[] = []
  await forEachYielding(firstOf(drafts).values(), ([index, draft]) => {
    const id = newIds.get(index) ?? newId()
    newIds.set(index, id)
    indexes.set(id, index)
    const record = buildImport(deps, caller, id, draft)
    imports.push(record)
    const later = draft.answers.slice(1)
    return later.length > 0 ? forEachYielding(later, answer => addEntry(record, caller, answer)) : undefined
  })
  if (imports.length === 0) return new Map()
  const inserted = await insertImports(deps.sql, caller.accountId, { imports, actor: caller, view })
  return new Map(inserted.map(({ id, json }) => [indexes.get(id) as number, json]))
}

/** A draft that is neither inserted nor known has an unknown site. */
async function replayKnown(
  { sql }: ConsentDeps,
  { accountId }: Caller,
  { drafts, results, view, newIds }: ImportRun & { drafts: ReadonlyMap<number, ImportDraft>; results: CreateResult[] },
): Promise<void> {
  const open = [...drafts].filter(([index]) => results[index] === undefined)
  if (open.length === 0) return
  const origins = new Map(open.map(([, { claim }]) => [nameOf(claim), claim.origin]))
  const known = await findImports(sql, accountId, [...origins.values()], view)
  const byOrigin = new Map(known.map(one => [nameOf(one), one]))
  const first = firstOf(drafts)
  for (const [index, { claim }] of open) {
    const one = byOrigin.get(nameOf(claim))
    const isTried = first.get(nameOf(claim))?.[1].claim.bodyHash.equals(claim.bodyHash)
    if (one) results[index] = answerKnown(one, claim, newIds.get(index))
    else results[index] = isTried ? noSiteInUse() : conflict('An earlier row of the batch has this origin.')
  }
}

function firstOf(drafts: ReadonlyMap<number, ImportDraft>): Map<string, readonly [index: number, draft: ImportDraft]> {
  const first = new Map<string, readonly [index: number, draft: ImportDraft]>()
  for (const [index, draft] of drafts) {
    const origin = nameOf(draft.claim)
    if (!first.has(origin)) first.set(origin, [index, draft])
  }
  return first
}

function nameOf({ origin }: Pick<ImportClaim, 'origin'>): string {
  return origin.toString('base64')
}

function answerKnown(
  { consent_id: id, body_hash: bodyHash, json }: KnownImport,
  claim: ImportClaim,
  own: string | undefined,
): Created | Failure {
  if (bodyHash === null) return conflict('The record of this origin was erased, and is not imported again.', 'purged')
  if (!bodyHash.equals(claim.bodyHash))
    return conflict('This origin was imported with different content.', 'origin_differs')
  return json === null ? conflict('The record of this origin is missing.') : { json, isReplayed: id !== own }
}

function conflict(message: string, reason?: ErrorReason<'conflict'>): Failure {
  return new Failure('conflict', message, reason && { reason })
}

function toDraft(secret: Uint8Array, accountId: string, row: Row): ImportDraft {
  const { changes: _, file_sha256: __, given_at: ___, circumstances: ____, origin, ...rest } = row
  const answers = toAnswers(row)
  // Another file of the same system can contain the same row.
  const content = answers.map(({ file_sha256: _, ...answer }) => answer)
  const bodyHash = sha256(canonical({ ...rest, origin, answers: content }))
  return { row, answers, claim: { origin: hashOrigin(secret, accountId, origin), bodyHash } }
}

/** A change inherits the fields that it omits. */
function toAnswers({
  accepted,
  preferences,
  policy_version,
  given_at,
  file_sha256,
  circumstances,
  changes = [],
}: Row): ImportedAnswer[] {
  let last: ImportedAnswer = {
    accepted: accepted ?? false,
    preferences: preferences ?? {},
    policy_version,
    given_at,
    file_sha256,
    ...(circumstances && { circumstances }),
  }
  const answers = [last]
  for (const change of changes) {
    last = {
      accepted: change.accepted,
      preferences: change.preferences,
      policy_version: change.policy_version ?? last.policy_version,
      given_at: change.given_at,
      file_sha256: change.file_sha256 ?? last.file_sha256,
      ...(change.circumstances && { circumstances: change.circumstances }),
    }
    answers.push(last)
  }
  return answers
}

function buildImport(
  { config, geo }: ConsentDeps,
  actor: Actor,
  id: string,
  { row, answers, claim }: ImportDraft,
): Growing {
  const identity = {
    ...toIdentity(config, row, findPlace(geo, row)),
    origin_system: row.origin.system,
    origin_id: row.origin.id,
    origin_evidence: row.origin.evidence ?? null,
  }
  const salt = newSalt()
  const record = { id, at: readInstant(id), identity, recordHash: hashRecord(identity, salt), claim, entries: [] }
  addEntry(record, actor, answers[0] as ImportedAnswer, salt)
  return record
}

/** Entries are dated with the import; the importer's time and file hash are facts. */
function addEntry({ id, at, recordHash, entries }: Growing, actor: Actor, answer: ImportedAnswer, salt?: Buffer): void {
  const { given_at, file_sha256, circumstances } = answer
  const previous = entries.at(-1)?.link.hash ?? null
  const facts = { file_sha256, given_at, ...(circumstances && { circumstances }) }
  const event = {
    id,
    version: entries.length + 1,
    action: 'imported',
    actor,
    at,
    previous,
    state: answer,
    facts,
    ...(previous === null && { recordHash }),
  } as const
  entries.push({ answer, link: linkOf(event, salt) })
}
