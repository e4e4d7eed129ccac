import type { Sql } from 'postgres'
import type { DatabaseFinding } from '../../src/contract/index.ts'
import type { SignedCheckpoint } from '../../src/evidence/checkpoint.ts'
import { type CheckpointRow, findLastCheckpoint } from '../evidence/log-queries.ts'
import type { Keys } from '../evidence/published.ts'
import { listCheckpoints, listMisplaced } from './queries.ts'
import { reading, type Work } from './records.ts'
import type { LeafRow } from './rows.ts'
import { LogWalk } from './walk.ts'

export interface LogOf {
  readonly accountId: string
  readonly keys: Keys
  /** Checkpoints of the account that were kept elsewhere. */
  readonly kept: readonly SignedCheckpoint[]
}

/** Something that is said about the first leaves: by the database, or by what was kept elsewhere. */
export type Mark = { readonly row: CheckpointRow } | { readonly kept: SignedCheckpoint }

/** Checkpoints, or misplaced leaves, that are read in one statement. */
const batch = 200

/**
 * Verifies an account's log: that no leaf is missing, that every checkpoint is signed and has the root of its first ones,
 * the kept ones too, and that there is no leaf beyond.
 */
export async function* verifyLog(work: Work, log: LogOf): AsyncGenerator<DatabaseFinding[]> {
  const walk = new LogWalk(work.sql, log)
  const kept = log.kept.toSorted((one, other) => one.checkpoint.tree_size - other.checkpoint.tree_size)
  const last = await reading(() => findLastCheckpoint(work.sql, log.accountId))
  for await (const mark of marks(work.sql, log.accountId, kept, last?.tree_size ?? 0)) {
    work.signal.throwIfAborted()
    if ('row' in mark) work.inspected.checkpoints += 1
    const findings = await walk.to(mark)
    if (findings.length > 0) yield findings
  }
  const beyond = await reading(() => listMisplaced(work.sql, log.accountId, batch))
  if (beyond.length > 0) yield beyond.map(leaf => misplaced(log.accountId, leaf))
  const [cut] = kept
  if (cut) yield [walk.cutBefore(cut)]
}

/**
 * Stored and kept checkpoints together, the smallest first; those of more leaves than `size` stay, for they may be made
 * while this is read.
 */
async function* marks(
  sql: Sql,
  accountId: string,
  kept: SignedCheckpoint[],
  size: number,
): AsyncGenerator<Mark> {
  for (let after = 0; after < size; ) {
    const rows = await reading(() => listCheckpoints(sql, accountId, { after, upTo: size }, batch))
    for (const row of rows) {
      after = row.tree_size
      while (kept[0] && kept[0].checkpoint.tree_size <= after)
        yield { kept: kept.shift() as SignedCheckpoint }
      yield { row }
    }
    if (rows.length < batch) return
  }
}

function misplaced(accountId: string, { leaf_index, consent_id, version }: LeafRow): DatabaseFinding {
  const detail = `no checkpoint covers its place ${leaf_index} in the log`
  return { account_id: accountId, consent_id, version, problem: 'forged', detail }
}
