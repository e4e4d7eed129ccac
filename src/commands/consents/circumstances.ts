import type { Command } from 'commander'
import * as z from 'zod'
import { nonEmpty } from '../../cli/action.ts'
import { startInstant } from '../../cli/time.ts'
import { Circumstances, givers, methods } from '../../contract/circumstances.ts'
import { usageError } from '../../errors/errors.ts'

export const circumstanceOptions = {
  method: z.enum(methods, `must be ${methods.slice(0, -1).join(', ')} or ${methods.at(-1)}`).optional(),
  channel: nonEmpty.optional(),
  form: nonEmpty.optional(),
  formSha256: nonEmpty.optional(),
  givenBy: z.enum(givers, `must be ${givers.slice(0, -1).join(', ')} or ${givers.at(-1)}`).optional(),
  relation: nonEmpty.optional(),
  confirmedAt: nonEmpty.optional(),
  reference: nonEmpty.optional(),
  note: nonEmpty.optional(),
}

export function circumstanceFlags(command: Command): Command {
  return command
    .option('--method <method>', `how the answer was given: ${methods.join(', ')}`)
    .option('--channel <text>', 'where, such as a shop or a hotline')
    .option('--form <text>', 'address or name of what was shown')
    .option('--form-sha256 <digest>', 'its SHA-256')
    .option('--given-by <who>', `who gave the answer: ${givers.join(', ')}`)
    .option('--relation <text>', 'of the guardian or agent to the subject')
    .option('--confirmed-at <time>', 'when it was confirmed elsewhere, such as by double opt-in')
    .option('--reference <text>', 'of the confirmation, or of the original')
    .option('--note <text>', 'a note; a purge removes it, --relation and --reference')
}

/** Undefined without a flag. @throws UsageError for flags that contradict each other or are too long */
export function circumstancesOf(
  options: z.output<z.ZodObject<typeof circumstanceOptions>>,
  now = new Date(),
): Circumstances | undefined {
  const { method, channel, form, formSha256, givenBy, relation, confirmedAt, reference, note } = options
  const confirmed_at = confirmedAt === undefined ? undefined : startInstant(confirmedAt, now)
  const given = {
    ...{ method, channel, form, form_sha256: formSha256, given_by: givenBy },
    ...{ relation, confirmed_at, reference, note },
  }
  const told = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  if (Object.keys(told).length === 0) return undefined
  const { data, error } = Circumstances.safeParse(told)
  const [issue] = error?.issues ?? []
  if (issue) throw usageError(`--${String(issue.path[0]).replaceAll('_', '-')} ${issue.message}`)
  return data
}
