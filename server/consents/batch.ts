import type { Sql } from 'postgres'
import { type Actor, type Event, linkOf, newSalt } from '../../src/evidence/chain.ts'
import { removeRecords, type SiteRecords } from './batch-queries.ts'
import type { BatchLink, ChainRow, StateRow } from './rows.ts'

/** What happens to each record of a batch. */
type Happening = Pick<Event, 'action' | 'state'> & Pick<Event, 'recordHash' | 'historyHash'>

/** The next link of a record's chain. */
export function nextLink(row: ChainRow, actor: Actor, happening: Happening, salt = newSalt()): BatchLink {
  const { id, version, chain_head: previous } = row
  const at = new Date(Math.max(Date.now(), row.updated_at.getTime())) // a clock set back must not reorder history
  const link = linkOf({ ...happening, id, version: version + 1, actor, at, previous }, salt)
  return { ...link, id, version, at }
}

/** The links of a batch that deletes records as they were read. */
export function removalLinks(rows: readonly StateRow[], actor: Actor): BatchLink[] {
  return rows.map(row => nextLink(row, actor, { action: 'deleted', state: row }))
}

/** Deletes records that are still as they were read, in one statement; resolves to how many that was of each site. */
export function removeBatch(
  sql: Sql,
  accountId: string,
  rows: readonly StateRow[],
  actor: Actor,
): Promise<SiteRecords[]> {
  return removeRecords(sql, accountId, removalLinks(rows, actor), actor)
}
