import { isUnreachable } from '../../../client/errors.ts'
import type { Context } from '../../../context.ts'
import { type BatchRow, batchLimits } from '../../../contract/batch.ts'
import { ConsentDraft, consents } from '../../../contract/consents.ts'
import { text } from '../../../contract/values.ts'
import { explain } from '../../../errors/explain.ts'
import type { Answer, Item, LineJob, LineJobOptions, Operation } from './operation.ts'
import { type LineKind, lineKind } from './reader.ts'

export function creates(site: string | undefined): Operation {
  return {
    command: 'create',
    lines: newRecords,
    done: 'created',
    words: { verb: 'create', work: 'import', check: 'list before you create', unchanged: 'as wanted' },
    defaults: { site_id: site },
    requests: 1,
    isIdempotent: false,
    connect: (ctx, options, job) => {
      const instance = detectCapabilities(ctx, options, job)
      return {
        maxLines: async () => ((await instance.forNextRequest()).batches ? batchLimits.rows : 1),
        isRepeatable: instance.isRepeatable,
        mayResend: async sentAt => Date.now() - sentAt < keyLifetimeMs && (await honoursKeys(ctx)),
        send: items => post(ctx, job, items, instance),
      }
    },
  }
}

/** Keys are kept for 24 hours; one hour is a margin for clock differences. */
const keyLifetimeMs = 23 * 60 * 60 * 1000

/** @throws ApiError if the instance does not respond */
export function honoursKeys({ api }: Context): Promise<boolean> {
  return api.supports(consents.create, { in: 'header', name: 'Idempotency-Key' })
}

interface Capabilities {
  readonly batches: boolean
  readonly keys: boolean
}

const noCapabilities: Capabilities = { batches: false, keys: false }

/** For fewer lines, feature detection costs more than it saves. */
const minLinesToDetect = 100

type Instance = ReturnType<typeof detectCapabilities>

function detectCapabilities(ctx: Context, options: LineJobOptions, { extent, doneBefore, state }: LineJob) {
  let requests = 0
  let detected: Capabilities | null = null
  let detecting: Promise<Capabilities> | null = null
  const detect = async (): Promise<Capabilities> => {
    const { createBatch } = await import('../../../contract/batch.ts')
    const honours = await honoursKeys(ctx).catch(() => false) // without keys, a batch could not be retried
    const batches = options.batch !== false && honours && (await ctx.api.supports(createBatch).catch(() => false))
    return { batches, keys: state !== null && honours }
  }
  return {
    forNextRequest: async (): Promise<Capabilities> => {
      requests += 1
      if (detected) return detected
      if ((extent ? extent.lines - doneBefore : requests) <= minLinesToDetect) return noCapabilities
      detecting ??= detect()
      detected ??= await detecting
      return detected
    },
    isRepeatable: () => detected?.keys ?? false,
    takesBatches: () => detected?.batches === true,
    hasNoBatches: () => {
      detected = { batches: false, keys: detected?.keys ?? false }
    },
  }
}

async function post(
  ctx: Context,
  job: LineJob,
  items: readonly Item[],
  instance: Instance,
): Promise<readonly Answer[]> {
  const [item] = items
  if (items.length === 1 && item) return [await postOne(ctx, job, item)]
  if (!instance.takesBatches()) return await postOneByOne(ctx, job, items)
  try {
    const answers = await ctx.api.createRows(items.map(one => toRow(job, one)))
    return answers.map(({ id, error }) => (error === null ? { id } : { error }))
  } catch (error) {
    const { status } = explain(error)
    if (status === 404 || status === 405) {
      instance.hasNoBatches()
      return await postOneByOne(ctx, job, items)
    }
    if (status !== 413 && status !== 400) return items.map(() => ({ error }))
    // The batch is too large, or was rejected because of some lines.
    const middle = Math.ceil(items.length / 2)
    const first = await post(ctx, job, items.slice(0, middle), instance)
    const answers = [...first, ...(await post(ctx, job, items.slice(middle), instance))]
    // Two lines that are accepted one by one were rejected as a batch.
    if (status === 400 && items.length === 2 && answers.every(answer => 'id' in answer)) instance.hasNoBatches()
    return answers
  }
}

async function postOneByOne(ctx: Context, job: LineJob, items: readonly Item[]): Promise<Answer[]> {
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

async function postOne(ctx: Context, { state }: LineJob, { entry }: Item): Promise<Answer> {
  try {
    const key = state ? { idempotencyKey: state.keyOf(entry.line.number) } : {}
    const { id } = await ctx.api.consents.create({ body: entry.draft as ConsentDraft, ...key })
    return { id }
  } catch (error) {
    return { error }
  }
}

function toRow({ state }: LineJob, { entry }: Item): BatchRow {
  const key = state ? state.keyOf(entry.line.number) : crypto.randomUUID()
  return { ...(entry.draft as BatchRow), idempotency_key: key }
}

/** Ids of other instances may not be UUIDs. */
const Draft = ConsentDraft.extend({ site_id: text(1, 255) })

export const newRecords: LineKind<object> = {
  ...lineKind(Draft, 'a new record', {
    field: 'site_id',
    message: 'has no site_id, and no --site is given',
    hint: 'use --site NAME, or store it in the profile: consentctl config set site NAME',
  }),
  silenceRefuses: true,
}
