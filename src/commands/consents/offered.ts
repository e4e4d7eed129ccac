import type { Context } from '../../context.ts'
import { type ConsentQuery, consents } from '../../contract/consents.ts'
import { CliError, exit } from '../../errors/errors.ts'

/** An instance without the filter might ignore it. @throws CliError `not_offered` (exit 2) */
export async function requireFilter(
  { api }: Pick<Context, 'api'>,
  name: keyof ConsentQuery,
  message: string,
): Promise<void> {
  if (await api.supports(consents.list, { in: 'query', name })) return
  const hint = 'ask its operator for a newer version of the service'
  throw new CliError('not_offered', exit.usage, message, { hint })
}
