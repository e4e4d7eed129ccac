import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Admission } from '../admission.ts'

interface Cost {
  log2N: number
  r: number
  p: number
}

/** scrypt (RFC 7914): 2^17 blocks of 8 × 128 bytes are 128 MiB and a third of a second. Only tests change it. */
export const newCost: Cost = { log2N: 17, r: 8, p: 1 }

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

/** A computation takes a core and 128 MiB; networks are served in turn. */
const admission = new Admission({
  ...{ running: 2, perTenant: 1, waiting: 20, maxWaitMs: 3000 },
  message: 'Too many concurrent sign-ins: try again in a few seconds.',
})

export interface PasswordSource {
  readonly network: string
  readonly timeoutMs?: number
}

/** Returns the PHC string format, `$scrypt$ln=17,r=8,p=1$salt$hash`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const { log2N, r, p } = newCost
  const hash = await compute(password, salt, newCost)
  return `$scrypt$ln=${log2N},r=${r},p=${p}$${encodeUnpadded(salt)}$${encodeUnpadded(hash)}`
}

/**
 * A null hash takes equally long, so that nobody learns who has an account.
 * @throws Failure `unavailable` if the network's queue is full, or at the timeout
 */
export async function verifyPassword(
  password: string,
  phc: string | null,
  { network, timeoutMs }: PasswordSource,
): Promise<boolean> {
  const [, log2N, r, p, salt = '', hash = ''] =
    /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(phc ?? '') ?? []
  const expected = Buffer.from(hash, 'base64')
  const costs = hash ? { log2N: Number(log2N), r: Number(r), p: Number(p) } : newCost
  const release = await admission.enter(network, timeoutMs)
  const actual = await compute(password, Buffer.from(salt, 'base64'), costs).finally(release)
  return expected.length === actual.length && timingSafeEqual(expected, actual)
}

async function compute(password: string, salt: Buffer, { log2N, r, p }: Readonly<Cost>): Promise<Buffer> {
  const N = 2 ** log2N
  return await derive(password.normalize('NFKC'), salt, 32, { N, r, p, maxmem: 256 * N * r })
}

/** Returns 144 random bits. */
export function newPassword(): string {
  return randomBytes(18).toString('base64url')
}

function encodeUnpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
