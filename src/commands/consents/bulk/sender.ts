import { endsAll } from '../../../cli/ids.ts'
import { isUnreachable } from '../../../client/errors.ts'
import type { Context } from '../../../context.ts'
import { CliError, exit } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import { mapInOrder } from '../../../io/concurrency.ts'
import { inGroups } from '../../../io/groups.ts'
import type { LineResult } from '../../../views/consent.ts'
import type { Answer, ImportJob, Item, Operation, Sending } from './operation.ts'
import type { ImportOptions } from './options.ts'
import { changedError, type Entry } from './reader.ts'
import { type Event, type How, maxLinesInFlight } from './state.ts'

/** `unsent`: interrupted before its request, or the write-ahead entry could not be written. */
export interface Outcome {
  readonly entry: Entry<object>
  readonly result: LineResult['result'] | 'unsent'
  readonly id: string | null
  readonly error: unknown
  readonly how?: How | undefined
}

interface Group {
  readonly items: readonly Item[]
  readonly writeAhead: 'pending' | 'done' | { readonly failed: unknown }
}

/** Lines written ahead per concurrent request, so that requests do not wait for the disk. */
const aheadPerRequest = 8

export type Sender = ReturnType<typeof openSender>

export function openSender(ctx: Context, options: ImportOptions, job: ImportJob) {
  const { operation } = job
  const { concurrency, maxErrors } = options
  const { state } = job
  const sending = operation.connect(ctx, options, job)
  let [failed, isStopped] = [0, false]
  const untaken = new Set<readonly Outcome[]>()

  const nextRequestSize = async () => {
    const items = Math.max(1, Math.min(await sending.maxLines(), maxErrors - failed))
    return { items, bytes: maxBodyBytes }
  }
  const writeAhead = async (items: readonly Item[]): Promise<Group> => {
    try {
      const lines = items
        .filter(item => mustSend(operation, item))
        .map(({ entry, earlier }) => ({ number: entry.line.number, wasSent: earlier !== null }))
      if (state && lines.length > 0) await state.writeAhead(lines)
      return { items, writeAhead: 'done' }
    } catch (error) {
      return { items, writeAhead: { failed: error } }
    }
  }
  /** Unrepeatable lines are written ahead as late as possible: after a kill each of them is unknown. */
  const prepare = async (items: readonly Item[]): Promise<Group> =>
    sending.isRepeatable() ? await writeAhead(items) : { items, writeAhead: 'pending' }
  const send = async (group: Group): Promise<readonly Outcome[]> => {
    if (isStopped) return []
    const { items, writeAhead: written } = group.writeAhead === 'pending' ? await writeAhead(group.items) : group
    const outcomes =
      typeof written === 'object' ? unsentOutcomes(operation, items, written.failed) : await sendItems(items)
    untaken.add(outcomes)
    failed += outcomes.filter(({ result }) => result === 'failed').length
    if (failed >= maxErrors || outcomes.some(outcome => stopsAll(operation, outcome))) isStopped = true
    return outcomes
  }
  const sendItems = async (items: readonly Item[]): Promise<readonly Outcome[]> => {
    const toSend = items.filter(item => mustSend(operation, item))
    state?.sending(toSend.map(({ entry }) => entry.line.number))
    const answers = toSend.length > 0 ? await sending.send(toSend) : []
    const events: Event[] = []
    const outcomes = items.map(item => {
      const known = knownOutcome(operation, item)
      if (known) return known
      const [outcome, event] = toOutcome(operation, item, answers[events.length] as Answer)
      events.push(event)
      return outcome
    })
    if (events.length > 0) state?.ended(events, sending.isRepeatable())
    return outcomes
  }
  async function* untilStopped(groups: AsyncIterable<Group>) {
    for await (const group of groups) {
      if (isStopped) return
      yield group
    }
  }
  return {
    /** Outcomes of requests that were in flight when the consumer ended `outcomes`. */
    untaken: (): readonly Outcome[] => [...untaken].flat(),
    /** Requests in flight still yield their outcomes. */
    stop: () => {
      isStopped = true
    },
    /**
     * Yields outcomes in line order, until too many lines have failed or all would.
     *
     * @throws the read error of the file, after the outcomes of the lines before it
     */
    outcomes: async function* (): AsyncGenerator<readonly Outcome[]> {
      const linesAhead = concurrency * aheadPerRequest
      const groups = inGroups(itemsOf(job, sending), bytesOf, nextRequestSize)
      const ahead = {
        concurrency: linesAhead,
        maxSize: linesAhead,
        sizeOf: (items: readonly Item[]) => items.length,
      }
      const room = { concurrency, maxSize: maxLinesInFlight, sizeOf: ({ items }: Group) => items.length }
      for await (const outcomes of mapInOrder(untilStopped(mapInOrder(groups, ahead, prepare)), room, send)) {
        untaken.delete(outcomes)
        yield outcomes
      }
    },
  }
}

/** @throws CliError changed, at the end, if the file is not the validated one */
async function* itemsOf(
  { reader, extent, state, operation }: ImportJob,
  sending: Sending,
): AsyncGenerator<readonly Item[]> {
  for await (const entries of reader.entries(extent !== null)) {
    const items: Item[] = []
    try {
      for (const entry of entries) {
        const earlier = state?.isResumed ? await state.earlier(entry.line.number) : null
        const isUnknown = earlier !== null && earlier.id === null
        const maySend = !isUnknown || operation.isIdempotent || (await sending.mayResend(earlier))
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

function mustSend(operation: Operation, item: Item): boolean {
  return knownOutcome(operation, item) === null
}

/** Returns null for a line that must be sent. */
function knownOutcome({ done }: Operation, { entry, earlier, maySend }: Item): Outcome | null {
  if (earlier?.id) return doneOutcome(done, entry, earlier.id, earlier.how)
  if (!maySend) return { entry, result: 'unknown', id: null, error: lostError() }
  return entry.draft === null ? { entry, result: 'failed', id: null, error: entry.error } : null
}

function doneOutcome(done: Operation['done'], entry: Item['entry'], id: string, how: How | undefined): Outcome {
  return { entry, result: how === 'unchanged' ? how : done, id, error: null, how }
}

function unsentOutcomes(operation: Operation, items: readonly Item[], error: unknown): Outcome[] {
  return items.map(item => knownOutcome(operation, item) ?? { entry: item.entry, result: 'unsent', id: null, error })
}

function lostError(): CliError {
  const message = 'it was sent before and the answer was lost: the record may exist or not'
  return new CliError('lost', exit.unknown, message)
}

function toOutcome(operation: Operation, item: Item, answer: Answer): [Outcome, Event] {
  if ('error' in answer) return toErrorOutcome(operation, item, answer.error)
  const { id, how } = answer
  if (id.length > longestId) return toErrorOutcome(operation, item, unusableId())
  const { number } = item.entry.line
  // Unchanged lines count as done too: a later run must not undo changes made by others.
  return [doneOutcome(operation.done, item.entry, id, how), how ? ['d', number, id, how] : ['d', number, id]]
}

function toErrorOutcome({ isIdempotent }: Operation, { entry, earlier }: Item, error: unknown): [Outcome, Event] {
  const { number } = entry.line
  const { code, exit: exitCode } = explain(error)
  const outcomeOf = (result: 'unsent' | 'unknown' | 'failed'): Outcome => ({ entry, result, id: null, error })
  const isOpen = exitCode === exit.temporary || exitCode === exit.unknown || isUnreachable(error)
  const failed = ['f', number, code.slice(0, 100)] as const
  // An earlier send of a create stays unknown.
  if (code === 'interrupted' && (isIdempotent || !earlier))
    return [outcomeOf('unsent'), earlier ? ['u', number] : ['f', number, 'unsent']]
  if (isIdempotent && code !== 'lost') return [outcomeOf('failed'), isOpen ? ['u', number] : failed]
  // A line that may have been executed before is unknown, even if rejected now.
  if (earlier || exitCode === exit.unknown) return [outcomeOf('unknown'), ['u', number]]
  return [outcomeOf('failed'), failed]
}

/** Servers accept URLs of some 8,000 characters. Much longer ids do not fit into a line of the job. */
const longestId = 8192

function unusableId(): CliError {
  const message = `the instance answered with an id of over ${longestId} characters: the record may exist or not`
  return new CliError('unexpected_answer', exit.unknown, message)
}

function stopsAll(operation: Operation, { result, error }: Outcome): boolean {
  return result === 'unsent' || (error !== null && failsAll(operation, error))
}

export function failsAll(operation: Operation, error: unknown): boolean {
  return isUnreachable(error) || endsAll(explain(error).exit) || operation.failsAll?.(error) === true
}

/** Maximum body of a request; instances accept 1 MiB. */
const maxBodyBytes = 900_000

/** Bytes that the key and the site add to a line. */
const rowOverheadBytes = 160

function bytesOf({ entry }: Item): number {
  return entry.line.bytes.length + rowOverheadBytes
}
