import type { Context } from '../context.ts'
import { CliError, exit, usageError } from '../errors/errors.ts'
import {
  loadReceipt,
  numbersIn,
  pathOf,
  receiptOfJob,
  receiptsFolder,
  type StoredReceipt,
} from './receipts.ts'

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** A receipt by its number, its job's id or `last`, of the profile. Throws where there is none (exit 3). */
export async function storedReceipt(ctx: Context, wanted: string): Promise<StoredReceipt> {
  const folder = receiptsFolder(ctx)
  if (uuid.test(wanted)) {
    const found = await receiptOfJob(folder, wanted.toLowerCase())
    if (found) return found
    throw notThere(
      ctx,
      `the job ${wanted} has no receipt`,
      `to finish it: consentctl subject resume ${wanted}`,
    )
  }
  if (wanted !== 'last' && !/^[1-9]\d{0,14}$/.test(wanted))
    throw usageError(`"${wanted}" is no receipt`, 'name it by its number, its job or as last')
  const numbers = await numbersIn(folder)
  const number = wanted === 'last' ? numbers.at(-1) : Number(wanted)
  if (number === undefined) throw notThere(ctx, 'there is no receipt')
  if (!numbers.includes(number)) throw notThere(ctx, `there is no receipt ${number}`)
  return await loadReceipt(pathOf(folder, number))
}

/** The same, or one in a file of any other name. */
export async function anyReceipt(ctx: Context, wanted: string): Promise<StoredReceipt> {
  const isStored = wanted === 'last' || /^[1-9]\d*$/.test(wanted) || uuid.test(wanted)
  return isStored ? await storedReceipt(ctx, wanted) : await loadReceipt(wanted)
}

function notThere({ settings }: Context, what: string, hint = 'consentctl subject receipts'): CliError {
  return new CliError('not_found', exit.notFound, `${what} (profile ${settings.profile.value})`, { hint })
}
