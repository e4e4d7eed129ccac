import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'

/** Cost of scrypt (RFC 7914): 2^17 blocks of 8 × 128 bytes, 128 MiB, about a third of a second. */
const cost = { log2N: 17, r: 8, p: 1 } as const

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

/** A password's hash in the PHC string format, `$scrypt$ln=17,r=8,p=1$salt$hash`, with a salt of its own. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const { log2N, r, p } = cost
  const N = 2 ** log2N
  const hash = await derive(password.normalize('NFKC'), salt, 32, { N, r, p, maxmem: 256 * N * r })
  return `$scrypt$ln=${log2N},r=${r},p=${p}$${unpadded(salt)}$${unpadded(hash)}`
}

/** A password with 144 bits of chance, of characters that survive every shell and form. */
export function newPassword(): string {
  return randomBytes(18).toString('base64url')
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
