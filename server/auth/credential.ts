import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { idBytes, idOf, sha256 } from '../../src/evidence/bytes.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Base62 digits of 16 bytes (id), 32 (secret) and 4 (CRC-32). */
const digits = { id: 22, secret: 43, checksum: 6 } as const

const id = `([\\dA-Za-z]{${digits.id}})`
const secret = `[\\dA-Za-z]{${digits.secret + digits.checksum}}`
const apiKey = new RegExp(`^sk-${id}${secret}$`)
const siteToken = new RegExp(`^st-${id}${id}${secret}$`)

/** Returns `sk-`, the account's id, 256 random bits and a checksum. */
export function newApiKey(accountId: string): string {
  return withChecksum(`sk-${base62(idBytes(accountId), digits.id)}${base62(randomBytes(32), digits.secret)}`)
}

/** Returns `st-`, the ids of the account and the site, 256 random bits and a checksum. */
export function newSiteToken(accountId: string, siteId: string): string {
  const ids = base62(idBytes(accountId), digits.id) + base62(idBytes(siteId), digits.id)
  return withChecksum(`st-${ids}${base62(randomBytes(32), digits.secret)}`)
}

export function accountOfApiKey(text: string): string | null {
  return parseIds(apiKey, text)?.[0] ?? null
}

export function siteOfToken(text: string): { accountId: string; siteId: string } | null {
  const [accountId, siteId] = parseIds(siteToken, text) ?? []
  return accountId && siteId ? { accountId, siteId } : null
}

export function hintOf(text: string): string {
  return text.slice(-4)
}

export function hashOf(text: string): Buffer {
  return sha256(text)
}

function parseIds(format: RegExp, text: string): string[] | null {
  const [, ...ids] = format.exec(text) ?? []
  if (ids.length === 0 || withChecksum(text.slice(0, -digits.checksum)) !== text) return null
  const decoded = ids.map(decodeId)
  return decoded.every(one => one !== null) ? decoded : null
}

function decodeId(base62Digits: string): string | null {
  let value = 0n
  for (const digit of base62Digits) value = value * 62n + BigInt(alphabet.indexOf(digit))
  const hex = value.toString(16).padStart(32, '0')
  return hex.length > 32 ? null : idOf(hex)
}

function withChecksum(text: string): string {
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(text))
  return text + base62(sum, digits.checksum)
}

function base62(bytes: Buffer, length: number): string {
  let value = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let index = 0; index < length; index += 1) {
    text = alphabet.charAt(Number(value % 62n)) + text
    value /= 62n
  }
  return text
}
