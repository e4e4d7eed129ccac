import type { Client } from '../client/client.ts'
import type { Endpoint } from '../contract/index.ts'
import { CliError } from '../errors/errors.ts'
import { exit } from '../errors/exit.ts'
import { explain } from '../errors/explain.ts'

/**
 * Calls an endpoint that not every instance has. A 404 of an instance whose own description does not list it says that,
 * whatever its words are; `without` says it to people, with what else they can do.
 */
export async function offered<T>(
  api: Client,
  endpoint: Endpoint,
  call: () => Promise<T>,
  without: { readonly message: string; readonly hint: string },
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const isMissing = explain(error).status === 404
    if (!isMissing || (await api.offers(endpoint).catch(() => true))) throw error
    throw new CliError('not_offered', exit.usage, without.message, { hint: without.hint, cause: error })
  }
}
