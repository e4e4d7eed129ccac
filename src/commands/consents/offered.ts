import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import { CliError, exit } from '../../errors/errors.ts'

const without = {
  imported: 'this instance cannot tell imported records from others',
  expiry: 'this instance does not know when consents end',
} as const

/** @throws CliError `not_offered` (exit 2) for an instance without the filter, which might ignore it */
export async function requireFilter({ api }: Pick<Context, 'api'>, name: keyof typeof without): Promise<void> {
  if (await api.supports(consents.list, { in: 'query', name })) return
  const hint = 'ask its operator for a newer version of the service'
  throw new CliError('not_offered', exit.usage, without[name], { hint })
}
