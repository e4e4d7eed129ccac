import { v5 } from 'uuid'
import type { Context } from '../../../context.ts'
import { consents } from '../../../contract/consents.ts'
import { CliError } from '../../../errors/errors.ts'
import { exit } from '../../../errors/exit.ts'
import { explain } from '../../../errors/explain.ts'
import type { LineResult } from '../../../views/bulk.ts'
import type { Job } from './job.ts'
import type { Known } from './known.ts'
import { changedError, type Entry } from './source.ts'

/** A line, and what is known of it from earlier runs of its job. */
interface Item {
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

/** The lines of a job. Throws at the end where the file is not what was validated. */
export async function* itemsOf(ctx: Context, { source, extent, journal }: Job): AsyncGenerator<Item> {
  for await (const entry of source.entries()) {
    const past = (await journal?.past(entry.line.number)) ?? null
    const isOpen = past !== null && past.id === null
    yield { entry, past, maySend: !isOpen || (isFresh(past) && (await honoursKey(ctx))) }
  }
  if (extent && source.digest() !== extent.sha256) throw changedError(source.path ?? '')
}

/** Whether a create that is sent twice with the same key is done once. Throws where the instance cannot be asked. */
export function honoursKey({ api }: Context): Promise<boolean> {
  return api.offers(consents.create, { in: 'header', name: 'Idempotency-Key' })
}

function isFresh({ since }: Known): boolean {
  return Date.now() - since < keyLife
}

/** Creates the record of a line, unless it is there already or may be there. Never rejects. */
export async function createOne(
  ctx: Context,
  { journal }: Job,
  { entry, past, maySend }: Item,
): Promise<Outcome> {
  const { line, body } = entry
  if (past?.id) return { entry, result: 'created', id: past.id, error: null }
  if (!maySend) return { entry, result: 'unknown', id: null, error: lostError() }
  if (body === null) return { entry, result: 'failed', id: null, error: entry.error }
  try {
    await journal?.started(line.number)
  } catch (error) {
    return { entry, result: 'unsent', id: null, error }
  }
  try {
    const key = journal ? { idempotencyKey: v5(String(line.number), journal.header.job) } : {}
    const { id } = await ctx.api.consents.create({ body, ...key })
    journal?.ended(['d', line.number, id])
    return { entry, result: 'created', id, error: null }
  } catch (error) {
    // A line that may have been made before is not known to have failed by whatever it is answered now.
    const { code, exit: exitCode } = explain(error)
    const isUnknown = past !== null || exitCode === exit.unknown
    journal?.ended(isUnknown ? ['u', line.number] : ['f', line.number, code])
    return { entry, result: isUnknown ? 'unknown' : 'failed', id: null, error }
  }
}

function lostError(): CliError {
  return new CliError(
    'lost',
    exit.unknown,
    'it was sent before, and the answer was lost: it may be made or not',
    {
      hint: 'consentctl list shows it, if it is made',
    },
  )
}
