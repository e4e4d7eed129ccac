import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { signingKeys } from '../../src/contract/index.ts'
import { publicBytes, publicPem } from '../../src/evidence/keys.ts'
import { route } from '../http/route.ts'
import { listSigningKeys, type SigningKey } from './queries.ts'
import { publishedKey, type Signer } from './signer.ts'

export function signingKeyRoutes(
  app: FastifyInstance,
  { sql, signer }: { readonly sql: Sql; readonly signer: Signer },
): void {
  let lookup: Promise<SigningKey[]> | undefined // shared by concurrent requests, because the route is public
  route(app, signingKeys.list, async () => {
    lookup ??= listSigningKeys(sql, signer.keyId).finally(() => {
      lookup = undefined
    })
    return { keys: (await lookup).flatMap(toJwk) }
  })
}

/** Returns none for an invalid row, because the other keys must still be served. */
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
