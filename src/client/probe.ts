import { type Dispatcher, request } from 'undici'
import { NetworkError } from './errors.ts'
import type { Connection } from './transport.ts'

/** An answer as it came, whatever it is. */
export interface Probed {
  readonly status: number
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** The answer to one GET of a path, with so many milliseconds for all of it. Throws a NetworkError. */
export async function probe(
  { baseUrl, key }: Connection,
  way: { dispatcher: Dispatcher; headers: Record<string, string> },
  path: string,
  limit: number,
): Promise<Probed> {
  const url = baseUrl + path
  const call = { method: 'GET', path, url, id: null, keySource: key?.source ?? null, idempotent: true }
  try {
    const answer = await request(url, { ...way, signal: AbortSignal.timeout(limit) })
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
  } catch (error) {
    throw new NetworkError(call, error)
  }
}
