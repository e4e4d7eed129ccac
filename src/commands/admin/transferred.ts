import { formatCount } from '../../cli/messages.ts'
import type { Transferred } from '../../contract/server.ts'

export function formatTransferred({ records, rows }: Transferred): string {
  return `${formatCount(records)}, ${rows} ${rows === 1 ? 'row' : 'rows'} in all`
}
