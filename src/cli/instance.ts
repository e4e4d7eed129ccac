import type { Client } from '../client/client.ts'
import type { Context } from '../context.ts'
import type { Endpoint } from '../contract/index.ts'
import { CliError, exit } from '../errors/errors.ts'
import { explain } from '../errors/explain.ts'

/** `profile@host`: where a change was made, as mutations tell it. */
export function instanceOf({ settings }: Context): string {
  const host = settings.baseUrl ? new URL(settings.baseUrl.value).host : '?'
  return `${settings.profile.value}@${host}`
}

/** A number of things, records unless said, in words that fit it. */
export function counted(count: number, noun = 'record'): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

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
    if (!isMissing || (await api.supports(endpoint).catch(() => true))) throw error
    throw new CliError('not_offered', exit.usage, without.message, { hint: without.hint, cause: error })
  }
}
