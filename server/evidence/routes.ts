import type { FastifyInstance } from 'fastify'
import type { Sql } from 'postgres'
import { log, signingKeys } from '../../src/contract/index.ts'
import { Raw, route } from '../http/route.ts'
import { coverNow, type Log } from './log.ts'
import { getCheckpoint, getConsistency, getInclusion, getTimestamp } from './proofs.ts'
import { listKeys, type Signer } from './signer.ts'
import { getTlogCheckpoint, getTlogProof } from './tlog.ts'

export function signingKeyRoutes(
  app: FastifyInstance,
  { sql, signer }: { readonly sql: Sql; readonly signer: Signer },
): void {
  let lookup: ReturnType<typeof listKeys> | undefined // shared by concurrent requests
  route(app, signingKeys.list, async () => {
    lookup ??= listKeys(sql, signer.keyId).finally(() => {
      lookup = undefined
    })
    return { keys: await lookup }
  })
}

export function logRoutes(app: FastifyInstance, deps: Log): void {
  route(app, log.checkpoint, async ({ query }, { caller }) => new Raw(await getCheckpoint(deps, caller, query)))
  route(app, log.addCheckpoint, async (_, { caller }) => {
    await coverNow(deps, caller.accountId)
    return new Raw(await getCheckpoint(deps, caller))
  })
  route(app, log.timestamp, async ({ query }, { caller }) => {
    const token = await getTimestamp(deps, caller.accountId, query.tree_size)
    return new Raw(token, 'application/timestamp-reply')
  })
  route(app, log.tlogCheckpoint, async ({ query }, { caller, setHeader }) => {
    const { text, verifierKey } = await getTlogCheckpoint(deps, caller, query.tree_size)
    setHeader('verifier-key', verifierKey)
    return new Raw(text, note)
  })
  route(app, log.tlogProof, async ({ query }, { caller }) => new Raw(await getTlogProof(deps, caller, query), note))
  route(app, log.inclusion, ({ query }, { caller }) => getInclusion(deps, caller, query))
  route(app, log.consistency, ({ query }, { caller }) => getConsistency(deps, caller.accountId, query))
}

const note = 'text/plain; charset=utf-8'
