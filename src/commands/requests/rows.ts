import * as z from 'zod'
import { listRequests } from '../../cli/register.ts'
import { Subject } from '../../cli/subjects.ts'
import type { Context } from '../../context.ts'
import { type RequestQuery, requestKinds } from '../../contract/requests.ts'
import { text } from '../../contract/values.ts'
import { isOverdue } from '../../domain/due.ts'
import { usageError } from '../../errors/errors.ts'
import type { RegisterRow } from '../../views/register.ts'

export const requestFilters = {
  closed: z.literal(true).optional(),
  all: z.literal(true).optional(),
  kind: z.enum(requestKinds).optional(),
  assignee: text(1, 100).optional(),
  subject: Subject.optional(),
}

interface RequestFilters extends z.output<z.ZodObject<typeof requestFilters>> {
  /** Overdue requests only. */
  readonly check?: true | undefined
}

/** Returns rows sorted by due day. */
export async function findRows(ctx: Context, options: RequestFilters): Promise<RegisterRow[]> {
  const { kind, assignee, check } = options
  const rows: RegisterRow[] = []
  for await (const page of listRequests(ctx.api, toQuery(options)))
    for (const request of page) rows.push({ ...request, overdue: isOverdue(request) })
  return rows
    .filter(row => kind === undefined || row.kind === kind)
    .filter(row => assignee === undefined || row.assignee === assignee)
    .filter(row => !check || row.overdue)
    .sort(byDueDay)
}

function toQuery({ closed, all, subject, check }: RequestFilters): Omit<RequestQuery, 'cursor' | 'limit'> {
  if ([closed, all, check].filter(Boolean).length > 1)
    throw usageError('--closed, --all and --check cannot be combined')
  return {
    ...(!all && { state: closed ? ('closed' as const) : ('open' as const) }),
    ...(subject !== undefined && { subject_id: subject }),
  }
}

function byDueDay(a: RegisterRow, b: RegisterRow): number {
  const key = ({ due_on, received_on, id }: RegisterRow) => `${due_on} ${received_on} ${id}`
  return key(a) < key(b) ? -1 : 1
}
