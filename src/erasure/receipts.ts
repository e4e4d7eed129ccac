import type { KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dueAfter } from '../contract/deadline.ts'
import type { ErasedRecord, ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import type { WithdrawalReceipt } from '../contract/documents/withdrawal-receipt.ts'
import { isUuid } from '../contract/uuid.ts'
import { CliError, dataError, exit, usageError } from '../errors/errors.ts'
import { keyIdOf } from '../evidence/keys.ts'
import { type OperatorDocument, readOperatorDocument } from '../evidence/operator-document.ts'
import { type Claimed, signDocument } from '../evidence/signed.ts'
import type { Signer } from '../receipts/signer.ts'
import {
  appendToChain,
  type ChainHead,
  findHeadFault,
  listNumbers,
  type ReceiptStore,
  receiptPath,
  sha256,
} from '../receipts/store.ts'
import type { Verified } from './deletion.ts'
import type { SubjectMatcher } from './hmacs.ts'
import type { ErasureHeader, PersonState } from './job.ts'
import { toOutcome } from './state.ts'

/** Both are in the same chain. */
export type SubjectReceipt = OperatorDocument

export interface StoredReceipt<Receipt extends SubjectReceipt = SubjectReceipt> {
  readonly path: string
  readonly bytes: Buffer
  readonly claimed: Claimed
  readonly receipt: Receipt
}

export function isErasure(stored: StoredReceipt): stored is StoredReceipt<ErasureReceipt> {
  return stored.receipt.type === 'erasure_receipt'
}

export function isWithdrawal(stored: StoredReceipt): stored is StoredReceipt<WithdrawalReceipt> {
  return stored.receipt.type === 'withdrawal_receipt'
}

export function isPurge({ receipt }: StoredReceipt): boolean {
  return receipt.type === 'erasure_receipt' && receipt.purge !== undefined
}

/** @throws CliError invalid_data (exit 5) for the receipt of a withdrawal */
export function requireErasure(stored: StoredReceipt): StoredReceipt<ErasureReceipt> {
  if (isErasure(stored)) return stored
  throw dataError(`receipt ${stored.receipt.number} is of a withdrawal, which deletes no record`)
}

/** @throws CliError invalid_data (exit 5) */
export function readReceipt(path: string, bytes: Buffer): StoredReceipt {
  try {
    const { claimed, document } = readOperatorDocument(bytes)
    return { path, bytes, claimed, receipt: document }
  } catch (error) {
    if (error instanceof SyntaxError) throw dataError(`${path} ${error.message}`)
    throw error
  }
}

export async function loadReceipt(path: string): Promise<StoredReceipt> {
  return readReceipt(path, await readOperand(path))
}

/** @throws CliError usage (exit 2) */
export async function readOperand(path: string): Promise<Buffer> {
  return await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw usageError(error.code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read: ${error.code}`)
  })
}

export async function* allReceipts(store: ReceiptStore): AsyncGenerator<StoredReceipt | CliError> {
  for (const number of (await listNumbers(store)).reverse())
    yield await loadReceipt(receiptPath(store, number)).catch((error: unknown) => {
      if (error instanceof CliError) return error
      throw error
    })
}

/** Newest first. @throws CliError if none matches and one is unreadable */
export async function findMatching(
  store: ReceiptStore,
  isWanted: (stored: StoredReceipt) => boolean,
): Promise<StoredReceipt[]> {
  const all: StoredReceipt[] = []
  let unread: CliError | null = null
  for await (const found of allReceipts(store)) {
    if (found instanceof CliError) unread ??= found
    else if (isWanted(found)) all.push(found)
  }
  if (unread && all.length === 0) throw unread
  return all
}

/** Omits receipts of purges. Newest first. @throws CliError if none matches and one is unreadable */
export function findReceiptsOfJob(store: ReceiptStore, job: string): Promise<StoredReceipt[]> {
  return findMatching(store, each => each.receipt.job === job && !isPurge(each))
}

const receiptNumber = /^[1-9]\d{0,14}$/

/** Newest first. @throws CliError if none matches and one is unreadable */
export function findReceiptsOfTicket(store: ReceiptStore, ticket: string): Promise<StoredReceipt[]> {
  return findMatching(store, each => each.receipt.ticket === ticket)
}

/** @throws CliError usage (exit 2): one of several does not represent the others */
function requireOne(what: string, found: readonly StoredReceipt[]): StoredReceipt | undefined {
  const others = found.filter(each => !isPurge(each))
  if (others.length < 2) return found[0]
  throw usageError(`${what} has ${others.length} receipts`, `name one by its number: ${numbersOf(others)}`)
}

export function numbersOf(found: readonly StoredReceipt[]): string {
  const numbers = found.map(({ receipt }) => receipt.number).reverse()
  const more = numbers.length > 20 ? ` and ${numbers.length - 20} more` : ''
  return numbers.slice(0, 20).join(', ') + more
}

/**
 * `wanted`: number, job id, `last`, or a ticket (its newest).
 *
 * @throws CliError not_found (exit 3); usage (exit 2) for a job of several people
 */
export async function findReceipt(store: ReceiptStore, wanted: string): Promise<StoredReceipt> {
  const notFound = (message: string, hint = 'consentctl subject receipts') =>
    new CliError('not_found', exit.notFound, `${message} (profile ${store.profile})`, { hint })
  if (isUuid(wanted)) {
    const found = requireOne(`the job ${wanted}`, await findReceiptsOfJob(store, wanted.toLowerCase()))
    if (found) return found
    throw notFound(`the job ${wanted} has no receipt`, `to finish it: consentctl subject resume ${wanted}`)
  }
  if (wanted !== 'last' && !receiptNumber.test(wanted)) {
    const [newest] = await findReceiptsOfTicket(store, wanted)
    if (newest) return newest
    throw notFound(`no receipt has the ticket ${wanted}`)
  }
  const numbers = await listNumbers(store)
  const number = wanted === 'last' ? numbers.at(-1) : Number(wanted)
  if (number === undefined) throw notFound('the profile has no receipts')
  if (!numbers.includes(number)) throw notFound(`the profile has no receipt ${number}`)
  return await loadReceipt(receiptPath(store, number))
}

/** Of a name that is neither a receipt nor a file, exit 2. */
export class NoSuchReceipt extends CliError {}

/** Like `findReceipt`, or reads a file. @throws CliError usage (exit 2), also for a ticket with several */
export async function findReceiptOrFile(store: ReceiptStore, wanted: string): Promise<StoredReceipt> {
  const isStored = wanted === 'last' || /^[1-9]\d*$/.test(wanted) || isUuid(wanted)
  if (isStored) return await findReceipt(store, wanted)
  return await loadReceipt(wanted).catch(async (error: unknown) => {
    if (existsSync(wanted)) throw error
    const found = requireOne(`the ticket ${wanted}`, await findReceiptsOfTicket(store, wanted).catch(() => []))
    if (found) return found
    const hint = 'consentctl subject receipts'
    const message = `no receipt of the profile ${store.profile} has the ticket ${wanted}, and there is no such file`
    throw new NoSuchReceipt('usage', exit.usage, message, { hint })
  })
}

export function isSigned(
  { claimed, receipt }: Pick<StoredReceipt, 'claimed' | 'receipt'>,
  keys: readonly KeyObject[],
): boolean | null {
  const key = keys.find(each => keyIdOf(each) === receipt.key_id)
  return key ? claimed.isSignedBy(key) : null
}

/**
 * Returns the first fault of the profile's chain, or null: each receipt must be signed, have its file's number, and
 * name the previous digest; the chain must contain the head.
 */
export async function findChainFault(
  store: ReceiptStore,
  { bytes, receipt }: StoredReceipt,
  keys: readonly KeyObject[],
  head: ChainHead | null,
): Promise<string | null> {
  const numbers = await listNumbers(store)
  let previous: string | null = null
  for (const [index, number] of numbers.entries()) {
    if (number !== index + 1) return `receipt ${index + 1} is missing`
    const content = await readFile(receiptPath(store, number))
    const fault = findLinkFault(content, number, previous, keys)
    if (fault) return fault
    if (number === receipt.number && !content.equals(bytes)) return `the chain has another receipt ${number}`
    previous = sha256(content)
    const changed = head?.number === number && findHeadFault(head, previous)
    if (changed) return changed
  }
  if (head && !numbers.includes(head.number)) return findHeadFault(head, null)
  return numbers.includes(receipt.number) ? null : `receipt ${receipt.number} is not in the chain`
}

function findLinkFault(
  content: Buffer,
  number: number,
  previous: string | null,
  keys: readonly KeyObject[],
): string | null {
  let stored: StoredReceipt
  try {
    stored = readReceipt(`receipt ${number}`, content)
  } catch (error) {
    return (error as Error).message
  }
  const { receipt } = stored
  if (receipt.number !== number) return `the file of receipt ${number} holds receipt ${receipt.number}`
  const signed = isSigned(stored, keys)
  if (signed === false) return `the signature of receipt ${number} is invalid`
  if (signed === null) return `receipt ${number} names another key, ${receipt.key_id}`
  const isLinked =
    previous === null
      ? receipt.previous === null
      : receipt.previous?.sha256 === previous && receipt.previous.number === number - 1
  return isLinked ? null : `receipt ${number} does not follow the one before it`
}

/** @throws CliError like `appendToChain` */
export async function appendReceipt<Receipt extends SubjectReceipt>(
  store: ReceiptStore,
  job: string,
  make: (number: number, previous: SubjectReceipt['previous']) => string,
): Promise<StoredReceipt<Receipt>> {
  const made = await appendToChain(store, { job, make, read: readReceipt })
  return made as StoredReceipt<Receipt>
}

/** Receipts of the job. */
export interface EarlierReceipts {
  readonly made: readonly StoredReceipt[]
  readonly matcher: SubjectMatcher
}

/**
 * Returns the receipt that an earlier run of the job has made for the person. If the signing key was replaced since,
 * only the ticket and the records identify it.
 */
export async function findMadeReceipt(
  { made, matcher }: EarlierReceipts,
  { order, targets }: PersonState,
): Promise<StoredReceipt | null> {
  const mayBeOfPerson = ({ receipt }: StoredReceipt) =>
    receipt.ticket === order.ticket &&
    receipt.records.length === targets.size &&
    [...receipt.records].every(({ id }) => targets.has(id))
  for (const each of made.filter(mayBeOfPerson)) {
    const about = await Promise.all(order.subjects.map(subject => matcher.isAbout(each.receipt, subject)))
    if (!about.includes(false)) return each
  }
  return null
}

/** What receipts of both types say of their making. */
export function describeMaking(
  { key, account_id, api_key_id }: Signer,
  header: ErasureHeader,
  { order, clockOffset, lostAnswers }: Pick<PersonState, 'order' | 'clockOffset' | 'lostAnswers'>,
  ofAccount: readonly string[] | null,
) {
  const subject_hmacs: string[] = [...(ofAccount ?? order.subjects.map(subject => key.hmacOf(subject)))]
  return {
    version: 1,
    key_id: key.id,
    job: header.job,
    instance: header.base_url,
    profile: header.profile,
    who: header.who,
    host: header.host,
    ticket: order.ticket,
    reason: order.reason,
    received_at: order.received_at,
    due_at: order.due_at ?? (order.received_at === null ? null : dueAfter(order.received_at)),
    started_at: header.started_at,
    finished_at: new Date().toISOString(),
    clock_offset_seconds: clockOffset,
    subject_hmacs,
    hmac_key: ofAccount ? 'account' : 'profile',
    subjects: header.shows_subject ? [...order.subjects] : null,
    answers_lost: lostAnswers,
    account_id: header.account_id ?? account_id,
    api_key_id,
  } as const
}

export async function makeReceipt(
  signer: Signer,
  header: ErasureHeader,
  state: PersonState<ErasedRecord>,
  { verification, near_matches, subject_hmacs }: Verified,
): Promise<StoredReceipt<ErasureReceipt>> {
  const { planned_by, plan_sha256, export_sha256 } = state.order
  const making = describeMaking(signer, header, state, subject_hmacs)
  const outcome = toOutcome(state, verification)
  return await appendReceipt(signer.store, header.job, (number, previous) => {
    const receipt: ErasureReceipt = {
      type: 'erasure_receipt',
      number,
      ...making,
      ...outcome,
      ...{ planned_by, plan_sha256, export_sha256, verification },
      certificates: state.certificates,
      previous,
      near_matches,
    }
    return signDocument(receipt, signer.key.key)
  })
}
