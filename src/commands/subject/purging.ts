import * as z from 'zod'
import { confirmOptionsFromZero, mustPrompt, promptToConfirm, requireConfirmedCount } from '../../cli/confirm.ts'
import { callOptional, formatCount, instanceLabel } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import { callRegister, changeRequest } from '../../cli/register.ts'
import type { Context } from '../../context.ts'
import type { ErasureReceipt } from '../../contract/documents/erasure-receipt.ts'
import { requests } from '../../contract/requests.ts'
import { subjects } from '../../contract/subjects.ts'
import { findPurged, findPurgeReceipt, makePurgeReceipt } from '../../erasure/certificates.ts'
import { findAnywhere, sendUnkept } from '../../erasure/kept.ts'
import { findReceiptOrFile, requireErasure, type StoredReceipt } from '../../erasure/receipts.ts'
import { orderPurge, previewPurge } from '../../erasure/records.ts'
import { describePurged } from '../../erasure/sentences.ts'
import { CliError, dataError, exit, usageError } from '../../errors/errors.ts'
import { report } from '../../errors/report.ts'
import { openSigner, requireSameInstance } from '../../receipts/signer.ts'
import { locateReceipts, sha256 } from '../../receipts/store.ts'
import { type PurgeRow, purgeView } from '../../views/subject.ts'
import { requirePublishedKeys } from '../verify/keys.ts'

export const purgeOptions = { ...confirmOptionsFromZero, dryRun: z.literal(true).optional() }
type PurgeOptions = z.output<z.ZodObject<typeof purgeOptions>>

/** Purges the records that a receipt lists as deleted. `wanted`: a file, or the number, job or ticket of a receipt. */
export async function purgeByReceipt(
  ctx: Context,
  wanted: string,
  { dryRun, ...confirmation }: PurgeOptions,
): Promise<Output<unknown>> {
  const asks = !dryRun && mustPrompt(ctx, confirmation, { action: 'purge' })
  const stored = requireErasure(await findAnywhere(ctx, locateReceipts(ctx), wanted, findReceiptOrFile))
  const { receipt } = stored
  requireSameInstance(ctx, receipt.instance, 'receipt')
  const signer = await openSigner(ctx)
  requireSameAccount(receipt.account_id, signer.account_id)
  if (receipt.key_id !== signer.key.id)
    throw usageError(
      'the receipt was made by another profile or machine: purge there, because one chain must contain both',
    )
  const deleted = receipt.records.filter(({ result }) => result === 'deleted')
  const ids = deleted.map(({ id }) => id)
  const states = await callOptional(ctx.api, subjects.purge, () => previewPurge(ctx.api, ids), {
    message: `${instanceLabel(ctx)} cannot purge on request`,
    hint: 'it purges by its own schedule; consentctl subject verify --purged shows when that is done',
  })
  const rows = deleted.map(({ id, site_id }): PurgeRow => ({ id, site_id, state: states.get(id) ?? 'unknown' }))
  requireDeleted(rows)
  const pending = rows.filter(({ state }) => state === 'deleted')
  if (dryRun) {
    await ctx.say(`would purge ${formatCount(pending.length)} on ${instanceLabel(ctx)}; nothing was purged`)
    return many(purgeView, pagesOf(rows)) as Output<unknown>
  }
  // A killed run resumes by the same command with its first count.
  const whole = rows.filter(({ state }) => state === 'deleted' || state === 'purged')
  if (confirmation.confirm !== whole.length) requireConfirmedCount(confirmation, pending.length, 'record', 'purged')
  if (asks && pending.length > 0)
    await promptToConfirm(ctx, purgeView, pending, {
      action: 'purge',
      noun: 'record',
      where: `${instanceLabel(ctx)}, permanently`,
    })
  return await purgeAll(ctx, stored, ids, signer)
}

async function purgeAll(
  ctx: Context,
  stored: StoredReceipt<ErasureReceipt>,
  ids: readonly string[],
  signer: Awaited<ReturnType<typeof openSigner>>,
): Promise<Output<unknown>> {
  const { fault, ...seen } = await findPurged(orderPurge(ctx.api), stored.receipt, await requirePublishedKeys(ctx), ids)
  if (fault !== null) throw dataError(fault)
  const sites = new Map(stored.receipt.records.map(({ id, site_id }) => [id, site_id]))
  const toRows = (list: readonly string[], state: string) =>
    list.map((id): PurgeRow => ({ id, site_id: sites.get(id) ?? null, state }))
  const rows = [...toRows(seen.purged, 'purged'), ...toRows([...seen.others, ...seen.unknown], 'not purged')]
  const isWhole = seen.purged.length === ids.length && ids.length > 0
  if (isWhole) {
    const made =
      (await findPurgeReceipt(signer.store, stored)) ?? (await makePurgeReceipt(signer, stored, seen.certificates))
    await ctx.say(describePurged(seen).text)
    await ctx.say(`receipt ${made.receipt.number}: ${made.path}`)
    await registerPurge(ctx, made)
    await sendUnkept(ctx, signer.store)
  } else if (ids.length === 0) await ctx.say('the receipt has no record that was deleted: nothing was purged')
  else await ctx.warn(`${describePurged(seen).text}; no receipt was made`)
  const code = isWhole || ids.length === 0 ? exit.done : exit.partial
  return many(purgeView, pagesOf(rows), { mutates: true, exit: () => code }) as Output<unknown>
}

/** The register has the digest of the erasure's receipt if the request is its own. */
async function registerPurge(ctx: Context, { receipt, bytes }: StoredReceipt<ErasureReceipt>): Promise<void> {
  try {
    const { data } = await callRegister(ctx.api, () =>
      ctx.api.call(requests.list, { query: { ticket: receipt.ticket } }),
    )
    const own = data.find(({ receipts }) => receipts.some(each => each.sha256 === receipt.purge?.receipt.sha256))
    if (!own) return
    const proof = { type: 'erasure_receipt', sha256: sha256(bytes) } as const
    await changeRequest(ctx.api, own.id, { purged: true, receipt: proof })
  } catch (error) {
    if (error instanceof CliError && error.code === 'not_offered') return
    await report(ctx, error)
    await ctx.warn(`the records are purged, and the request ${receipt.ticket} does not say so: repeat the command`)
  }
}

function requireSameAccount(ofReceipt: string | null, ofKey: string | null): void {
  if (ofReceipt === null || ofKey === null || ofReceipt === ofKey) return
  const message = `the key is of the account ${ofKey}, and the receipt of ${ofReceipt}: nothing was purged`
  throw new CliError('other_account', exit.changed, message)
}

/** @throws CliError `changed` (exit 10) if a record is live again */
function requireDeleted(rows: readonly PurgeRow[]): void {
  const live = rows.filter(({ state }) => state === 'live')
  if (live.length === 0) return
  const ids = live.slice(0, 3).map(({ id }) => id)
  const message = `${formatCount(live.length)} of the receipt live again: ${ids.join(', ')}${live.length > 3 ? ', …' : ''}`
  throw new CliError('changed', exit.changed, `${message}; nothing was purged`, {
    hint: 'erase them again, and purge by the new receipt',
  })
}
