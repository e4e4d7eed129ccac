import { endsAll } from '../../../cli/ids.ts'
import { ApiError, isUnreachable } from '../../../client/errors.ts'
import type { Context } from '../../../context.ts'
import { CliError, exit } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import { mapInOrder } from '../../../io/concurrency.ts'
import { inGroups } from '../../../io/groups.ts'
import { changedError } from '../../../io/input.ts'
import type { LineResult } from '../../../views/consent.ts'
import type { Answer, Item, LineJob, LineJobOptions, Operation, Sending } from './operation.ts'
import { maxErrorsOf } from './options.ts'
import type { InputLine } from './reader.ts'
import { type How, maxLinesInFlight, type Result } from './state.ts'

/** `unsent`: interrupted before the request, or its start could not be recorded. */
export interface Outcome {
  readonly entry: InputLine<object>
  readonly result: LineResult['result'] | 'unsent'
  readonly id: string | null
  readonly error: unknown
  readonly how?: How | undefined
}

/** Lines recorded as started in one write, per concurrent request. */
const aheadPerRequest = 16

export type Sender = ReturnType<typeof openSender>

export function openSender(ctx: Context, options: LineJobOptions, job: LineJob) {
  const { operation } = job
  const { concurrency = 8 } = options
  const maxErrors = maxErrorsOf(options)
  const { state } = job
  const sending = operation.connect(ctx, options, job)
  let [failed, isStopped] = [0, false]
  const untaken = new Set<readonly Outcome[]>()

  const nextRequestSize = async () => {
    const items = Math.max(1, Math.min(await sending.maxLines(), maxErrors - failed))
    return { items, bytes: maxBodyBytes }
  }
  const begin = async (items: readonly Item[]) => {
    const ahead = sending.isRepeatable() ? Math.max(concurrency * aheadPerRequest, 2 * items.length) : 0
    await state?.begin(items.at(-1)?.entry.line.number ?? 0, ahead)
  }
  const nextTurn = inTurn(results => state?.ended(results, sending.isRepeatable()))
  const send = async (items: readonly Item[]): Promise<readonly Outcome[]> => {
    if (isStopped) return []
    const record = nextTurn()
    const { outcomes, results } = await sendItems(items)
    untaken.add(outcomes)
    failed += outcomes.filter(({ result }) => result === 'failed').length
    if (failed >= maxErrors || outcomes.some(outcome => stopsAll(operation, outcome))) isStopped = true
    record(results)
    return outcomes
  }
  const sendItems = async (items: readonly Item[]) => {
    const toSend = items.filter(item => knownOutcome(operation, item) === null)
    const sentAt = Date.now()
    try {
      if (toSend.length > 0) await begin(toSend)
    } catch (error) {
      return { outcomes: unsentOutcomes(operation, items, error), results: [] }
    }
    const answers = toSend.length > 0 ? await sending.send(toSend) : []
    const outcomes: Outcome[] = []
    const results: Result[] = []
    for (const item of items) {
      const known = knownOutcome(operation, item)
      if (known) {
        outcomes.push(known)
        continue
      }
      const [outcome, result] = toOutcome(operation, item, answers[results.length] as Answer, sentAt)
      outcomes.push(outcome)
      results.push(result)
    }
    return { outcomes, results }
  }
  async function* untilStopped(groups: AsyncIterable<readonly Item[]>) {
    for await (const group of groups) {
      if (isStopped) return
      yield group
    }
  }
  return {
    untaken: (): readonly Outcome[] => [...untaken].flat(),
    /** Requests in flight still yield their outcomes. */
    stop: () => {
      isStopped = true
    },
    /**
     * Yields in line order, until too many lines have failed or all would.
     *
     * @throws the file's read error, after the outcomes before it
     */
    outcomes: async function* (): AsyncGenerator<readonly Outcome[]> {
      const groups = inGroups(itemsOf(job, sending), bytesOf, nextRequestSize)
      // After a kill, lines without a result that cannot be sent again are unknown.
      const maxSize = () => (state && !sending.isRepeatable() ? 2 * concurrency : maxLinesInFlight)
      const room = { concurrency, maxSize, sizeOf: (items: readonly Item[]) => items.length }
      for await (const outcomes of mapInOrder(untilStopped(groups), room, send)) {
        untaken.delete(outcomes)
        yield outcomes
      }
    },
  }
}

function inTurn(pass: (results: readonly Result[]) => void) {
  const settled = new Map<number, readonly Result[]>()
  let [taken, passed] = [0, 0]
  return () => {
    const turn = taken
    taken += 1
    return (results: readonly Result[]): void => {
      settled.set(turn, results)
      for (let next = settled.get(passed); next; next = settled.get(passed)) {
        settled.delete(passed)
        passed += 1
        if (next.length > 0) pass(next)
      }
    }
  }
}

/** @throws CliError changed, at the end, unless the file is the validated one */
async function* itemsOf(job: LineJob, sending: Sending): AsyncGenerator<readonly Item[]> {
  const { reader, extent, state } = job
  for await (const entries of reader.entries(extent !== null)) {
    const items: Item[] = []
    try {
      for (const entry of entries)
        items.push(
          state?.isResumed ? await toItem(job, sending, entry) : { entry, done: null, sentAt: null, maySend: true },
        )
    } catch (error) {
      yield items
      throw error
    }
    yield items
  }
  if (extent && reader.digest() !== extent.sha256) throw changedError(reader.path ?? '')
}

async function toItem({ state, operation }: LineJob, sending: Sending, entry: Item['entry']): Promise<Item> {
  const earlier = (await state?.earlier(entry.line.number)) ?? null
  if (earlier?.id !== null) return { entry, done: earlier, sentAt: null, maySend: true }
  const { sentAt } = earlier
  return { entry, done: null, sentAt, maySend: operation.isIdempotent || (await sending.mayResend(sentAt)) }
}

/** Null if the line must be sent. */
function knownOutcome({ done: word }: Operation, { entry, done, maySend }: Item): Outcome | null {
  if (done) return doneOutcome(word, entry, done)
  if (!maySend) return { entry, result: 'unknown', id: null, error: lostError() }
  return entry.draft === null ? { entry, result: 'failed', id: null, error: entry.error } : null
}

function doneOutcome(word: Operation['done'], entry: Item['entry'], { id, how }: NonNullable<Item['done']>): Outcome {
  return { entry, result: how === 'unchanged' ? how : word, id, error: null, how }
}

function unsentOutcomes(operation: Operation, items: readonly Item[], error: unknown): Outcome[] {
  return items.map(item => knownOutcome(operation, item) ?? { entry: item.entry, result: 'unsent', id: null, error })
}

function lostError(): CliError {
  const message = 'it may have been sent before without a response: the record may or may not exist'
  return new CliError('lost', exit.unknown, message)
}

function toOutcome(operation: Operation, item: Item, answer: Answer, now: number): [Outcome, Result] {
  if ('error' in answer) return toErrorOutcome(operation, item, answer.error, now)
  if (answer.id.length > longestId) return toErrorOutcome(operation, item, unusableId(), now)
  const { id, how } = answer
  const { number } = item.entry.line
  // Includes unchanged lines, because a later run must not undo others' changes.
  return [doneOutcome(operation.done, item.entry, answer), how ? [number, id, how] : [number, id]]
}

function toErrorOutcome({ isIdempotent }: Operation, item: Item, error: unknown, now: number): [Outcome, Result] {
  const { entry, sentAt } = item
  const { code, exit: exitCode } = explain(error)
  const isOpen = exitCode === exit.temporary || exitCode === exit.unknown || isUnreachable(error)
  const as = (result: 'unsent' | 'unknown' | 'failed', since: number | null): [Outcome, Result] => [
    { entry, result, id: null, error },
    [entry.line.number, since],
  ]
  if (code === 'interrupted' && (isIdempotent || sentAt === null)) return as('unsent', sentAt)
  if (isIdempotent && code !== 'lost') return as('failed', isOpen ? (sentAt ?? now) : null)
  if (exitCode === exit.unknown) return as('unknown', sentAt ?? now)
  if (sentAt !== null && !isAnswer(error)) return as('unknown', sentAt)
  return as('failed', null)
}

/**
 * True if a rejection by the API shows that the line's key was unused. A conflict does not: its record may have been
 * erased. Neither does a response from other software, such as a proxy.
 */
function isAnswer(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  const { status, exit: exitCode } = explain(error)
  const isRejected = status !== undefined && status >= 400 && status < 500 && status !== 409
  return isRejected && !endsAll(exitCode) && exitCode !== exit.temporary
}

/** Servers accept URLs of some 8,000 characters. */
const longestId = 8192

function unusableId(): CliError {
  const message = `the instance returned an id of over ${longestId} characters: the record may or may not exist`
  return new CliError('unexpected_answer', exit.unknown, message)
}

function stopsAll(operation: Operation, { result, error }: Outcome): boolean {
  return result === 'unsent' || (error !== null && failsAll(operation, error))
}

export function failsAll(operation: Operation, error: unknown): boolean {
  return isUnreachable(error) || endsAll(explain(error).exit) || operation.failsAll?.(error) === true
}

/** Instances accept 1 MiB. */
const maxBodyBytes = 900_000

/** Key and site of a line. */
const rowOverheadBytes = 160

function bytesOf({ entry }: Item): number {
  return entry.line.bytes.length + rowOverheadBytes
}
