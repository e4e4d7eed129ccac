import { option } from '../../parts/command.tsx'
import type { Order } from './erasure.ts'

export function findCommand(subjects: readonly string[]): string[] {
  return ['subject', 'find', '--like', ...operands(subjects)]
}

export function eraseCommand(
  order: Pick<Order, 'subjects' | 'ticket' | 'reason' | 'received_at' | 'request'>,
): string[] {
  if (order.request !== null)
    return ['subject', 'erase', ...option('request', order.request), ...option('reason', order.reason)]
  const options = [
    option('ticket', order.ticket),
    option('reason', order.reason),
    option('received', order.received_at),
  ]
  return ['subject', 'erase', ...options.flat(), ...operands(order.subjects)]
}

/** Returns the first identifier as operand, the others as `--also`. An identifier `-` would mean standard input. */
function operands([first = '', ...others]: readonly string[]): string[] {
  if ([first, ...others].includes('-')) return ['--help']
  return [...others.flatMap(each => option('also', each)), ...(first.startsWith('-') ? ['--'] : []), first]
}
