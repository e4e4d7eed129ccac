import type { FastifyInstance } from 'fastify'
import { batchLimits, type ConsentBatch, consents, createBatch } from '../../src/contract/index.ts'
import type { Replicas } from '../db/replicas.ts'
import type { Signer } from '../evidence/signer.ts'
import type { Failure } from '../failure.ts'
import { withUnits } from '../http/gate.ts'
import { notesOf } from '../http/outcome.ts'
import { prefersMinimal } from '../http/parsers.ts'
import { pathId, route, Verbatim } from '../http/route.ts'
import type { Quota } from '../quota/quota.ts'
import { createConsent, createEach, failed } from './create.ts'
import type { Deps } from './deps.ts'
import { readIdempotencyKey, refuseIdempotencyKey } from './idempotency.ts'
import { getPage } from './list.ts'
import { issueReceipt } from './receipt.ts'
import * as service from './service.ts'

const unknown = 'There is no such consent.'

/** The six routes of the service specification's section 4, the batch and the receipt. */
export function consentRoutes(
  app: FastifyInstance,
  deps: Deps & {
    readonly cursorSecret: Buffer
    readonly signer: Signer
    readonly replicas?: Replicas | undefined
    readonly quota: Quota
  },
): void {
  route(
    app,
    consents.create,
    async ({ body }, { caller, header, setHeader }) => {
      const { shown, isReplayed } = await createConsent(deps, caller, body, readIdempotencyKey(header))
      if (isReplayed) setHeader('idempotent-replayed', 'true')
      return new Verbatim(shown)
    },
    { isRepeatable: ({ headers }) => headers['idempotency-key'] !== undefined },
  )
  route(
    app,
    createBatch,
    async ({ body: { records: rows } }, exchange) => {
      refuseIdempotencyKey(exchange.header)
      const note = (failure: Failure) => {
        notesOf(exchange.request).failure = failure
      }
      const view = prefersMinimal(exchange.header('prefer')) ? 'minimal' : 'whole'
      const work = (paid: readonly unknown[]) => createEach(deps, exchange.caller, paid, { view, note })
      const outcomes = await withUnits(deps.quota, exchange, { rows, work, refuse: failed })
      if (view === 'minimal') exchange.setHeader('preference-applied', 'return=minimal')
      return new Verbatim(`{"results":[${outcomes.map(({ text }) => text).join()}]}`)
    },
    {
      bodyLimit: batchLimits.bytes,
      isRepeatable: ({ body }) =>
        (body as ConsentBatch).records.every(row => Object(row).idempotency_key !== undefined),
    },
  )
  route(app, consents.list, async ({ query }, { caller }) => new Verbatim(await getPage(deps, caller, query)))
  route(app, consents.get, async ({ params, query }, { caller }) => {
    const id = pathId(params, unknown)
    return new Verbatim(await service.getConsent(deps, caller, id, query.include_deleted ?? false))
  })
  route(
    app,
    consents.update,
    async ({ params, body }, { caller }) =>
      new Verbatim(await service.updateConsent(deps, caller, pathId(params, unknown), body)),
  )
  route(
    app,
    consents.remove,
    async ({ params }, { caller }) =>
      new Verbatim(await service.deleteConsent(deps, caller, pathId(params, unknown))),
  )
  route(app, consents.history, ({ params }, { caller }) =>
    service.getHistory(deps, caller, pathId(params, unknown)),
  )
  route(
    app,
    consents.receipt,
    async ({ params }, { caller }) => new Verbatim(await issueReceipt(deps, caller, pathId(params, unknown))),
  )
}
