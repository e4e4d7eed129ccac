import type { Context } from '../../../context.ts'
import type { BatchRow } from '../../../contract/batch.ts'
import { explain } from '../../../errors/explain.ts'
import type { Room } from '../../../io/groups.ts'
import type { BulkOptions, Job } from './job.ts'
import { type Answer, honoursKey, type Item, postOne } from './send.ts'
import type { Tally } from './tally.ts'

/** How the lines of a run are sent: many with one request, where the instance takes that. */
export interface Sender {
  /** How many lines the next request may take. */
  room(): Promise<Room>
  /** Whether a line that is sent twice is created once, as far as it is known by now. */
  isRepeatable(): boolean
  /** Sends lines; resolves to what became of each. Never rejects. */
  post(items: readonly Item[]): Promise<readonly Answer[]>
}

/** Fewer lines are sent one by one: to ask what the instance takes costs a request itself. */
const worthAsking = 100

/** Bytes of the lines of one request. An instance takes 1 MiB and 1,000 rows, or says that it is too much. */
const mostBytes = 900_000

/** Rows of one request, which an instance takes as well: fewer cost it more for each, and the client too. */
const mostRows = 1000

/** What a row has around its line: its key and its site. */
const around = 160

export function senderOf(ctx: Context, options: BulkOptions, job: Job, tally: Tally): Sender {
  let offered: Offered | null = null
  let asking: Promise<Offered> | null = null
  let taken = 0
  const ask = async () => {
    if (offered) return offered
    const lines = job.extent ? job.extent.lines - job.before : taken
    if (lines <= worthAsking) return nothing
    asking ??= offersOf(ctx, options, job)
    offered ??= await asking
    return offered
  }
  return {
    room: async () => {
      taken += 1
      if (!(await ask()).batches) return { items: 1, bytes: 0 }
      return { items: Math.max(1, Math.min(mostRows, options.maxErrors - tally.failed)), bytes: mostBytes }
    },
    isRepeatable: () => offered?.keys ?? false,
    post: items =>
      post(ctx, job, items, () => {
        offered = nothing
      }),
  }
}

/** What an instance takes: many lines in a request, a line twice. */
interface Offered {
  readonly batches: boolean
  readonly keys: boolean
}

const nothing: Offered = { batches: false, keys: false }

/** Asked only where it is of use. */
async function offersOf(ctx: Context, { batch }: BulkOptions, { journal }: Job): Promise<Offered> {
  const { createBatch } = await import('../../../contract/batch.ts')
  const isOnce = await honoursKey(ctx).catch(() => false) // without which a batch would not be sent again
  const batches = batch && isOnce && (await ctx.api.supports(createBatch).catch(() => false))
  return { batches, keys: journal !== null && isOnce }
}

export function bytesOf({ entry }: Item): number {
  return entry.line.bytes.length + around
}

async function post(
  ctx: Context,
  job: Job,
  items: readonly Item[],
  onMissing: () => void,
): Promise<readonly Answer[]> {
  const [item] = items
  if (items.length === 1 && item) return [await postOne(ctx, job, item)]
  try {
    const answers = await ctx.api.createRows(items.map(one => rowOf(job, one)))
    return answers.map(({ id, error }) => (error === null ? { id } : { error }))
  } catch (error) {
    const { status } = explain(error)
    if (status === 400 || status === 404 || status === 405) onMissing() // whatever the instance says of itself
    if (status === 413 || status === 400) return await halves(items, half => post(ctx, job, half, onMissing))
    if (status !== 404 && status !== 405) return items.map(() => ({ error }))
    return await each(items, one => postOne(ctx, job, one))
  }
}

/** What was refused whole is sent in parts, until it is known what is wrong with which line. */
async function halves(
  items: readonly Item[],
  send: (items: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<readonly Answer[]> {
  const middle = Math.ceil(items.length / 2)
  return [...(await send(items.slice(0, middle))), ...(await send(items.slice(middle)))]
}

async function each(items: readonly Item[], send: (item: Item) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = []
  for (const item of items) {
    const last = answers.at(-1)
    answers.push(last && isForAll(last) ? last : await send(item))
  }
  return answers
}

/** Whether the lines behind one would meet the same: who asks may not, or is to stop. */
function isForAll(answer: Answer): boolean {
  if (!('error' in answer)) return false
  const { status, code } = explain(answer.error)
  return code === 'interrupted' || [401, 403, 429].includes(status ?? 0)
}

function rowOf({ journal }: Job, { entry }: Item): BatchRow {
  const key = journal ? journal.keyOf(entry.line.number) : crypto.randomUUID()
  return { ...(entry.body as BatchRow), idempotency_key: key }
}
