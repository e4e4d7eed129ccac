import { type KeyObject, sign } from 'node:crypto'
import type { KeyRevocation, SigningKeyStatement } from '../../src/contract/documents/signing-key.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { proofMessage } from '../../src/evidence/key-chain.ts'
import { keyIdOf, publicBytes } from '../../src/evidence/keys.ts'
import { signDocument } from '../../src/evidence/signed.ts'

interface Fields extends Partial<SigningKeyStatement> {
  /** The statement about the key before. Default: by that key itself. */
  readonly before?: string | undefined
}

/** The statement that a holder of a key, real or pretended, would sign about another one; a key that signs its own begins a chain. */
export function statementOf(key: KeyObject, by: KeyObject, { before, ...fields }: Fields = {}): string {
  const [kid, previous] = [keyIdOf(key), key === by ? null : keyIdOf(by)]
  const text = before ?? (previous === null ? null : statementOf(by, by))
  const statement = {
    ...({ type: 'signing_key', version: 1, kid, x: publicBytes(key).toString('base64url') } as const),
    ...{ not_before: '2026-01-01T00:00:00.000Z', previous, key_id: previous ?? kid },
    previous_sha256: text && sha256(text).toString('hex'),
    ...fields,
  }
  const proof = sign(null, proofMessage(statement), key).toString('base64')
  const { key_id, ...rest } = { ...statement, proof, ...fields }
  return signDocument({ ...rest, key_id }, by)
}

export function revocationOf(key: KeyObject, by: KeyObject, fields: Partial<KeyRevocation> = {}): string {
  const revocation = {
    ...({ type: 'key_revocation', version: 1, kid: keyIdOf(key), revoked_at: '2026-01-01T00:00:00.000Z' } as const),
    ...({ reason: 'compromised', key_id: keyIdOf(by) } as const),
    ...fields,
  }
  return signDocument(revocation, by)
}
