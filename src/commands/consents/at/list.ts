import type { Context } from '../../../context.ts'
import { consents } from '../../../contract/consents.ts'
import type { Consent, ConsentQuery } from '../../../contract/index.ts'
import { report } from '../../../errors/report.ts'
import { inOrder } from '../../../io/concurrency.ts'
import { showsDeleted } from '../../../subject/found.ts'
import type { ConsentRow } from '../../../views/consent.ts'
import { type At, absence } from './moment.ts'
import { readMoment, untoldError } from './read.ts'

/** How many histories are asked for at once. */
const atOnce = 8

export interface PageAt {
  readonly records: readonly ConsentRow[]
  /** Where the walk goes on after this page; null when there is no more. */
  readonly next: string | null
  /** How many records there were of which nothing can be told. */
  readonly untold: number
}

/**
 * The pages of a list as its records were. A page has no more records than may still be shown, and their histories still
 * be asked for, so that its cursor goes on without a gap. `accepted` is about the state then.
 */
export async function* pagesAt(
  ctx: Context,
  { accepted, ...query }: ConsentQuery,
  at: At,
  { limit, maxRequests }: { readonly limit: number; readonly maxRequests: number },
): AsyncGenerator<PageAt> {
  const all = await showsDeleted(ctx, consents.list)
  if (!all) await ctx.warn('warning: this instance lists no deleted records: those deleted since are missing')
  let { cursor } = query
  let [left, requests] = [limit, maxRequests - 1]
  while (left > 0 && requests > 1) {
    const size = Math.min(left, requests - 1)
    const asked = { ...query, cursor, include_deleted: all || undefined }
    for await (const page of ctx.api.pages(asked, { limit: size, maxRequests: 1 })) {
      const { rows, histories, untold } = await rowsOf(ctx, page.records, at)
      const records = rows.filter(row => accepted === undefined || row.accepted === accepted)
      yield { records, untold, next: page.next }
      if (page.next === null) return
      left -= records.length
      requests -= 1 + histories
      cursor = page.next
    }
  }
}

/** The records of a page as they were, in their order, without those that were not there. */
async function rowsOf(ctx: Context, records: readonly Consent[], at: At) {
  const candidates = records.filter(record => absence(record, [], at) === null)
  const rows: ConsentRow[] = []
  let untold = 0
  const read = async (record: Consent) => ({ record, moment: await readMoment(ctx, record.id, record, at) })
  for await (const { record, moment } of inOrder(each(candidates), atOnce, read)) {
    if ('row' in moment) {
      for (const note of moment.notes) await ctx.warn(`warning: ${note}`)
      rows.push(moment.row)
    } else if (moment.absent === 'untold') {
      untold += 1
      await report(ctx, untoldError(record.id, at, moment.why))
    }
  }
  return { rows, histories: candidates.length, untold }
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items
}
