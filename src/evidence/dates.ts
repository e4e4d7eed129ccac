// When a log got an entry. Imports nothing from Node.js, because the dashboard uses this too.
import type { Checkpoint } from '../contract/documents/checkpoint.ts'

/**
 * Most time that an entry may be dated before its checkpoint. An entry is dated when made and visible when committed,
 * up to 5 s later (the statement timeout). Clocks of nodes and of `admin purge` may differ by 30 s from the
 * database's. The rest is for machines that are paused in between.
 */
export const backdatingToleranceMs = 10 * 60_000

/** New leaves of each checkpoint of a run except the last. Part of the log's format. */
export const entriesPerCheckpoint = 2000

export function isBackdated(at: Date, checkpoint: Date): boolean {
  return at.getTime() < checkpoint.getTime() - backdatingToleranceMs
}

/** Completes "the entry …". */
export function describeBackdating({ at, checkpoint }: { readonly at: Date; readonly checkpoint: Date }): string {
  return `is dated ${at.toISOString()}, but the checkpoint of ${checkpoint.toISOString()} was made without it`
}

/**
 * Returns the size of the last checkpoint, this one or one before it, that had every entry of its time, or 0.
 * Those in between have a multiple of `entriesPerCheckpoint` more.
 */
export function completeSize({ tree_size, previous_size }: Checkpoint): number {
  return (tree_size - previous_size) % entriesPerCheckpoint === 0 ? previous_size : tree_size
}

/** The checkpoints between which the log received an entry. */
export interface Bracket {
  readonly after: Checkpoint
  readonly before: Checkpoint | null
}

/** Completes "the entry …". Returns null if the checkpoints do not contradict its date. */
export function findDateProblem(created_at: string, leaf: number, { after, before }: Bracket): string | null {
  const size = before?.tree_size ?? 0
  const batchOf = (index: number) => Math.floor((index - size) / entriesPerCheckpoint)
  const isFirst = leaf >= size && leaf < after.tree_size && batchOf(leaf) === batchOf(after.tree_size - 1)
  const isBracket = size === after.previous_size && isFirst
  if (!isBracket || (before && before.account_id !== after.account_id))
    return 'is without the checkpoints between which the log got it'
  const [at, checkpoint] = [new Date(created_at), new Date(before?.created_at ?? 0)]
  return before && isBackdated(at, checkpoint) ? describeBackdating({ at, checkpoint }) : null
}

/** `checkpoints` are by size, smallest first, and the last one has the leaf. */
export function findBracket(checkpoints: readonly [...Checkpoint[], Checkpoint], leaf: number): Bracket {
  const after = checkpoints.find(({ tree_size }) => tree_size > leaf) ?? (checkpoints.at(-1) as Checkpoint)
  return { after, before: checkpoints.find(({ tree_size }) => tree_size === after.previous_size) ?? null }
}

export function describeDate(created_at: string, { after, before }: Bracket): string {
  const without = before
    ? `not in the log at ${before.created_at}, in it at ${after.created_at}`
    : `in the log at ${after.created_at}, and no checkpoint shows when it was not`
  return `dated ${created_at}; ${without}`
}
