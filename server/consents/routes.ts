import type { FastifyInstance } from 'fastify'
import { ZodError } from 'zod'
import {
  batchLimits,
  type ConsentBatch,
  consents,
  createBatch,
  isImportRow,
  type RowOutcome,
  receipt,
  restore,
} from '../../src/contract/index.ts'
import type { AccessLog } from '../audit/access-log.ts'
import { type Caller, isKeyCaller } from '../auth/caller.ts'
import type { Replicas } from '../db/replicas.ts'
import type { Signer } from '../evidence/signer.ts'
import { Failure } from '../failure.ts'
import { toErrorBody, toFailure, toStatus } from '../http/errors.ts'
import { type GateDeps, runAsNewRequest, spendPerRow } from '../http/gate.ts'
import { getDiagnostics } from '../http/logging.ts'
import { prefersLines, prefersMinimal } from '../http/parsing.ts'
import { pathId, Raw, route } from '../http/route.ts'
import { Lines } from '../http/stream.ts'
import type { Quota } from '../quota/quota.ts'
import { createConsent, createRows } from './create.ts'
import type { ConsentDeps } from './deps.ts'
import { readIdempotencyKey, rejectIdempotencyKey } from './idempotency.ts'
import { importRows } from './imports.ts'
import { getPage, pagesAfter } from './list.ts'
import { issueReceipt } from './receipt.ts'
import type { CreateResult } from './rows.ts'
import * as service from './service.ts'

const unknown = 'There is no such consent.'

/** Service specification, section 4. */
export function consentRoutes(
  app: FastifyInstance,
  deps: ConsentDeps &
    GateDeps & {
      readonly cursorSecret: Buffer
      readonly signer: Signer
      readonly replicas?: Replicas | undefined
      readonly quota: Quota
      readonly accessLog: AccessLog
    },
): void {
  route(
    app,
    consents.create,
    async ({ body }, { caller, header, setHeader }) => {
      const { json, isReplayed } = await createConsent(deps, caller, body, readIdempotencyKey(header))
      if (isReplayed) setHeader('idempotent-replayed', 'true')
      return new Raw(json)
    },
    { isIdempotent: ({ headers }) => headers['idempotency-key'] !== undefined },
  )
  route(
    app,
    createBatch,
    async ({ body: { records: rows } }, context) => {
      rejectIdempotencyKey(context.header)
      const isImport = areImports(rows)
      requireScope(context.caller, isImport ? 'import' : 'write')
      const logFailure = (failure: Failure) => {
        getDiagnostics(context.request).failure = failure
      }
      const view = prefersMinimal(context.header('prefer')) ? 'minimal' : 'whole'
      const run = async (paid: readonly unknown[]) => {
        const { caller, newIds } = context
        const results = isImport
          ? await importRows(deps, caller, paid, { view, newIds })
          : await createRows(deps, caller, paid, view)
        return results.map(result => toRowOutcome(result, logFailure))
      }
      const outcomes = await spendPerRow(deps.quota, context, {
        rows,
        rowsPerUnit: isImport ? batchLimits.importsPerUnit : 1,
        run,
        reject: failedRow,
      })
      if (view === 'minimal') context.setHeader('preference-applied', 'return=minimal')
      return new Raw(`{"results":[${outcomes.map(({ text }) => text).join()}]}`)
    },
    {
      bodyLimit: batchLimits.bytes,
      isIdempotent: ({ body }) =>
        (body as ConsentBatch).records.every(row => isImportRow(row) || Object(row).idempotency_key !== undefined),
    },
  )
  route(app, consents.list, async ({ query }, { caller, request, header, setHeader }) => {
    const first = await getPage(deps, caller, query)
    deps.accessLog.record(caller, 'list', query.subject_id)
    setHeader('vary', 'Accept')
    if (!prefersLines(header('accept'))) return new Raw(first.text)
    const read = (cursor: string) =>
      runAsNewRequest(deps, request, caller => getPage(deps, caller, { ...query, cursor }))
    return new Lines(first.text, pagesAfter(first, read))
  })
  route(app, consents.get, async ({ params, query }, { caller }) => {
    const id = pathId(params, unknown)
    const { json, subject_id } = await service.getConsent(deps, caller, id, query.include_deleted ?? false)
    deps.accessLog.record(caller, 'get', subject_id)
    return new Raw(json)
  })
  route(
    app,
    consents.update,
    async ({ params, body }, { caller }) =>
      new Raw(await service.updateConsent(deps, caller, pathId(params, unknown), body)),
  )
  route(
    app,
    consents.remove,
    async ({ params }, { caller }) => new Raw(await service.deleteConsent(deps, caller, pathId(params, unknown))),
  )
  route(
    app,
    restore,
    async ({ params, body }, { caller }) =>
      new Raw(await service.restoreConsent(deps, caller, pathId(params, unknown), body)),
    { isIdempotent: () => true },
  )
  route(app, consents.history, async ({ params, query }, { caller }) => {
    const id = pathId(params, unknown)
    const { history, subjectId } = await service.getHistory(deps, caller, id, query.details ?? false)
    deps.accessLog.record(caller, 'history', subjectId)
    return history
  })
  route(app, receipt, async ({ params }, { caller }) => {
    const { text, subjectId } = await issueReceipt(deps, caller, pathId(params, unknown))
    deps.accessLog.record(caller, 'receipt', subjectId)
    return new Raw(text)
  })
}

/** @throws Failure `invalid_request` if only some of the rows are imports */
function areImports(rows: readonly unknown[]): boolean {
  const count = rows.filter(isImportRow).length
  if (count === 0 || count === rows.length) return count > 0
  throw new Failure('invalid_request', 'records: either all or none must have an origin')
}

/** The session of an owner has `write`. */
function requireScope(caller: Caller, scope: 'write' | 'import'): void {
  if (isKeyCaller(caller) ? caller.scopes.includes(scope) : scope === 'write') return
  throw new Failure(
    'forbidden',
    isKeyCaller(caller)
      ? `The API key lacks the scope ${scope}.`
      : 'An import requires an API key with the scope import.',
    { reason: 'missing_scope' },
  )
}

interface RowText {
  readonly status: number
  readonly text: string
}

function toRowOutcome(result: CreateResult, logFailure: (failure: Failure) => void): RowText {
  if (!(result instanceof Error)) {
    const { json, isReplayed } = result
    return { status: 201, text: `{"status":201,"consent":${json},"replayed":${isReplayed}}` }
  }
  const failure = toFailure(result)
  if (!(result instanceof Failure || result instanceof ZodError)) logFailure(failure)
  return failedRow(failure)
}

function failedRow(failure: Failure): RowText {
  const status = toStatus(failure)
  const seconds = failure.headers['retry-after']
  const outcome: RowOutcome = {
    status,
    error: toErrorBody(failure),
    retry_after: seconds === undefined ? null : Number(seconds),
  }
  return { status, text: JSON.stringify(outcome) }
}
