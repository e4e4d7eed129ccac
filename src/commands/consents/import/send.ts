import type { Context } from '../../../context.ts'
import { type ConsentDraft, consents } from '../../../contract/consents.ts'
import { CliError, exit } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import type { LineResult } from '../../../views/import.ts'
import type { Sender } from './batch.ts'
import type { Entry } from './entry.ts'
import type { Job } from './job.ts'
import type { Event } from './journal.ts'
import type { Known } from './known.ts'
import type { Noted } from './noted.ts'
import { changedError } from './source.ts'

/** A line, and what is known of it from earlier runs of its job. */
export interface Item {
  readonly entry: Entry
  readonly past: Known | null
  /** Whether it may be sent, again where it was sent before. */
  readonly maySend: boolean
}

/** What became of a line; `unsent`: it could not be noted that it would be sent, so it was not. */
export interface Outcome {
  readonly entry: Entry
  readonly result: LineResult['result'] | 'unsent'
  readonly id: string | null
  readonly error: unknown
}

/** Instances keep an Idempotency-Key for 24 hours, by their own clock; an hour is for the difference of the clocks. */
const keyLife = 23 * 60 * 60 * 1000

/** The lines of a job, all together that are there at once. Throws at the end where the file is not what was validated. */
export async function* itemsOf(
  ctx: Context,
  { source, extent, journal }: Job,
): AsyncGenerator<readonly Item[]> {
  for await (const entries of source.entries(extent !== null)) {
    const items: Item[] = []
    try {
      for (const entry of entries) {
        const past = journal?.isResumed ? await journal.past(entry.line.number) : null
        const isOpen = past !== null && past.id === null
        items.push({ entry, past, maySend: !isOpen || (isFresh(past) && (await honoursKey(ctx))) })
      }
    } catch (error) {
      yield items // those before it
      throw error
    }
    yield items
  }
  if (extent && source.digest() !== extent.sha256) throw changedError(source.path ?? '')
}

/** Whether a create that is sent twice with the same key is done once. Throws where the instance cannot be asked. */
export function honoursKey({ api }: Context): Promise<boolean> {
  return api.supports(consents.create, { in: 'header', name: 'Idempotency-Key' })
}

function isFresh({ since }: Known): boolean {
  return Date.now() - since < keyLife
}

/** What became of a line that was sent. */
export type Answer = { readonly id: string } | { readonly error: unknown }

/**
 * Creates the records of lines, unless they are there already or may be there; `post` sends the others, once it is on the
 * disk that they will be. Never rejects.
 */
export async function create(
  { journal }: Job,
  { items, noted }: Noted,
  { post, isRepeatable }: Pick<Sender, 'post' | 'isRepeatable'>,
): Promise<Outcome[]> {
  const left = items.filter(isToSend)
  try {
    await noted
  } catch (error) {
    return items.map(item => unsent(item) ?? { entry: item.entry, result: 'unsent', id: null, error })
  }
  journal?.sent(left.map(({ entry }) => entry.line.number))
  const answers = left.length > 0 ? await post(left) : []
  let index = 0
  const note = (event: Event) => journal?.ended(event, isRepeatable())
  return items.map(item => unsent(item) ?? outcomeOf(note, item, answers[index++] as Answer))
}

/** Whether a line is sent; what becomes of the others is known. */
export function isToSend(item: Item): boolean {
  return unsent(item) === null
}

/** What is known of a line that is not sent; null for one that is. */
function unsent({ entry, past, maySend }: Item): Outcome | null {
  if (past?.id) return { entry, result: 'created', id: past.id, error: null }
  if (!maySend) return { entry, result: 'unknown', id: null, error: lostError() }
  return entry.body === null ? { entry, result: 'failed', id: null, error: entry.error } : null
}

/** Notes what became of a line. */
function outcomeOf(note: (event: Event) => void, { entry, past }: Item, answer: Answer): Outcome {
  const { number } = entry.line
  if ('id' in answer) {
    note(['d', number, answer.id])
    return { entry, result: 'created', id: answer.id, error: null }
  }
  // A line that may have been made before is not known to have failed by whatever it is answered now.
  const { code, exit: exitCode } = explain(answer.error)
  const isUnknown = past !== null || exitCode === exit.unknown
  note(isUnknown ? ['u', number] : ['f', number, code])
  return { entry, result: isUnknown ? 'unknown' : 'failed', id: null, error: answer.error }
}

/** Sends a line with a request of its own. Never rejects. */
export async function postOne(ctx: Context, { journal }: Job, { entry }: Item): Promise<Answer> {
  try {
    const key = journal ? { idempotencyKey: journal.keyOf(entry.line.number) } : {}
    const { id } = await ctx.api.consents.create({ body: entry.body as ConsentDraft, ...key })
    return { id }
  } catch (error) {
    return { error }
  }
}

function lostError(): CliError {
  return new CliError(
    'lost',
    exit.unknown,
    'it was sent before, and the answer was lost: it may be made or not',
  )
}
