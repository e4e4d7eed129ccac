import type { RowResult } from '../../../client/batch.ts'
import { batchLimits } from '../../../contract/batch.ts'
import type { ImportRow } from '../../../contract/imports.ts'
import { CliError, exit } from '../../../errors/errors.ts'
import { explain } from '../../../errors/explain.ts'
import { type Kind, openKinds } from '../../../errors/kinds.ts'
import type { Answer, Counts, Item, LineJob, Operation } from '../bulk/operation.ts'
import type { How } from '../bulk/state.ts'

export interface Refusal extends Kind {
  records: number
}

interface ImportKind {
  readonly site: string | undefined
  readonly about: Readonly<Record<string, unknown>> | undefined
  readonly receiptOut: string | undefined
  /** Unix time in ms by the service's clock, before anything was sent. */
  readonly beganAt: number
  complete(job: LineJob, counts: Counts, refusals: readonly Refusal[]): Promise<void>
}

const { importsPerUnit: rowsPerUnit } = batchLimits

/** An origin is imported only once, so rows can be resent at any time. */
export function imports({ site, about, receiptOut, beganAt, complete }: ImportKind): Operation {
  const refusals = refusalCounter()
  return {
    command: 'import',
    lines: { noun: 'a record', fields: [], silenceRefuses: false, isOwn: true, check: () => {} },
    done: 'imported',
    words: { verb: 'import', work: 'import', check: 'list before you import', unchanged: 'known' },
    defaults: { site_id: site },
    about,
    receiptOut,
    requests: 1 / rowsPerUnit,
    isIdempotent: true,
    nameOf: ({ line }) => `origin ${(JSON.parse(line.bytes.toString()) as ImportRow).origin.id}`,
    // All rows belong to the same site.
    failsAll: error => explain(error).exit === exit.notFound,
    connect: (ctx, _, job) => {
      const size = batchSizes()
      const common = Buffer.from(`${JSON.stringify(job.operation.defaults).slice(0, -1)},`) // begins each row
      const post = async (items: readonly Item[]): Promise<readonly Answer[]> => {
        const start = performance.now()
        try {
          const rows = items.map(({ entry }) => entry.line.bytes)
          const results = await ctx.api.createRows(rows, common)
          size.took(items.length, performance.now() - start)
          return results.map((result, index) => toAnswer(result, items[index] as Item, beganAt))
        } catch (error) {
          size.failed()
          if (explain(error).status !== 413 || items.length === 1) return items.map(() => ({ error }))
          const middle = Math.ceil(items.length / 2)
          return [...(await post(items.slice(0, middle))), ...(await post(items.slice(middle)))]
        }
      }
      return {
        maxLines: async () => size.next(),
        isRepeatable: () => true,
        mayResend: async () => true,
        send: async items => {
          const answers = await post(items)
          for (const answer of answers) if ('error' in answer) refusals.add(answer.error)
          return answers
        },
      }
    },
    complete: async (_, job, counts) => await complete(job, counts, refusals.all()),
  }
}

const targetMs = 2000

/** The service holds all rows of a batch in memory. */
const mostRows = 5 * rowsPerUnit

/** Two seconds per request: the service cancels a statement after five. */
function batchSizes() {
  let size = mostRows
  return {
    next: () => size,
    took: (rows: number, ms: number) => {
      const fitting = Math.floor((rows * targetMs) / ms / rowsPerUnit) * rowsPerUnit
      if (rows >= size || fitting < size) size = Math.max(rowsPerUnit, Math.min(mostRows, fitting, 2 * size))
    },
    failed: () => {
      size = rowsPerUnit
    },
  }
}

function toAnswer(result: RowResult, { sentAt }: Item, beganAt: number): Answer {
  if (result.error !== null) return { error: result.error }
  const { id, replayed, maybeOwn } = result
  try {
    return { id, how: replayed ? howOfReplayed(id, sentAt !== null || maybeOwn, beganAt) : undefined }
  } catch (error) {
    // Not a rejection, because an unfinished line prevents a receipt.
    return { error: new CliError('unexpected_answer', exit.unknown, (error as Error).message, { cause: error }) }
  }
}

/**
 * `unanswered`: made by this import, because an earlier request may have made it, and its id is not older.
 *
 * @throws Error for an id without a time
 */
export function howOfReplayed(id: string, mayBeOwn: boolean, beganAt: number): How {
  const isNew = timeOf(id) >= beganAt
  return mayBeOwn && isNew ? 'unanswered' : 'unchanged'
}

/** Unix time in ms of a UUIDv7 (RFC 9562 section 5.7). @throws Error for another id */
function timeOf(id: string): number {
  const [, high, low] = /^([\da-f]{8})-([\da-f]{4})-7/i.exec(id) ?? []
  if (!high) throw new Error(`the id ${id} contains no creation time, so nothing was signed`)
  return Number.parseInt(`${high}${low}`, 16)
}

/** Groups by kind of error: messages quote values, which no receipt may contain. */
function refusalCounter() {
  const refusals = new Map<string, Refusal>()
  const kindOf = openKinds()
  return {
    add: (error: unknown): void => {
      const kind = kindOf(error)
      const key = `${kind.code} ${kind.message}`
      const refusal = refusals.get(key) ?? { ...kind, records: 0 }
      refusal.records += 1
      refusals.set(key, refusal)
    },
    all: () => [...refusals.values()],
  }
}
