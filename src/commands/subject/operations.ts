import type { ErasedRecord } from '../../contract/documents/erasure-receipt.ts'
import type { TurnedOffRecord } from '../../contract/documents/withdrawal-receipt.ts'
import { deleteRest, markErased, verifyErased } from '../../erasure/deletion.ts'
import { type DoneRecord, type ErasureJob, type PersonState, runOf } from '../../erasure/job.ts'
import { type Processed, processRest } from '../../erasure/processing.ts'
import { isErasure, isWithdrawal, makeReceipt, type StoredReceipt } from '../../erasure/receipts.ts'
import type { Target } from '../../erasure/records.ts'
import { describeOnTerminal } from '../../erasure/sentences.ts'
import { makeWithdrawalReceipt, verifyWithdrawn, type Withdrawal, withdrawalCall } from '../../erasure/withdrawal.ts'
import { describeWithdrawal } from '../../erasure/withdrawal-page.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import type { View } from '../../output/index.ts'
import type { Signer } from '../../receipts/signer.ts'
import { erasureView, withdrawalView } from '../../views/subject.ts'

/** What a job does with the records of its people. */
export interface Operation {
  readonly noun: 'erasure' | 'withdrawal'
  readonly participle: 'erased' | 'changed'
  /** What is planned. */
  readonly target: string
  readonly view: View<never>
  process(
    job: ErasureJob,
    state: PersonState,
    isStopped: () => boolean,
  ): AsyncGenerator<readonly Processed<DoneRecord>[]>
  /** After all records. Returns what makes the receipt. */
  verify(job: ErasureJob, state: PersonState): Promise<(signer: Signer) => Promise<StoredReceipt>>
  toFailedRow(target: Target): unknown
}

const erasure: Operation = {
  noun: 'erasure',
  participle: 'erased',
  target: 'live record',
  view: erasureView,
  process: (job, state, isStopped) => deleteRest(runOf(job, state as PersonState<ErasedRecord>), isStopped),
  verify: async ({ ctx, held }, state) => {
    const own = state as PersonState<ErasedRecord>
    await markErased(ctx.api, own)
    const verified = await verifyErased(ctx.api, state.order.subjects).catch(explainQuota)
    return signer => makeReceipt(signer, held.header, own, verified)
  },
  toFailedRow: ({ id, site_id }) => ({ id, site_id, result: 'failed', deleted_at: null, request_id: null }),
}

function withdrawalOf(withdrawal: Withdrawal): Operation {
  return {
    noun: 'withdrawal',
    participle: 'changed',
    target: 'record that grants it',
    view: withdrawalView,
    process: (job, state, isStopped) => {
      const call = withdrawalCall(withdrawal, job.held.header.api_key_id ?? null)
      return processRest(runOf(job, state as PersonState<TurnedOffRecord>), call, isStopped)
    },
    verify: async ({ ctx, held }, state) => {
      const verified = await verifyWithdrawn(ctx.api, state.order.subjects, withdrawal)
      const header = { ...held.header, withdrawal }
      return signer => makeWithdrawalReceipt(signer, header, state as PersonState<TurnedOffRecord>, verified)
    },
    toFailedRow: ({ id, site_id }) => ({ ...noChange, id, site_id, result: 'failed' }),
  }
}

const noChange = { purposes: [], accepted: null, before: null, version: null, changed_at: null, request_id: null }

/** The header of the job says what kind its records are of. */
export function operationOf({ held }: ErasureJob): Operation {
  const { withdrawal } = held.header
  return withdrawal ? withdrawalOf(withdrawal) : erasure
}

export function viewOf(stored: StoredReceipt): View<never> {
  return isWithdrawal(stored) ? withdrawalView : erasureView
}

export function describeReceiptOnTerminal(stored: StoredReceipt, where: string): string {
  if (isErasure(stored)) return describeOnTerminal(stored.receipt, where)
  return isWithdrawal(stored) ? describeWithdrawal(stored.receipt, where) : ''
}

export function remainingOf({ receipt }: StoredReceipt) {
  const isWithdrawn = receipt.type === 'withdrawal_receipt'
  return {
    ids: receipt.verification.remaining.map(({ id }) => id),
    left: isWithdrawn ? 'still given' : 'not erased',
    again: `to ${isWithdrawn ? 'withdraw' : 'erase'} them too, run the same command again`,
  }
}

export function explainQuota(error: unknown): never {
  throw exitOf(error) === exit.quota ? quotaError(error) : error
}

/** Only an erasure by record needs quota. */
export function quotaError(cause: unknown): CliError {
  return new CliError('quota_exceeded', exit.quota, 'the monthly quota is used up', {
    hint: 'wait for the next calendar month (UTC) or raise the quota of the account, then resume',
    cause,
  })
}
