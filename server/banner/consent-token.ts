import { createHmac, timingSafeEqual } from 'node:crypto'
import { idBytes, idOf } from '../../src/evidence/bytes.ts'

/** Browsers limit cookies to this age (RFC 6265bis section 5.5). */
const lifetimeMs = 400 * 24 * 60 * 60 * 1000

const prefix = 'ct-'
const formatVersion = 1
const macSize = 16

/** Format version, record id, record version, and expiry in ms since 1970. */
const headSize = 1 + 16 + 4 + 8

export interface TokenScope {
  readonly secret: Buffer
  readonly accountId: string
  readonly siteId: string
}

export interface RecordVersion {
  readonly id: string
  readonly version: number
}

/** Returns `ct-` and, in base64url, the version and a MAC over it, the account and the site. */
export function encodeConsentToken(scope: TokenScope, { id, version }: RecordVersion, now: Date): string {
  const head = Buffer.alloc(headSize)
  head.writeUInt8(formatVersion)
  idBytes(id).copy(head, 1)
  head.writeUInt32BE(version, 17)
  head.writeBigInt64BE(BigInt(now.getTime() + lifetimeMs), 21)
  return prefix + Buffer.concat([head, mac(scope, head)]).toString('base64url')
}

/** Returns null for an altered, foreign or expired token. */
export function decodeConsentToken(scope: TokenScope, token: string, now: Date): RecordVersion | null {
  const bytes = Buffer.from(token.slice(prefix.length), 'base64url')
  const head = bytes.subarray(0, headSize)
  const isWhole = bytes.length === headSize + macSize && prefix + bytes.toString('base64url') === token
  if (!isWhole || head[0] !== formatVersion) return null
  if (!timingSafeEqual(bytes.subarray(headSize), mac(scope, head))) return null
  if (head.readBigInt64BE(21) <= BigInt(now.getTime())) return null
  return { id: idOf(head.toString('hex', 1, 17)), version: head.readUInt32BE(17) }
}

function mac({ secret, accountId, siteId }: TokenScope, head: Buffer): Buffer {
  const bound = Buffer.concat([head, idBytes(accountId), idBytes(siteId)])
  return createHmac('sha256', secret).update(bound).digest().subarray(0, macSize)
}
