import { isOverdue } from '../../cli/register.ts'
import type { DataSubjectRequest } from '../../contract/requests.ts'

/** Without personal data. */
export interface Reported
  extends Pick<
    DataSubjectRequest,
    'ticket' | 'kind' | 'state' | 'outcome' | 'received_on' | 'due_on' | 'extension_reason' | 'outcome_reason'
  > {
  /** In UTC. */
  readonly closed_on: string | null
  /** Until closed; null while open. */
  readonly days: number | null
  /** From the due day until closed, or until today; 0 if not late. */
  readonly days_late: number
}

export function reportedOf(request: DataSubjectRequest, today: string): Reported {
  const { ticket, kind, state, outcome, received_on, due_on, extension_reason, outcome_reason, closed_at } = request
  const closed_on = closed_at?.slice(0, 10) ?? null
  const isLate = closed_on === null ? isOverdue(request, today) : closed_on > due_on
  return {
    ...{ ticket, kind, state, outcome, received_on, due_on, closed_on, extension_reason, outcome_reason },
    days: closed_on === null ? null : daysBetween(received_on, closed_on),
    days_late: isLate ? daysBetween(due_on, closed_on ?? today) : 0,
  }
}

function daysBetween(first: string, last: string): number {
  return Math.max(0, Math.round((Date.parse(last) - Date.parse(first)) / 86_400_000))
}

/** `median` and `longest`: days of done or refused requests; null without any. */
export function summarize(rows: readonly Reported[]) {
  const count = (outcome: Reported['outcome']) => rows.filter(row => row.outcome === outcome).length
  const days = rows
    .flatMap(row => (row.days !== null && row.outcome !== 'withdrawn' ? [row.days] : []))
    .sort((a, b) => a - b)
  return {
    received: rows.length,
    open: count(null),
    done: count('done'),
    refused: count('refused'),
    withdrawn: count('withdrawn'),
    late: rows.filter(({ days_late }) => days_late > 0).length,
    median: medianOf(days),
    longest: days.at(-1) ?? null,
  }
}

function medianOf(sorted: readonly number[]): number | null {
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]]
  return low === undefined || high === undefined ? null : (low + high) / 2
}
