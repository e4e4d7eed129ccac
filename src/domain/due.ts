import type { DataSubjectRequest } from '../contract/requests.ts'

/** In UTC. */
export function today(): string {
  return new Date().toISOString().slice(0, 10)
}

/** Such as `2026-10-15`, or `2026-10-15, 38 days ago`. */
export function describeDue(request: Pick<DataSubjectRequest, 'state' | 'due_on'>, day = today()): string {
  if (!isOverdue(request, day)) return request.due_on
  const days = Math.round((Date.parse(day) - Date.parse(request.due_on)) / 86_400_000)
  return `${request.due_on}, ${days} day${days === 1 ? '' : 's'} ago`
}

export function isOverdue({ state, due_on }: Pick<DataSubjectRequest, 'state' | 'due_on'>, day = today()): boolean {
  return state !== 'closed' && due_on < day
}
