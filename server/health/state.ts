import { readOnly } from '../failure.ts'

/** Knowledge of a node about its database and its clock, which needs no request. */
export interface NodeState {
  /** The database's time, even if this machine's clock is wrong. */
  now(): Date
  /** Returns the reason why the database takes no writes; null if it takes them. */
  databaseProblem(): string | null
  /** Returns the reason why nothing may be dated by this machine's clock; null if it is right. */
  clockProblem(): string | null
}

export const healthyState: NodeState = {
  now: () => new Date(),
  databaseProblem: () => null,
  clockProblem: () => null,
}

/** Returns why this node only reads; null if it writes too. */
export function readOnlyReason(state: NodeState): string | null {
  return state.clockProblem() ?? state.databaseProblem()
}

/** @throws Failure `read_only` */
export function requireWritable(state: NodeState): void {
  throwIfProblem(readOnlyReason(state))
}

/** For what states the time and writes nothing. @throws Failure `read_only` */
export function requireClock(state: NodeState): void {
  throwIfProblem(state.clockProblem())
}

function throwIfProblem(problem: string | null): void {
  if (problem !== null) throw readOnly(`The service only reads at the moment: ${problem}.`)
}
