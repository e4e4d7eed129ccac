import { readOnly } from '../failure.ts'

/** Known without a query. */
export interface NodeState {
  now(): Date
  /** Returns a reason, or null. */
  databaseProblem(): string | null
  /** Returns a reason, or null. */
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
