import { createHash } from 'node:crypto'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface StaticFile {
  readonly type: string
  readonly bytes: Buffer
  readonly gzip: Buffer
  readonly brotli: Buffer
  /** Weak: it is the same for all encodings (RFC 9110 section 8.8.3). */
  readonly etag?: string
}

export function createStaticFile(text: string, type: string): StaticFile {
  const bytes = Buffer.from(text)
  const etag = `W/"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`
  return { type, bytes, gzip: gzipSync(bytes, { level: 9 }), brotli: brotliCompressSync(bytes), etag }
}

/** Sends brotli, gzip, plain, or 304. The caller sets `vary`. */
export function sendFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, gzip, brotli, etag }: StaticFile,
): FastifyReply {
  if (etag) reply.header('etag', etag)
  if (etag && headers['if-none-match']?.includes(etag)) return reply.code(304).send()
  const accepted = String(headers['accept-encoding'] ?? '')
  const [encoding, body] = accepts(accepted, 'br')
    ? ['br', brotli]
    : accepts(accepted, 'gzip')
      ? ['gzip', gzip]
      : [null, bytes]
  if (encoding) reply.header('content-encoding', encoding)
  return reply.type(type).send(body)
}

/** RFC 9110 section 12.5.3. */
function accepts(header: string, coding: string): boolean {
  return new RegExp(`(^|[\\s,])${coding}\\b(?!\\s*;\\s*q=0(\\.0*)?\\s*(,|$))`, 'i').test(header)
}
