import type { Context } from '../context.ts'
import { holds } from '../contract/holds.ts'
import { callOptional, instanceLabel } from './messages.ts'

export function callHolds<T>(ctx: Context, call: () => Promise<T>): Promise<T> {
  return callOptional(ctx.api, holds.list, call, {
    message: `${instanceLabel(ctx)} has no legal holds`,
    hint: 'close the request as refused: consentctl requests close TICKET --outcome refused --reason TEXT',
  })
}
