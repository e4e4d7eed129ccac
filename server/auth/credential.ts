import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { idBytes, idOf } from '../ids.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** How many base62 digits hold 16 bytes (an id), 32 bytes (a secret) and 4 bytes (a CRC-32). */
const digits = { id: 22, secret: 43, checksum: 6 } as const

const apiKey = new RegExp(
  `^sk-([\\dA-Za-z]{${digits.id}})[\\dA-Za-z]{${digits.secret}}([\\dA-Za-z]{${digits.checksum}})$`,
)

/** `sk-`, the account, 256 random bits and a checksum: whoever reads the text knows the tenant, nobody the secret. */
export function newApiKey(accountId: string): string {
  return withChecksum(`sk-${base62(idBytes(accountId), digits.id)}${base62(randomBytes(32), digits.secret)}`)
}

/** `st-`, the account, the site, 256 random bits and a checksum. */
export function newSiteToken(accountId: string, siteId: string): string {
  const ids = base62(idBytes(accountId), digits.id) + base62(idBytes(siteId), digits.id)
  return withChecksum(`st-${ids}${base62(randomBytes(32), digits.secret)}`)
}

/** The account an API key belongs to, by its text alone; `null` where the text is no key at all. */
export function accountOfApiKey(text: string): string | null {
  const account = apiKey.exec(text)?.[1]
  if (!account || withChecksum(text.slice(0, -digits.checksum)) !== text) return null
  let value = 0n
  for (const digit of account) value = value * 62n + BigInt(alphabet.indexOf(digit))
  const hex = value.toString(16).padStart(32, '0')
  return hex.length > 32 ? null : idOf(hex)
}

/** What the database keeps of a key or token: its SHA-256. */
export function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
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
