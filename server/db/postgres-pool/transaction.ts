import type { ReservedSql, Sql } from 'postgres'

/**
 * Replaces the driver's `begin`, which needs pipelining. Not for requests: if the connection is lost in the middle, the driver
 * may end the process (README.md).
 */
export async function inTransaction<T>(sql: Sql, work: (tx: ReservedSql) => Promise<T>): Promise<T> {
  await sql`select 1` // the driver never reserves the first connection of a pool
  const tx = await sql.reserve()
  try {
    await tx`begin`
    const result = await work(tx)
    await tx`commit`
    return result
  } catch (error) {
    await tx`rollback`.catch(() => {})
    throw error
  } finally {
    tx.release()
  }
}
