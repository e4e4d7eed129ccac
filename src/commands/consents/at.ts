import { pastInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import type { Consent, ConsentQuery } from '../../contract/index.ts'
import { parseInstant } from '../../contract/instant.ts'
import { type At, absence, type Moment, momentOf } from '../../domain/moment.ts'
import { showsDeleted } from '../../erasure/records.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { mapInOrder } from '../../io/concurrency.ts'
import type { ConsentRow } from '../../views/consent.ts'

interface AtFlag extends At {
  /** RFC 3339. */
  readonly text: string
}

/** @throws CliError (usage) for an instant in the future */
export async function readAt(ctx: Context, flag: string, includeDeleted: boolean | undefined): Promise<AtFlag> {
  const text = pastInstant(flag, new Date())
  if (ctx.globals.verbose) await ctx.warn(`* --at ${text}`)
  return { text, instant: parseInstant(text) ?? 0, includeDeleted: includeDeleted ?? false }
}

/** @throws CliError if the record did not exist then, or its state is unknown */
export async function getAt(ctx: Context, id: string, at: AtFlag): Promise<ConsentRow> {
  const moment = await readMoment(ctx, id, null, at)
  if ('row' in moment) {
    for (const note of moment.notes) await ctx.warn(`warning: ${note}`)
    return { ...moment.row, word: moment.word }
  }
  if (moment.absent === 'unknown') throw unknownError(id, at, moment.why)
  const hint = moment.absent === 'deleted' ? { hint: '--include-deleted shows it' } : {}
  throw new CliError('not_found', exit.notFound, `no consent with id ${id} at ${at.text}: ${moment.why}`, hint)
}

function unknownError(id: string, at: AtFlag, why: string): CliError {
  return new CliError('untold', exit.notFound, `the state of ${id} at ${at.text} is unknown: ${why}`)
}

/** `listed` is the current record, if known. */
async function readMoment(ctx: Context, id: string, listed: Consent | null, at: AtFlag): Promise<Moment> {
  const { data } = await ctx.api.consents.history({ params: { id } })
  const absent = absence(listed, data, at)
  return absent ?? momentOf(id, listed ?? (await findRecord(ctx, id)), data, at)
}

/** Returns the record even if deleted; null if it is no longer shown. */
async function findRecord(ctx: Context, id: string): Promise<Consent | null> {
  const get = (query: { include_deleted?: boolean }) =>
    ctx.api.consents.get({ params: { id }, query }).catch((error: unknown) => {
      if (exitOf(error) === exit.notFound) return null
      throw error
    })
  return (await get({})) ?? ((await showsDeleted(ctx.api, consents.get)) ? await get({ include_deleted: true }) : null)
}

const concurrency = 8

interface PageAt {
  readonly records: readonly ConsentRow[]
  readonly next: string | null
  readonly unknown: number
}

/**
 * Each page stays within the limits of records and requests, so that its cursor skips nothing. `accepted` filters by
 * the past state.
 */
export async function* pagesAt(
  ctx: Context,
  { accepted, ...query }: ConsentQuery,
  at: AtFlag,
  { limit, maxRequests }: { readonly limit: number; readonly maxRequests: number },
): AsyncGenerator<PageAt> {
  const all = await showsDeleted(ctx.api, consents.list)
  if (!all)
    await ctx.warn('warning: this instance does not list deleted records: records deleted since then are missing')
  let { cursor } = query
  let [left, requests] = [limit, maxRequests - 1]
  while (left > 0 && requests > 1) {
    const size = Math.min(left, requests - 1)
    const asked = { ...query, cursor, include_deleted: all || undefined }
    for await (const page of ctx.api.pages(asked, { limit: size, maxRequests: 1 })) {
      const { rows, histories, unknown } = await rowsOf(ctx, page.records, at)
      const records = rows.filter(row => accepted === undefined || row.accepted === accepted)
      yield { records, unknown, next: page.next }
      if (page.next === null) return
      left -= records.length
      requests -= 1 + histories
      cursor = page.next
    }
  }
}

async function rowsOf(ctx: Context, records: readonly Consent[], at: AtFlag) {
  const candidates = records.filter(record => absence(record, [], at) === null)
  const rows: ConsentRow[] = []
  let unknown = 0
  const read = async (record: Consent) => ({ record, moment: await readMoment(ctx, record.id, record, at) })
  for await (const { record, moment } of mapInOrder(candidates, { concurrency }, read)) {
    if ('row' in moment) {
      for (const note of moment.notes) await ctx.warn(`warning: ${note}`)
      rows.push(moment.row)
    } else if (moment.absent === 'unknown') {
      unknown += 1
      await report(ctx, unknownError(record.id, at, moment.why))
    }
  }
  return { rows, histories: candidates.length, unknown }
}
