import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { log, signingKeys } from '../../src/contract/index.ts'
import type { ChainKey } from '../../src/evidence/key-chain.ts'
import { publicBytes, publicPem } from '../../src/evidence/keys.ts'
import { RawJson, route } from '../http/route.ts'
import { getCheckpoint, getConsistency, getInclusion } from './proofs.ts'
import { readKeys, type Signer } from './signer.ts'

export function signingKeyRoutes(
  app: FastifyInstance,
  { sql, signer }: { readonly sql: Sql; readonly signer: Signer },
): void {
  let lookup: Promise<{ keys: ReadonlyMap<string, ChainKey> }> | undefined // shared by concurrent requests: it is public
  route(app, signingKeys.list, async () => {
    lookup ??= readKeys(sql, signer.keyId).finally(() => {
      lookup = undefined
    })
    return { keys: [...(await lookup).keys.values()].map(toJwk) }
  })
}

export function logRoutes(app: FastifyInstance, deps: { readonly sql: Sql }): void {
  route(app, log.checkpoint, async (_, { caller }) => new RawJson(await getCheckpoint(deps, caller.accountId)))
  route(app, log.inclusion, ({ query }, { caller }) => getInclusion(deps, caller.accountId, query))
  route(app, log.consistency, ({ query }, { caller }) => getConsistency(deps, caller.accountId, query))
}

function toJwk({ keyId, publicKey, statement, revocation }: ChainKey) {
  return {
    kty: 'OKP' as const,
    crv: 'Ed25519' as const,
    x: publicBytes(publicKey).toString('base64url'),
    kid: keyId,
    use: 'sig' as const,
    alg: 'EdDSA' as const,
    pem: publicPem(publicKey),
    statement,
    revocation: revocation?.text ?? null,
  }
}
