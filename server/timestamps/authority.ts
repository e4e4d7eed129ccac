import { backdatingToleranceMs } from '../../src/evidence/dates.ts'
import { splitCredentials } from '../net/credentials.ts'
import { createQuery, TimestampError, verifyTimestamp } from './openssl.ts'

export interface Tsa {
  readonly url: string
  /** PEM file of the authority's trusted root certificates. */
  readonly caFile: string
}

const requestTimeoutMs = 10_000

const maxBytes = 64 * 1024

const maxOffsetMs = backdatingToleranceMs

/**
 * Requests a timestamp (RFC 3161) of a SHA-256. Verifies its query, nonce, and certificate.
 * @throws TimestampError
 */
export async function requestTimestamp({ url, caFile }: Tsa, digest: Buffer, signal: AbortSignal): Promise<Buffer> {
  const query = await createQuery(digest, signal)
  const token = await send(url, query, signal)
  const { problem, time } = await verifyTimestamp(token, { query }, { caFile, valid: 'now', signal })
  const offsetMs = (time?.getTime() ?? 0) - Date.now()
  if (problem !== null) throw new TimestampError('invalid', problem)
  if (Math.abs(offsetMs) > maxOffsetMs)
    throw new TimestampError('invalid', `states ${time?.toISOString()}, which differs from the time of this node`)
  return token
}

async function send(url: string, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  const { target, authorization } = splitCredentials(url)
  const timeout = AbortSignal.timeout(requestTimeoutMs)
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: { 'content-type': 'application/timestamp-query', ...(authorization && { authorization }) },
      body: query,
      redirect: 'manual',
      signal: AbortSignal.any([signal, timeout]),
    })
    if (response.status === 200) return await readBody(response)
    await response.body?.cancel()
    throw new TimestampError('status', `was refused: the authority answered ${response.status}`)
  } catch (error) {
    if (error instanceof TimestampError) throw error
    const { cause, message } = error as Error & { cause?: { code?: string } }
    const what = timeout.aborted ? `did not answer within ${requestTimeoutMs / 1000} s` : 'cannot be reached'
    const code = timeout.aborted ? '' : ` (${cause?.code ?? message})`
    throw new TimestampError('unreachable', `was not received: the authority ${what}${code}`)
  }
}

async function readBody({ body }: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw new TimestampError('status', `was refused: the answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
