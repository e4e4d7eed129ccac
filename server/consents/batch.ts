import { type Actor, type Event, linkOf, newSalt } from '../../src/evidence/chain.ts'
import type { BatchLink, ChainRow } from './rows.ts'

/** What happens to each record of a batch. */
type Happening = Pick<Event, 'action' | 'state'> & Pick<Event, 'recordHash' | 'historyHash'>

/** The next link of a record's chain. */
export function nextLink(row: ChainRow, actor: Actor, happening: Happening, salt = newSalt()): BatchLink {
  const { id, version, chain_head: previous } = row
  const at = new Date(Math.max(Date.now(), row.updated_at.getTime())) // a clock set back must not reorder history
  const link = linkOf({ ...happening, id, version: version + 1, actor, at, previous }, salt)
  return { ...link, id, version, at }
}
