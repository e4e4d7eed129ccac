import type { Sql } from 'postgres'
import { OperatorError } from '../../src/contract/index.ts'

const minute = 60_000

/** How far the clocks of a node and of its database may be apart, in milliseconds. */
const tolerance = 5 * minute

/**
 * Throws an OperatorError where this node's clock and the database's are far apart: by the wrong one of them, what is to be
 * kept would go for good.
 */
export async function checkClock(sql: Sql): Promise<void> {
  const [row] = await sql<{ now: Date }[]>`select now() as now`
  const apart = Math.abs(Date.now() - (row?.now.getTime() ?? 0))
  if (apart <= tolerance) return
  const minutes = Math.round(apart / minute)
  throw new OperatorError(`the clocks of this machine and of the database are ${minutes} minutes apart`, {
    hint: 'set them right: by a wrong clock, records would be deleted and purged too early',
  })
}
