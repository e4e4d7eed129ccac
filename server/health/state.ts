import { readOnly } from '../failure.ts'

/** State of a node's database and clock, known without a query. */
export interface NodeState {
  /** The database's time. */
  now(): Date
  /** Returns the reason if the database takes no writes. */
  databaseProblem(): string | null
  /** Returns the reason if this machine's clock cannot date anything. */
  clockProblem(): string | null
}

export const healthyState: NodeState = {
  now: () => new Date(),
  databaseProblem: () => null,
  clockProblem: () => null,
}

export function readOnlyReason(state: NodeState): string | null {
  return state.clockProblem() ?? state.databaseProblem()
}

/** @throws Failure `read_only` */
export function requireWritable(state: NodeState): void {
  throwIfProblem(readOnlyReason(state))
}

/**
 * For responses that state the time.
 * @throws Failure `read_only`
 */
export function requireClock(state: NodeState): void {
  throwIfProblem(state.clockProblem())
}

function throwIfProblem(problem: string | null): void {
  if (problem !== null) throw readOnly(`The service only reads at the moment: ${problem}.`)
}
