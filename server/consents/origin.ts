import { Preimage } from '../../src/evidence/bytes.ts'

const preimage = new Preimage()

/** Returns `SHA-256(account id || system || 0x00 || id)`, which identifies another system's record in an account. */
export function hashOrigin(
  accountId: string,
  { system, id }: { readonly system: string; readonly id: string },
): Buffer {
  return preimage.start().id(accountId).text(system).uint8(0).text(id).sha256()
}
