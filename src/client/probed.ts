import { attempt } from './attempt.ts'
import { headersOf } from './call.ts'
import type { Connection } from './connection.ts'
import type { Carrier, Headers } from './exchange.ts'

/** An answer as it came, whatever it is. */
export interface Probed {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Asks once for a path, with so many milliseconds for all of it. Throws a NetworkError or a ContractError. */
export async function probe(
  connection: Connection,
  carrier: Carrier,
  { path, limit, closing }: { readonly path: string; readonly limit: number; readonly closing: AbortSignal },
): Promise<Probed> {
  const { baseUrl, key, proxy } = connection
  const of = { method: 'GET', path, url: baseUrl + path, id: null, keySource: key?.source ?? null }
  const call = { ...of, proxy, idempotent: true }
  const sent = { headers: headersOf(connection), body: undefined }
  const { reply, headers, text } = await attempt(carrier, call, sent, { whole: limit, closing })
  return { status: reply.status, headers, text }
}
