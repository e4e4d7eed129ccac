import { endsAll } from '../../../cli/ids.ts'
import { isUnreachable } from '../../../client/errors.ts'
import type { Context } from '../../../context.ts'
import type { BatchRow } from '../../../contract/batch.ts'
import { type ConsentDraft, consents } from '../../../contract/consents.ts'
import { CliError, exit } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import { mapInOrder } from '../../../io/concurrency.ts'
import { inGroups } from '../../../io/groups.ts'
import type { LineResult } from '../../../views/consent.ts'
import type { ImportJob } from './job.ts'
import type { ImportOptions } from './options.ts'
import { changedError, type Entry } from './reader.ts'
import { type Event, maxLinesInFlight, type SentLine } from './state.ts'

/** `unsent`: it could not be written ahead. */
export interface Outcome {
  readonly entry: Entry<ConsentDraft>
  readonly result: LineResult['result'] | 'unsent'
  readonly id: string | null
  readonly error: unknown
}

interface Item {
  readonly entry: Entry<ConsentDraft>
  readonly earlier: SentLine | null
  /** False if sending it again could create it twice. */
  readonly maySend: boolean
}

interface Group {
  readonly items: readonly Item[]
  readonly writeAhead: 'pending' | 'done' | { readonly failed: unknown }
}

/** Lines written ahead for each request in flight, so that requests do not wait for the disk. */
const aheadPerRequest = 8

export type Sender = ReturnType<typeof openSender>

export function openSender(ctx: Context, options: ImportOptions, job: ImportJob) {
  const { concurrency, maxErrors } = options
  const { state } = job
  const instance = detectCapabilities(ctx, options, job)
  let [failed, isStopped] = [0, false]

  const nextRequestSize = async () => {
    const { batches } = await instance.forNextRequest()
    const items = batches ? Math.max(1, Math.min(maxRows, maxErrors - failed)) : 1
    return { items, bytes: maxBodyBytes }
  }
  const writeAhead = async (items: readonly Item[]): Promise<Group> => {
    try {
      const lines = items
        .filter(mustSend)
        .map(({ entry, earlier }) => ({ number: entry.line.number, wasSent: earlier !== null }))
      if (state && lines.length > 0) await state.writeAhead(lines)
      return { items, writeAhead: 'done' }
    } catch (error) {
      return { items, writeAhead: { failed: error } }
    }
  }
  /** Without keys a line written ahead is unknown after a kill, so that is done as late as possible. */
  const prepare = async (items: readonly Item[]): Promise<Group> =>
    instance.isRepeatable() ? await writeAhead(items) : { items, writeAhead: 'pending' }
  const send = async (group: Group): Promise<readonly Outcome[]> => {
    if (isStopped) return []
    const { items, writeAhead: written } = group.writeAhead === 'pending' ? await writeAhead(group.items) : group
    const outcomes = typeof written === 'object' ? unsentOutcomes(items, written.failed) : await sendItems(items)
    failed += outcomes.filter(({ result }) => result === 'failed').length
    if (failed >= maxErrors || outcomes.some(stopsAll)) isStopped = true
    return outcomes
  }
  const sendItems = async (items: readonly Item[]): Promise<readonly Outcome[]> => {
    const toSend = items.filter(mustSend)
    state?.sending(toSend.map(({ entry }) => entry.line.number))
    const answers = toSend.length > 0 ? await post(ctx, job, toSend, instance) : []
    let index = 0
    return items.map(item => {
      const known = knownOutcome(item)
      if (known) return known
      const [outcome, event] = toOutcome(item, answers[index++] as Answer)
      state?.ended(event, instance.isRepeatable())
      return outcome
    })
  }
  async function* untilStopped(groups: AsyncIterable<Group>) {
    for await (const group of groups) {
      if (isStopped) return
      yield group
    }
  }
  return {
    /** Outcomes of requests in flight are still yielded. */
    stop: () => {
      isStopped = true
    },
    /**
     * Sends the lines, and yields the outcomes in their order, until too many have failed or all would.
     *
     * @throws the error of the file, after the outcomes of the lines before it
     */
    outcomes: (): AsyncGenerator<readonly Outcome[]> => {
      const linesAhead = concurrency * aheadPerRequest
      const groups = inGroups(itemsOf(ctx, job), bytesOf, nextRequestSize)
      const ahead = {
        concurrency: linesAhead,
        maxSize: linesAhead,
        sizeOf: (items: readonly Item[]) => items.length,
      }
      const room = { concurrency, maxSize: maxLinesInFlight, sizeOf: ({ items }: Group) => items.length }
      return mapInOrder(untilStopped(mapInOrder(groups, ahead, prepare)), room, send)
    },
  }
}

/** @throws CliError changed at the end if the file is not the one that was validated */
async function* itemsOf(ctx: Context, { reader, extent, state }: ImportJob): AsyncGenerator<readonly Item[]> {
  for await (const entries of reader.entries(extent !== null)) {
    const items: Item[] = []
    try {
      for (const entry of entries) {
        const earlier = state?.isResumed ? await state.earlier(entry.line.number) : null
        const isUnknown = earlier !== null && earlier.id === null
        const maySend = !isUnknown || (isKeyValid(earlier) && (await honoursKeys(ctx)))
        items.push({ entry, earlier, maySend })
      }
    } catch (error) {
      yield items
      throw error
    }
    yield items
  }
  if (extent && reader.digest() !== extent.sha256) throw changedError(reader.path ?? '')
}

/** Instances keep an Idempotency-Key for 24 hours; one hour is left for differences of clocks. */
const keyLifetimeMs = 23 * 60 * 60 * 1000

function isKeyValid({ sentAt }: SentLine): boolean {
  return Date.now() - sentAt < keyLifetimeMs
}

/** Returns true if a create sent twice with one key is executed once. @throws ApiError if the instance does not answer */
export function honoursKeys({ api }: Context): Promise<boolean> {
  return api.supports(consents.create, { in: 'header', name: 'Idempotency-Key' })
}

function mustSend(item: Item): boolean {
  return knownOutcome(item) === null
}

/** Returns null for a line that has to be sent. */
function knownOutcome({ entry, earlier, maySend }: Item): Outcome | null {
  if (earlier?.id) return { entry, result: 'created', id: earlier.id, error: null }
  if (!maySend) return { entry, result: 'unknown', id: null, error: lostError() }
  return entry.draft === null ? { entry, result: 'failed', id: null, error: entry.error } : null
}

function unsentOutcomes(items: readonly Item[], error: unknown): Outcome[] {
  return items.map(item => knownOutcome(item) ?? { entry: item.entry, result: 'unsent', id: null, error })
}

function lostError(): CliError {
  const message = 'it was sent before and the answer was lost: the record may exist or not'
  return new CliError('lost', exit.unknown, message)
}

type Answer = { readonly id: string } | { readonly error: unknown }

function toOutcome({ entry, earlier }: Item, answer: Answer): [Outcome, Event] {
  const { number } = entry.line
  if ('id' in answer) return [{ entry, result: 'created', id: answer.id, error: null }, ['d', number, answer.id]]
  const { error } = answer
  const { code, exit: exitCode } = explain(error)
  // A line that may have been created before has not failed, even if it is rejected now.
  if (earlier || exitCode === exit.unknown) return [{ entry, result: 'unknown', id: null, error }, ['u', number]]
  return [{ entry, result: 'failed', id: null, error }, ['f', number, code]]
}

function stopsAll({ result, error }: Outcome): boolean {
  return result === 'unsent' || (error !== null && failsAll(error))
}

/** Returns true if all further lines would fail for the same reason. */
export function failsAll(error: unknown): boolean {
  return isUnreachable(error) || endsAll(explain(error).exit)
}

interface Capabilities {
  readonly batches: boolean
  readonly keys: boolean
}

const noCapabilities: Capabilities = { batches: false, keys: false }

/** Reading the instance's description costs a request itself. */
const minLinesToDetect = 100

type Instance = ReturnType<typeof detectCapabilities>

function detectCapabilities(ctx: Context, options: ImportOptions, { extent, createdBefore, state }: ImportJob) {
  let requests = 0
  let detected: Capabilities | null = null
  let detecting: Promise<Capabilities> | null = null
  const detect = async (): Promise<Capabilities> => {
    const { createBatch } = await import('../../../contract/batch.ts')
    const honours = await honoursKeys(ctx).catch(() => false) // without keys a batch could not be retried
    const batches = options.batch && honours && (await ctx.api.supports(createBatch).catch(() => false))
    return { batches, keys: state !== null && honours }
  }
  return {
    forNextRequest: async (): Promise<Capabilities> => {
      requests += 1
      if (detected) return detected
      if ((extent ? extent.lines - createdBefore : requests) <= minLinesToDetect) return noCapabilities
      detecting ??= detect()
      detected ??= await detecting
      return detected
    },
    isRepeatable: () => detected?.keys ?? false,
    hasNoBatches: () => {
      detected = noCapabilities
    },
  }
}

/** Of one request: an instance takes up to 1 MiB and 1,000 rows. */
const maxBodyBytes = 900_000
const maxRows = 1000

/** For the key and the site, which are added to a line. */
const rowOverheadBytes = 160

function bytesOf({ entry }: Item): number {
  return entry.line.bytes.length + rowOverheadBytes
}

/** In the order of the items. Never rejects. */
async function post(
  ctx: Context,
  job: ImportJob,
  items: readonly Item[],
  instance: Instance,
): Promise<readonly Answer[]> {
  const [item] = items
  if (items.length === 1 && item) return [await postOne(ctx, job, item)]
  try {
    const answers = await ctx.api.createRows(items.map(one => toRow(job, one)))
    return answers.map(({ id, error }) => (error === null ? { id } : { error }))
  } catch (error) {
    const { status } = explain(error)
    const isMissing = status === 404 || status === 405
    if (isMissing || status === 400) instance.hasNoBatches()
    if (isMissing) return await postOneByOne(ctx, job, items)
    if (status !== 413 && status !== 400) return items.map(() => ({ error }))
    // Too large, or rejected because of some lines.
    const middle = Math.ceil(items.length / 2)
    const first = await post(ctx, job, items.slice(0, middle), instance)
    return [...first, ...(await post(ctx, job, items.slice(middle), instance))]
  }
}

async function postOneByOne(ctx: Context, job: ImportJob, items: readonly Item[]): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const item of items) {
    const last = answers.at(-1)
    answers.push(last && meetsAll(last) ? last : await postOne(ctx, job, item))
  }
  return answers
}

function meetsAll(answer: Answer): boolean {
  if (!('error' in answer)) return false
  const { status, code } = explain(answer.error)
  return code === 'interrupted' || isUnreachable(answer.error) || [401, 403, 429].includes(status ?? 0)
}

async function postOne(ctx: Context, { state }: ImportJob, { entry }: Item): Promise<Answer> {
  try {
    const key = state ? { idempotencyKey: state.keyOf(entry.line.number) } : {}
    const { id } = await ctx.api.consents.create({ body: entry.draft as ConsentDraft, ...key })
    return { id }
  } catch (error) {
    return { error }
  }
}

function toRow({ state }: ImportJob, { entry }: Item): BatchRow {
  const key = state ? state.keyOf(entry.line.number) : crypto.randomUUID()
  return { ...(entry.draft as BatchRow), idempotency_key: key }
}
