import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import {
  addConfirmFlags,
  confirmOptionsFromZero,
  mustPrompt,
  promptToConfirm,
  requireConfirmedCount,
} from '../../cli/confirm.ts'
import { callOptional, formatCount, instanceLabel } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { subjects } from '../../contract/subjects.ts'
import { findPurged, findPurgeReceipt, makePurgeReceipt } from '../../erasure/certificates.ts'
import { findReceiptOrFile, type StoredReceipt } from '../../erasure/receipts.ts'
import { orderPurge, previewPurge } from '../../erasure/records.ts'
import { describePurged } from '../../erasure/sentences.ts'
import { CliError, dataError, exit, usageError } from '../../errors/errors.ts'
import { openSigner, requireSameInstance } from '../../receipts/signer.ts'
import { locateReceipts } from '../../receipts/store.ts'
import { type PurgeRow, purgeView } from '../../views/subject.ts'
import { requirePublishedKeys } from '../verify/keys.ts'

const Options = z.strictObject({
  ...confirmOptionsFromZero,
  operands: z.tuple([nonEmpty]),
  dryRun: z.literal(true).optional(),
})
type Options = z.output<typeof Options>

export function purge(command: Command, ctx: Context): void {
  addConfirmFlags(
    command
      .argument('<receipt>', 'a file, or the number, job or ticket of a receipt, or last')
      .option('--dry-run', 'show what would be purged without purging it'),
    'record',
  )
    .description(`
Purges the personal data of exactly the records that the receipt lists as deleted, without waiting for the schedule
of the service. A purge cannot be undone. A new receipt in the chain of the profile contains the certificate of the
service. If a record is live again, nothing is purged (exit code 10). Repeating the command finishes an interrupted
purge, and changes nothing after a complete one.

Examples:
  $ consentctl subject purge last --dry-run
  $ consentctl subject purge last --confirm 3`)
    .action(action(ctx, Options, purgeView, async (_, options) => await run(ctx, options)))
}

async function run(ctx: Context, { operands: [wanted], dryRun, ...confirmation }: Options): Promise<Output<unknown>> {
  const asks = !dryRun && mustPrompt(ctx, confirmation, { action: 'purge' })
  const stored = await findReceiptOrFile(locateReceipts(ctx), wanted)
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
  stored: StoredReceipt,
  ids: readonly string[],
  signer: Awaited<ReturnType<typeof openSigner>>,
): Promise<Output<unknown>> {
  const { fault, certificates, ...seen } = await findPurged(
    orderPurge(ctx.api),
    stored.receipt,
    await requirePublishedKeys(ctx),
    ids,
  )
  if (fault !== null) throw dataError(fault)
  const sites = new Map(stored.receipt.records.map(({ id, site_id }) => [id, site_id]))
  const toRows = (list: readonly string[], state: string) =>
    list.map((id): PurgeRow => ({ id, site_id: sites.get(id) ?? null, state }))
  const rows = [...toRows(seen.purged, 'purged'), ...toRows([...seen.others, ...seen.unknown], 'not purged')]
  const isWhole = seen.purged.length === ids.length && ids.length > 0
  if (isWhole) {
    const made =
      (await findPurgeReceipt(signer.store, stored)) ?? (await makePurgeReceipt(signer, stored, certificates))
    await ctx.say(describePurged(seen).text)
    await ctx.say(`receipt ${made.receipt.number}: ${made.path}`)
  } else if (ids.length === 0) await ctx.say('the receipt has no record that was deleted: nothing was purged')
  else await ctx.warn(`${describePurged(seen).text}; no receipt was made`)
  const code = isWhole || ids.length === 0 ? exit.done : exit.partial
  return many(purgeView, pagesOf(rows), { mutates: true, exit: () => code }) as Output<unknown>
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
