import { subjectCommand } from '../../cli/messages.ts'
import { findRequest } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import { deletedIds } from '../../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../../contract/documents/erasure-receipt.ts'
import type { Consent } from '../../contract/index.ts'
import { parseInstant } from '../../contract/instant.ts'
import type { DataSubjectRequest } from '../../contract/requests.ts'
import { newMatcher, type SubjectMatcher } from '../../erasure/hmacs.ts'
import type { SubjectRequest } from '../../erasure/job.ts'
import { type AnyReceipt, asksForKept, everyReceipt, readKept, sendUnkept } from '../../erasure/kept.ts'
import { isErasure, isSigned, type StoredReceipt } from '../../erasure/receipts.ts'
import { findLive, liveRecords, previewPurge } from '../../erasure/records.ts'
import { CliError, dataError, exit, usageError } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { findReceiptKey, identify, type ReceiptKey } from '../../receipts/signer.ts'
import { locateReceipts, type ReceiptStore, sha256 } from '../../receipts/store.ts'
import { requireBaseUrl } from '../../settings/settings.ts'

type Erased = StoredReceipt<ErasureReceipt> & Pick<AnyReceipt, 'known'>

export interface Repeated {
  readonly people: readonly SubjectRequest[]
  /** True if a person was left out and reported. */
  readonly isPartial: boolean
}

interface Search {
  readonly since: string
  readonly reason: string | null
  readonly key: ReceiptKey | null
  readonly matcher: SubjectMatcher
  readonly isHere: (receipt: ErasureReceipt) => boolean
  readonly people: SubjectRequest[]
  /** SHA-256 of receipts with a purge receipt since `since`; read first. */
  readonly purged: Set<string>
  /** By record id: the newest receipt of the profile that lists it as deleted. */
  readonly newest: Map<string, number>
  /** Purges that the backup may have reverted; `person`: null without live records. */
  readonly undone: Undone[]
}

interface Undone {
  readonly receipt: ErasureReceipt
  readonly person: SubjectRequest | null
  /** True for the receipt of another profile, which alone can purge by it. */
  readonly isForeign?: boolean
}

/**
 * People of receipts since `since` (RFC 3339) whose records are live again: receipts of the profile, and those that the
 * service keeps. A receipt contains the ids of the records, and each record its identifier.
 */
export async function findRepeated(
  ctx: Context,
  since: string,
  { reason = null, dryRun }: { readonly reason?: string | null | undefined; readonly dryRun?: true | undefined },
): Promise<Repeated> {
  const store = locateReceipts(ctx)
  const key = await findReceiptKey(store)
  const isKept = await asksForKept(ctx)
  if (!key && !isKept)
    throw usageError(`there is no ${store.keyFile}`, 'restore the folders of the receipts and of their keys')
  if (!dryRun) await sendUnkept(ctx, store)
  const search: Search = {
    ...{ since, reason, key, matcher: newMatcher(ctx.api, key), isHere: await receiptsOfHere(ctx) },
    ...{ people: [], purged: new Set(), newest: new Map(), undone: [] },
  }
  let isPartial = false
  const reported = new Set<string>()
  for (const stored of await readAll(ctx, store, isKept)) {
    let receipt: ErasureReceipt | null = null
    try {
      const signed = requireSigned(stored, key)
      receipt = signed.receipt
      await addReceipt(ctx, search, signed)
    } catch (error) {
      const isOfReceipt = error instanceof CliError && (error.exit === exit.rejected || error.exit === exit.changed)
      if (!isOfReceipt) throw error
      isPartial = true
      if (isNews(reported, receipt, error)) await report(ctx, error)
    }
  }
  await tellPurges(ctx, search)
  return { people: search.people, isPartial }
}

/** Newest first, after the unreadable ones. */
async function readAll(ctx: Context, store: ReceiptStore, isKept: boolean): Promise<(Erased | CliError)[]> {
  const unreadable: CliError[] = []
  const all: Erased[] = []
  const kept = isKept ? await readKept(ctx, {}) : null
  for await (const { found } of everyReceipt(store, kept)) {
    if (found instanceof CliError) unreadable.push(found)
    else if (isErasure(found)) all.push(found)
  }
  const timeOf = ({ receipt }: Erased) => Date.parse((receipt.purge ?? receipt).finished_at)
  return [...unreadable, ...(kept ? all.sort((a, b) => timeOf(b) - timeOf(a)) : all)]
}

/** False if a newer receipt of the person was skipped for the same reason. */
function isNews(reported: Set<string>, receipt: ErasureReceipt | null, { code }: CliError): boolean {
  const causes = (receipt?.subject_hmacs ?? []).map(hmac => `${code} ${hmac}`)
  const isKnown = causes.some(each => reported.has(each))
  for (const each of causes) reported.add(each)
  return !isKnown
}

/** Receipts come newest first. */
async function addReceipt(ctx: Context, search: Search, { receipt, bytes }: Erased): Promise<void> {
  const { since, key, people, purged, newest, undone } = search
  const isForeign = receipt.key_id !== key?.id
  const isSince = (receipt.purge ?? receipt).finished_at >= since
  if (!search.isHere(receipt)) return
  if (receipt.purge) {
    if (isSince) purged.add(receipt.purge.receipt.sha256)
    return
  }
  if (!isForeign) for (const id of deletedIds(receipt)) if (!newest.has(id)) newest.set(id, receipt.number)
  const person = isSince ? await findPerson(ctx, receipt, search) : null
  if (person) addPerson(people, person)
  if (purged.has(sha256(bytes))) undone.push({ receipt, person, isForeign })
}

/** Lists purges to repeat: after the erasure of `people`, or now. */
export async function tellPurges(
  ctx: Context,
  { people, newest, undone }: Pick<Search, 'people' | 'newest' | 'undone'>,
): Promise<void> {
  const told = new Set<string>()
  const tell: Tell = async (text, ...args) => {
    const command = subjectCommand(ctx, ...args)
    if (!told.has(command)) await ctx.say(`${text}: ${command}`)
    told.add(command)
  }
  for (const { receipt, person, isForeign = false } of undone) {
    const was = `${isForeign ? nameForeign(receipt) : `receipt ${receipt.number}`} (${receipt.ticket}) was purged`
    const again = person
      ? people.find(({ subjects }) => subjects.some(each => person.subjects.includes(each)))
      : undefined
    const byNumber = `${was}; to purge it after this again, by the number of its new receipt`
    if (again) await tell(byNumber, 'receipts', '--ticket', again.ticket)
    if (!person && isForeign) await tellUndoneThere(ctx, was, receipt)
    else if (!person) await tellUndone({ ctx, newest, tell }, was, receipt)
  }
}

type Tell = (text: string, command: string, ...args: readonly string[]) => Promise<void>

/** A purge uses the newest receipt that lists the records. */
async function tellUndone(
  { ctx, newest, tell }: { readonly ctx: Context; readonly newest: Search['newest']; readonly tell: Tell },
  was: string,
  receipt: ErasureReceipt,
): Promise<void> {
  const ids = deletedIds(receipt)
  const numberOf = (id: string) => newest.get(id) ?? receipt.number
  for (const number of new Set(ids.map(numberOf))) {
    const own = ids.filter(id => numberOf(id) === number)
    const isUndone = await isSomeUnpurged(ctx, own)
    if (isUndone === null) await tell(`${was}; to purge it again, if that is not done`, 'purge', String(number))
    else if (isUndone)
      await tell(`${was}, but the instance holds the data again; to purge it again`, 'purge', String(number))
  }
}

/** Its chain is on another machine, and must contain its purge. */
async function tellUndoneThere(ctx: Context, was: string, receipt: ErasureReceipt): Promise<void> {
  if ((await isSomeUnpurged(ctx, deletedIds(receipt))) !== false)
    await ctx.say(`${was}, but the instance may hold the data again: purge it there again`)
}

function nameForeign({ number, who, host }: ErasureReceipt): string {
  return `receipt ${number} of ${who}@${host}`
}

/** Null if unknown. */
async function isSomeUnpurged({ api }: Context, ids: readonly string[]): Promise<boolean | null> {
  try {
    return [...(await previewPurge(api, ids)).values()].includes('deleted')
  } catch (error) {
    if (['not_found', 'not_offered', 'forbidden'].includes(explain(error).code)) return null
    throw error
  }
}

/** Compares by account, because the address may have changed. */
async function receiptsOfHere({ api, settings }: Context) {
  const { account_id } = await identify(api)
  return (receipt: ErasureReceipt) =>
    receipt.account_id === null || account_id === null
      ? receipt.instance === requireBaseUrl(settings)
      : receipt.account_id === account_id
}

/** @throws CliError (exit 5): a foreign receipt could list any ids */
function requireSigned(stored: Erased | CliError, key: ReceiptKey | null): Erased {
  if (stored instanceof CliError) throw stored
  if (isSigned(stored, [key?.key ?? [], stored.known?.key ?? []].flat())) return stored
  const { number } = stored.receipt
  throw dataError(
    `receipt ${number} is not signed by the key of this profile: left out`,
    `consentctl subject verify ${number}`,
  )
}

/**
 * Null if no record is live.
 * @throws CliError if it lists no records, or `changed` (exit 10) if a record is newer than the erasure
 */
async function findPerson(
  ctx: Context,
  receipt: ErasureReceipt,
  { key, matcher, reason }: Search,
): Promise<SubjectRequest | null> {
  const { number, ticket, received_at, due_at, records } = receipt
  const request = await findOpenRequest(ctx, ticket)
  const areAbout = (subjects: readonly string[]) => Promise.all(subjects.map(each => matcher.isAbout(receipt, each)))
  const asked = [...(receipt.subjects ?? []), ...(request?.subject_ids ?? [])]
  const about = await areAbout(asked)
  const named = asked.filter((_, index) => about[index])
  if (records.length === 0 && named.length === 0)
    throw dataError(
      `receipt ${number} (${ticket}) lists no records: left out`,
      'consentctl subject find shows if records of the person are live again',
    )
  const found = await findLive(
    ctx.api,
    records.map(({ id }) => id),
  )
  const subjects = [...new Set([...named, ...found.flatMap(({ subject_id }) => subject_id ?? [])])]
  if ((await areAbout(subjects)).some(each => !each))
    throw dataError(`receipt ${number} (${ticket}) is not about the person of its records: left out`)
  const live = await liveRecords(ctx.api, subjects)
  if (live.length === 0) return null
  requireOlder(receipt, live)
  const which = receipt.key_id === key?.id ? `receipt ${number}` : nameForeign(receipt)
  const repeats = `repeats ${which}, whose records were live again`
  return {
    ...{ subjects, ticket, received_at, due_at, request_id: request?.id },
    reason: reason === null ? repeats : `${reason} (${repeats})`,
  }
}

async function findOpenRequest({ api }: Context, ticket: string): Promise<DataSubjectRequest | null> {
  try {
    const request = await findRequest(api, ticket)
    return request.subject_ids === null ? null : request
  } catch (error) {
    if (['not_found', 'not_offered', 'forbidden'].includes(explain(error).code)) return null
    throw error
  }
}

/** A record made, changed or restored after the erasure did not come from a backup. */
function requireOlder({ number, ticket, finished_at, records }: ErasureReceipt, live: readonly Consent[]): void {
  const erasedAt = new Map(records.map(({ id, deleted_at }) => [id, deleted_at]))
  const timeOf = (text: string | null | undefined) => parseInstant(text ?? '') ?? 0
  const newer = live.find(
    ({ id, created_at, updated_at }) => timeOf(updated_at ?? created_at) > timeOf(erasedAt.get(id) ?? finished_at),
  )
  if (!newer) return
  const message = `receipt ${number} (${ticket}): the record ${newer.id} was made, changed or restored after the erasure, so the person is left out`
  throw new CliError('changed', exit.changed, message, {
    hint: 'check it, and delete it with consentctl rm or consentctl subject erase if needed',
  })
}

/** Receipts come newest first; an older one may join several people. */
function addPerson(people: SubjectRequest[], person: SubjectRequest): void {
  const same = people.filter(({ subjects }) => subjects.some(each => person.subjects.includes(each)))
  const [newest = person, ...joined] = same
  for (const each of joined) people.splice(people.indexOf(each), 1)
  const subjects = [...new Set([...same, person].flatMap(each => each.subjects))]
  const index = same.length > 0 ? people.indexOf(newest) : people.length
  people[index] = { ...newest, subjects }
}
