import type { Command } from 'commander'
import { scopes } from '../../contract/endpoint.ts'

/** `--scope`: repeated, or with several at once; `KeyDraft` has what is allowed. */
export function scopeFlag(command: Command): Command {
  return command.option(
    '--scope <scopes>',
    `what the key may do: ${scopes.join(', ')}; all of them if not given`,
    (list: string, before: readonly string[] = []) => [...before, ...list.split(',')],
  )
}
