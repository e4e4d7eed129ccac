import type { ConsentReceipt } from '../contract/documents/consent-receipt.ts'
import { deletedIds, describePurge } from '../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { PurgeReceiptStatement } from '../contract/documents/fields.ts'
import type { GateReceipt } from '../contract/documents/gate-receipt.ts'
import { type DocumentKind, documents } from '../contract/documents/index.ts'
import { describeOrigin } from '../contract/origin.ts'
import { findContradiction } from './contradictions.ts'
import { describeDate, findDateProblem } from './dates.ts'
import { findCheckpointProblem, findSignatureProblem, type TrustedKey } from './key-chain.ts'
import { isConsistent, isIncluded, isStampOf, toBytes } from './proofs.ts'
import { type Claimed, readCheckpoint, readSigned, type SignedCheckpoint, toSide } from './signed.ts'
import { describeNewer, describeSince, type Present } from './since.ts'
import { NotValid, notValid, type Verdict } from './verdict.ts'

export interface Keys {
  readonly byId: ReadonlyMap<string, TrustedKey>
  /** Completes "the key is …". */
  sourceOf(keyId: string): string
  /** For an unknown key; completes "it is …". */
  readonly none: string
}

/** `keyId`: of a document, whose key may be looked up by it. */
export type FindKeys = (signer: DocumentKind['signer'], keyId?: string) => Promise<Keys>

export interface Newest extends SignedCheckpoint {
  /** Why the log does not extend a verified earlier checkpoint of its account; or null. */
  findGrowthProblem(earlier: SignedCheckpoint): Promise<string | null>
}

export interface Sources {
  readonly findKeys: FindKeys
  /** The newest checkpoint of the log, which must extend the document's. Without it the log is not requested. */
  readonly newest?: (() => Promise<Newest>) | undefined
  /** The instance's present receipt of a record. Without it, it is not requested. */
  readonly findPresent?: ((recordId: string) => Promise<Present>) | undefined
  /** Compares the export of a manifest, if it is there. Returns a suffix for the detail. @throws NotValid */
  readonly compareExport?: ((sha256: string) => Promise<string>) | undefined
  /** To be the list that a gate receipt allows, now. */
  readonly list?: { readonly file: string; readonly sha256: string } | undefined
}

/** Verifies form, signature, type, version and fields. */
export async function verifyDocument(bytes: Buffer, sources: Sources): Promise<Verdict> {
  let claimed: Claimed
  try {
    claimed = readSigned(bytes)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return notValid(describeDamage(bytes) ?? `it ${error.message}`)
  }
  const { document } = claimed
  try {
    const kind = requireKind(document)
    const source = await requireSignature(claimed, kind, sources.findKeys)
    requireFields(document, kind)
    const contradiction = findContradiction(document)
    if (contradiction) throw new NotValid(`is signed, but contradicts ${contradiction}`)
    const about = await requireContent(bytes, document, sources)
    return {
      type: document.type,
      result: 'valid',
      signed_by: document.key_id,
      issued_at: readTime(document, kind),
      detail: `the key is ${source}${about}`,
    }
  } catch (error) {
    if (!(error instanceof NotValid) || error.file !== '') throw error // the keys in a pack
    return notValid(`it ${error.message}`, document.type)
  }
}

/** A purge's receipt repeats the times of its erasure. */
function readTime(document: Claimed['document'], { issuedAt }: DocumentKind): string {
  return String(Object(document['purge']).finished_at ?? document[issuedAt])
}

function requireKind({ type, version }: Claimed['document']): DocumentKind {
  const kind = Object.hasOwn(documents, type) ? documents[type] : undefined
  if (!kind) throw new NotValid(`is of the type ${type}, which this program does not know`)
  if (version > 1)
    throw new NotValid(`is of version ${version}, and this program knows version 1: a newer one can verify it`)
  if (version !== 1) throw new NotValid(`is of version ${version}, which does not exist`)
  return kind
}

/** Completes "the key is …". */
async function requireSignature(
  { document, isSignedBy }: Claimed,
  kind: DocumentKind,
  findKeys: FindKeys,
): Promise<string> {
  const { key_id } = document
  const { byId, sourceOf, none } = await findKeys(kind.signer, key_id)
  const problem = findSignatureProblem({ key_id, time: readTime(document, kind), isSignedBy }, byId)
  if (!problem) return sourceOf(key_id)
  if (byId.has(key_id)) throw new NotValid(problem)
  throw new NotValid(`${problem}: it is ${none}`)
}

function requireFields(document: Claimed['document'], { schema }: DocumentKind): void {
  const parsed = schema.safeParse(document)
  if (parsed.success) return
  const [issue] = parsed.error.issues
  throw new NotValid(`is signed, but not as its type says (${issue?.path.join('.')}: ${issue?.message})`)
}

/** Returns a suffix for the detail. */
async function requireContent(bytes: Buffer, document: Claimed['document'], sources: Sources): Promise<string> {
  const { type } = document
  if (type === 'gate_receipt') return requireList(document as unknown as GateReceipt, sources.list)
  if (sources.list) throw new NotValid(`is of the type ${type}, which allows no list`)
  if (type === 'checkpoint') return await requireGrowth(readCheckpoint(bytes.toString('latin1')), sources.newest)
  if (type === 'export_manifest') return (await sources.compareExport?.(String(document['sha256']))) ?? ''
  if (type === 'erasure_receipt') return requirePurge(document as unknown as ErasureReceipt)
  if (type !== 'consent_receipt') return ''
  const receipt = document as unknown as ConsentReceipt
  const content = requireOrigin(receipt) + (await requireInclusion(receipt, sources))
  if (!sources.findPresent) return content + describeNewer(receipt)
  return content + describeSince(receipt, await sources.findPresent(receipt.record_id))
}

/** Without a list it is only said if the receipt is still valid. */
function requireList({ allowed, list, stopped, valid_until }: GateReceipt, given: Sources['list']): string {
  const isExpired = new Date().toISOString() >= valid_until
  if (!given) return isExpired ? `; it expired at ${valid_until}` : `; it expires at ${valid_until}`
  const { file, sha256 } = given
  if (sha256 !== allowed.sha256) {
    const known = { [list.sha256]: ', but the one that was checked', [stopped.sha256]: ', but its stopped lines' }
    throw new NotValid(`is valid, but ${file} is not the list that it allows${known[sha256] ?? ''}`)
  }
  if (isExpired) throw new NotValid(`allows ${file}, but expired at ${valid_until}: check the list again`)
  return `; ${file} is the list that it allows, until ${valid_until}`
}

/** The receipt must agree with its purge certificates. */
function requirePurge(receipt: ErasureReceipt): string {
  const seen = receipt.purge ? describePurge(deletedIds(receipt), receipt.purge.certificates) : null
  const isStated = PurgeReceiptStatement.safeParse(receipt.statement).success
  if (receipt.purge ? seen === null || receipt.statement !== seen : isStated)
    throw new NotValid('is signed, but contradicts its purge certificates')
  return receipt.purge ? `; it is the receipt of a purge, and says: ${seen}` : ''
}

function requireOrigin({ events, origin }: ConsentReceipt): string {
  const imported = events.filter(({ given_at }) => given_at !== null)
  const isFirst = imported.every((event, index) => event === events[index])
  const isOne = (origin === null) === (imported.length === 0)
  const [first] = events
  const isSame =
    origin === null ||
    (origin.imported_at === first?.event_time &&
      origin.system.isWellFormed() &&
      origin.statement === describeOrigin(origin))
  if (!isFirst || !isOne || !isSame) throw new NotValid('is signed, but contradicts itself on the import of its record')
  return origin === null ? '' : `; ${origin.statement}`
}

async function requireInclusion(receipt: ConsentReceipt, { findKeys, newest }: Sources): Promise<string> {
  const { inclusion, chain_head, events } = receipt
  if (!inclusion) return '; its record was not in the log yet'
  const { byId } = await findKeys('service')
  const after = requireCheckpoint(inclusion, byId)
  if (!isIncluded(Buffer.from(chain_head, 'hex'), inclusion, after.checkpoint))
    throw new NotValid('is signed, but its record is not in the log of its checkpoint')
  const live = await requireGrowth(after, newest)
  const before = inclusion.previous && requireCheckpoint(inclusion.previous, byId)
  if (
    before &&
    !isConsistent({
      first: toSide(before.checkpoint),
      second: toSide(after.checkpoint),
      path: toBytes(inclusion.previous?.path),
    })
  )
    throw new NotValid('is signed, but its checkpoints are not of one log')
  const bracket = { after: after.checkpoint, before: before?.checkpoint ?? null }
  const at = events.at(-1)?.event_time ?? ''
  const problem = findDateProblem(at, inclusion.leaf_index, bracket)
  if (problem) throw new NotValid(`is signed, but its last event ${problem}`)
  return `; its last event is ${describeDate(at, bracket)}${live}`
}

interface Stamped {
  readonly checkpoint: string
  /** In base64. */
  readonly timestamp: string | null
}

function requireCheckpoint(
  { checkpoint: text, timestamp }: Stamped,
  keys: ReadonlyMap<string, TrustedKey>,
): SignedCheckpoint {
  let signed: SignedCheckpoint
  try {
    signed = readCheckpoint(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new NotValid(`is signed, but its checkpoint ${error.message}`)
  }
  const problem = findCheckpointProblem(signed, keys)
  if (problem) throw new NotValid(`is signed, but its checkpoint ${problem}`)
  if (timestamp && !isStampOf(Buffer.from(timestamp, 'base64'), Buffer.from(text)))
    throw new NotValid('is signed, but its time stamp is not of its checkpoint')
  return signed
}

/** With `newest`, the log must extend the checkpoint. */
async function requireGrowth(signed: SignedCheckpoint, newest: Sources['newest']): Promise<string> {
  if (!newest) return ''
  const log = await newest()
  const [asked, own] = [log.checkpoint, signed.checkpoint].map(({ account_id }) => account_id)
  if (asked !== own)
    throw new NotValid(`is of the account ${own}, and the log that was asked is of the account ${asked}`)
  const problem = await log.findGrowthProblem(signed)
  if (problem) throw new NotValid(`is signed, but ${problem}`)
  return `; the log only grew since, to that of ${log.checkpoint.created_at}`
}

/** Describes changes made by editors, shells and mail programs. */
function describeDamage(bytes: Buffer): string | null {
  const start = bytes.subarray(0, 3).toString('hex')
  if (/^(fffe|feff)/.test(start)) return 'it was turned into UTF-16; the bytes must stay as they were signed'
  if (start === 'efbbbf') return 'it begins with a byte order mark, which was not signed'
  if (bytes.includes('\r')) return 'line ends were changed to CRLF; with those of before (tr -d "\\r") it may be valid'
  if (bytes.length > 0 && bytes.at(-1) !== 10) return 'its end is missing: the last line must end with a line feed'
  return null
}
