import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import { CliError, exit } from '../../errors/errors.ts'

/** @throws CliError `not_offered` (exit 2) for an instance without the filter, which might ignore it */
export async function requireImports({ api }: Pick<Context, 'api'>): Promise<void> {
  if (await api.supports(consents.list, { in: 'query', name: 'imported' })) return
  const hint = 'ask its operator for a newer version of the service'
  throw new CliError('not_offered', exit.usage, 'this instance cannot tell imported records from others', { hint })
}
