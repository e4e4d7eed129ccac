import type { Context } from '../../context.ts'
import { dataError, exit, usageError } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import type { TrustedKey } from '../../evidence/key-chain.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { instanceKeys } from '../verify/keys.ts'

/** @throws CliError (usage) */
export function requireSameInstance({ settings }: Context, instance: string, noun: 'receipt' | 'plan'): void {
  const here = requireBaseUrl(settings)
  if (here === instance) return
  throw usageError(`the ${noun} is from ${instance}, not from ${here}`, `--base-url ${instance}`)
}

export async function publishedKeys(ctx: Context): Promise<ReadonlyMap<string, TrustedKey>> {
  try {
    return (await instanceKeys(ctx)('service')).byId
  } catch (error) {
    const { message, exit: code } = explain(error)
    throw code === exit.usage ? dataError(message) : error // missing keys are not the caller's mistake
  }
}
