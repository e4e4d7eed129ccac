import type { Context } from '../../context.ts'
import { dataError, exit } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import type { TrustedKey } from '../../evidence/key-chain.ts'
import { instanceKeys } from '../verify/keys.ts'

export async function publishedKeys(ctx: Context): Promise<ReadonlyMap<string, TrustedKey>> {
  try {
    return (await instanceKeys(ctx)('service')).byId
  } catch (error) {
    const { message, exit: code } = explain(error)
    throw code === exit.usage ? dataError(message) : error // missing keys are not the caller's mistake
  }
}
