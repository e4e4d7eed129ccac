import * as z from 'zod'
import { formatCount } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import type { ErasureReceipt } from '../../contract/documents/erasure-receipt.ts'
import { liveRecords } from '../../erasure/found.ts'
import { liveOf } from '../../erasure/live.ts'
import type { StoredReceipt } from '../../erasure/receipts.ts'
import { dataError, exit, usageError } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import { readSigned } from '../../evidence/signed.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { type Checked, fail, ok, skip, tried } from '../doctor/check.ts'
import { type Keys, keysOfInstance } from '../verify/keys.ts'

/** Whether the service is as the receipt says: none of its records is live, and of a subject that is named no other. */
export async function checkLive(
  ctx: Context,
  { receipt }: StoredReceipt,
  subject: string | undefined,
): Promise<Checked> {
  requireInstance(ctx, receipt)
  const ids = receipt.records.map(({ id }) => id)
  if (ids.length === 0 && subject === undefined)
    return skip('live', 'it lists no records: name the data subject with --subject')
  const listed = subject === undefined ? [] : (await liveRecords(ctx, [subject])).map(({ id }) => id)
  const live = [...new Set([...(await liveOf(ctx, ids)), ...listed])]
  const records = formatCount(ids.length)
  if (live.length === 0)
    return ok(
      'live',
      `${records} of it: none is live${subject === undefined ? '' : ', and no other of the subject'}`,
    )
  const named = `${live.slice(0, 3).join(', ')}${live.length > 3 ? ` and ${live.length - 3} more` : ''}`
  return fail(
    'live',
    exit.changed,
    `${formatCount(live.length)} live: ${named}`,
    'consentctl subject erase once more',
  )
}

/**
 * Whether what the service itself has signed is signed by a key that it publishes, and is about this request and as many
 * records as the receipt says; nothing where there is none.
 */
export async function checkCertificates(ctx: Context, receipt: ErasureReceipt): Promise<Checked[]> {
  const { certificates, ticket, counts } = receipt
  if (certificates.length === 0) return []
  const check = await tried('certificates', async () => {
    requireInstance(ctx, receipt)
    const keys = await keysOfInstance(ctx)('service').catch((error: unknown) => {
      // That there are no keys is nothing that the caller has done wrong.
      const { message, exit: code } = explain(error)
      throw code === exit.usage ? dataError(message) : error
    })
    let erased = 0
    for (const [index, certificate] of certificates.entries()) {
      const read = readCertificate(certificate, keys, ticket)
      if (typeof read === 'string')
        return fail('certificates', exit.rejected, `${index + 1} of ${certificates.length} ${read}`, null)
      erased += read.erased
    }
    if (erased !== counts.deleted_in_bulk) {
      const differ = `they count ${formatCount(erased)}, and the receipt ${counts.deleted_in_bulk}`
      return fail('certificates', exit.rejected, differ, null)
    }
    return ok('certificates', `${certificates.length} of the service, each signed by a key that it publishes`)
  })
  return [check]
}

function requireInstance({ settings }: Context, { instance }: ErasureReceipt): void {
  const here = requireBaseUrl(settings)
  if (here === instance) return
  throw usageError(`the receipt is of ${instance}, and not of ${here}`, `--base-url ${instance}`)
}

/** What another service may say beside it is its own affair. */
const Certificate = z.object({
  type: z.literal('erasure_certificate'),
  ticket: z.string().nullable(),
  erased: z.int().min(0),
})

/** What a certificate says, or else what is wrong with it. */
function readCertificate(
  certificate: string,
  { byId }: Keys,
  ticket: string,
): z.output<typeof Certificate> | string {
  try {
    const { document, isSignedBy } = readSigned(Buffer.from(certificate))
    const key = byId.get(document.key_id)
    if (!key) return `is signed by a key that the service does not publish, ${document.key_id}`
    if (!isSignedBy(key)) return 'has a signature that is not valid'
    const { data } = Certificate.safeParse(document)
    if (!data) return 'is no certificate of an erasure'
    return data.ticket === ticket ? data : 'is for another ticket'
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}
