import { type Output, one } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import type { ConsentQuery } from '../../contract/consents.ts'
import { type CountQuery, stats } from '../../contract/stats.ts'
import { explain } from '../../errors/explain.ts'
import { countView } from '../../views/consent.ts'

/** Counts page by page if the instance cannot count. */
export async function countList(ctx: Context, query: ConsentQuery): Promise<Output<{ readonly count: number }>> {
  const { cursor: _, limit: __, ...filters } = query
  return one(countView, { count: (await ask(ctx, filters)) ?? (await readAll(ctx, filters)) })
}

async function ask({ api }: Context, query: CountQuery): Promise<number | null> {
  try {
    return (await api.call(stats.count, { query })).count
  } catch (error) {
    if (explain(error).status === 404 && !(await api.supports(stats.count).catch(() => true))) return null
    throw error
  }
}

async function readAll(ctx: Context, query: CountQuery): Promise<number> {
  await ctx.say('this instance cannot count records: reading every page instead')
  const extent = { limit: Number.POSITIVE_INFINITY, maxRequests: Number.POSITIVE_INFINITY, readAhead: true }
  let count = 0
  let pages = 0
  for await (const { records } of ctx.api.pages(query, extent)) {
    count += records.length
    pages += 1
  }
  await ctx.say(`counted in ${pages} page${pages === 1 ? '' : 's'}, one request each`)
  return count
}
