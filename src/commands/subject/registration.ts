import { subjectCommand } from '../../cli/messages.ts'
import { changeRequest, closeCommand } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import type { ErasureHeader } from '../../erasure/job.ts'
import type { StoredReceipt } from '../../erasure/receipts.ts'
import { report } from '../../errors/report.ts'
import { sha256 } from '../../receipts/store.ts'

type Registered = Pick<ErasureHeader, 'request_id' | 'ticket' | 'job'>

/** Returns an error instead of throwing it: the erasure is done. */
export async function registerReceipt(
  { api }: Pick<Context, 'api'>,
  { request_id }: Registered,
  { bytes }: StoredReceipt,
): Promise<{ readonly error: unknown } | null> {
  if (request_id === null) return null
  try {
    await changeRequest(api, request_id, { receipt: { type: 'erasure_receipt', sha256: sha256(bytes) } })
    return null
  } catch (error) {
    return { error }
  }
}

export async function tellRegistration(
  ctx: Context,
  { request_id, ticket, job }: Registered,
  failed: { readonly error: unknown } | null,
): Promise<void> {
  if (request_id === null) return
  if (failed === null)
    return await ctx.say(
      `the register has the digest of the receipt; once the person has the answer: ${closeCommand(ticket)}`,
    )
  await report(ctx, failed.error)
  const command = subjectCommand(ctx, 'resume', job)
  await ctx.warn(
    `the erasure is done, but its receipt’s digest could not be added to the register; to add it: ${command}`,
  )
}
