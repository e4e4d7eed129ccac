import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface StaticFile {
  readonly type: string
  readonly bytes: Buffer
  readonly gzip: Buffer
  /** Weak, because it is the same for both encodings (RFC 9110 section 8.8.3). */
  readonly etag?: string
}

export function createStaticFile(text: string, type: string): StaticFile {
  const bytes = Buffer.from(text)
  const etag = `W/"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`
  return { type, bytes, gzip: gzipSync(bytes, { level: 9 }), etag }
}

/** Sends gzip to those who accept it, and 304 to those who have the file. The caller sets `vary`. */
export function sendFile(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, gzip, etag }: StaticFile,
): FastifyReply {
  if (etag) reply.header('etag', etag)
  if (etag && headers['if-none-match']?.includes(etag)) return reply.code(304).send()
  const isGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(String(headers['accept-encoding'] ?? ''))
  if (isGzip) reply.header('content-encoding', 'gzip')
  return reply.type(type).send(isGzip ? gzip : bytes)
}
