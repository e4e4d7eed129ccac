import type { ReservedSql, Sql } from 'postgres'

/**
 * Work in one transaction, for what happens before the service listens: a connection that is lost in the middle may take
 * the process with it. It stands in for the driver's own `begin`, which crashes where statements are sent one by one.
 */
export async function inTransaction<T>(sql: Sql, work: (tx: ReservedSql) => Promise<T>): Promise<T> {
  await sql`select 1` // the driver never reserves a connection that is only being opened
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
