import { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { WithdrawalReceipt } from '../contract/documents/withdrawal-receipt.ts'
import { type Claimed, readSigned } from './signed.ts'

export type OperatorDocument = ErasureReceipt | WithdrawalReceipt

const schemas = { erasure_receipt: ErasureReceipt, withdrawal_receipt: WithdrawalReceipt }

/** Reads without verifying. @throws SyntaxError with a message that completes "the document …" */
export function readOperatorDocument(bytes: Uint8Array): {
  readonly claimed: Claimed
  readonly document: OperatorDocument
} {
  const claimed = readSigned(bytes)
  const { type } = claimed.document
  if (type !== 'erasure_receipt' && type !== 'withdrawal_receipt')
    throw new SyntaxError(`is not a receipt of an erasure or a withdrawal but of the type "${type}"`)
  const { data, error } = schemas[type].safeParse(claimed.document)
  const issue = error?.issues[0]
  if (!data) throw new SyntaxError(`does not match its schema (${issue?.path.join('.') || issue?.message})`)
  return { claimed, document: data }
}
