import { createHmac } from 'node:crypto'

/** Secret without which nobody can test guesses against the origins of erased records. */
export const originSecretName = 'origin'

/** Returns the HMAC-SHA-256 of `account id || system || 0x00 || id`. */
export function hashOrigin(
  secret: Uint8Array,
  accountId: string,
  { system, id }: { readonly system: string; readonly id: string },
): Buffer {
  const account = Buffer.from(accountId.replaceAll('-', ''), 'hex')
  return createHmac('sha256', secret).update(account).update(`${system}\0${id}`).digest()
}
