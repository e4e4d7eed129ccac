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

/** Returns the plan of a statement, which is executed twice and rolled back. */
export async function explained(tx: Sql, query: Promise<unknown>): Promise<PlanNode> {
  await tx.unsafe('savepoint before')
  await query
  await tx.unsafe('rollback to savepoint before')
  // Internals of the driver.
  const { string, parameters } = query as unknown as { string: string; parameters: unknown[] }
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
