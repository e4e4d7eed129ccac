import type { Sql } from 'postgres'

/** A step of a plan that was carried out, as PostgreSQL tells of it. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Works on one connection that makes its plans so. */
export function planning<T>(sql: Sql, mode: string, work: (tx: Sql) => Promise<T>): Promise<Awaited<T>> {
  return sql.begin(async tx => {
    await tx.unsafe(`set local plan_cache_mode = ${mode}`)
    return work(tx as unknown as Sql)
  }) as Promise<Awaited<T>>
}

/** The plan of a statement, which is carried out twice; what it writes is undone. */
export async function explained(tx: Sql, query: Promise<unknown>): Promise<PlanNode> {
  await tx.unsafe('savepoint before')
  await query
  await tx.unsafe('rollback to savepoint before')
  // The driver keeps with a query what it has sent.
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
