import type { Sql } from 'postgres'

/** A step of an executed plan. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Runs `work` on a connection with this `plan_cache_mode`. */
export function planning<T>(sql: Sql, mode: string, work: (tx: Sql) => Promise<T>): Promise<Awaited<T>> {
  return sql.begin(async tx => {
    await tx.unsafe(`set local plan_cache_mode = ${mode}`)
    return work(tx as unknown as Sql)
  }) as Promise<Awaited<T>>
}

/** Returns the plan of the last statement of `work`, which is executed twice and rolled back. */
export async function explained(tx: Sql, work: (sql: Sql) => Promise<unknown>): Promise<PlanNode> {
  const built: { readonly string?: string; readonly parameters: unknown[] }[] = []
  const recording = new Proxy(tx, {
    apply: (target, _this, args: Parameters<Sql>) => {
      const query: unknown = target(...args)
      if (query instanceof Promise) built.push(query as never)
      return query
    },
  })
  await tx.unsafe('savepoint before')
  await work(recording)
  await tx.unsafe('rollback to savepoint before')
  // Internals of the driver: a fragment has no text of its own.
  const { string, parameters = [] } = built.findLast(query => query.string !== undefined) ?? {}
  const texts = parameters.map(value => `'${value instanceof Date ? value.toISOString() : value}'`)
  await tx.unsafe(`prepare plan as ${string}`)
  const [row] = await tx.unsafe<{ 'QUERY PLAN': [{ Plan: PlanNode }] }[]>(
    `explain (analyze, format json) execute plan (${texts.join(', ')})`,
  )
  await tx.unsafe('rollback to savepoint before')
  await tx.unsafe('deallocate plan')
  if (!row) throw new Error('there is no plan')
  return row['QUERY PLAN'][0].Plan
}

/** Returns how many rows of tables the plan looked at, those that it then left out among them. */
export function rowsOf(node: PlanNode): number {
  const own = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)
  const isScan = /^(Seq|Index|Index Only|Bitmap Heap|Tid) Scan$/.test(node['Node Type'])
  const below = (node.Plans ?? []).map(rowsOf)
  return below.reduce((sum, rows) => sum + rows, isScan ? own * node['Actual Loops'] : 0)
}
