import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { signingKeys } from '../../src/contract/index.ts'
import { publicBytes, publicPem } from '../../src/evidence/keys.ts'
import { route } from '../http/route.ts'
import { listSigningKeys, type SigningKey } from './queries.ts'
import { publishedKey, type Signer } from './signer.ts'

/** The keys that documents of this service are verified with, for anyone. */
export function signingKeyRoutes(
  app: FastifyInstance,
  { sql, signer }: { readonly sql: Sql; readonly signer: Signer },
): void {
  let looking: Promise<SigningKey[]> | undefined // one for all who ask at the same time, for they may be many
  route(app, signingKeys.list, async () => {
    looking ??= listSigningKeys(sql, signer.keyId).finally(() => {
      looking = undefined
    })
    return { keys: (await looking).flatMap(toJwk) }
  })
}

/** None for a row that is no key: the others must still be had. */
function toJwk(row: SigningKey) {
  const key = publishedKey(row)
  if (!key) return []
  return {
    kty: 'OKP' as const,
    crv: 'Ed25519' as const,
    x: publicBytes(key).toString('base64url'),
    kid: row.keyId,
    use: 'sig' as const,
    alg: 'EdDSA' as const,
    pem: publicPem(key),
  }
}
