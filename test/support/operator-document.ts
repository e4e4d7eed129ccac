import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { keyIdOf, newSigningKey, publicPem } from '../../src/evidence/keys.ts'
import { signDocument } from '../../src/evidence/signed.ts'

const file = (name: string) =>
  fileURLToPath(new URL(`../fixtures/verifier/examples/${name}-receipt.json`, import.meta.url))

/** A signed document as the command line makes it, of an erasure unless told otherwise. */
export function newDocument(
  accountId: string,
  fields: object = {},
  { key = newSigningKey(), type = 'erasure' as 'erasure' | 'withdrawal' } = {},
) {
  const { signature: _, ...example } = JSON.parse(readFileSync(file(type), 'utf8'))
  const document = { ...example, account_id: accountId, certificates: [], key_id: keyIdOf(key), ...fields }
  if (type === 'withdrawal') delete document.certificates
  return { document: signDocument(document, key), public_key: publicPem(key) }
}
