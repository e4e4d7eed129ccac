import { idBytes, sha256 } from '../../src/evidence/bytes.ts'

/** Returns `SHA-256(account id || system || 0x00 || id)`, which identifies another system's record in an account. */
export function hashOrigin(
  accountId: string,
  { system, id }: { readonly system: string; readonly id: string },
): Buffer {
  return sha256(Buffer.concat([idBytes(accountId), Buffer.from(`${system}\0${id}`)]))
}
