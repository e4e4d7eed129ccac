import type { Context } from '../../context.ts'
import type { ErasureReceipt } from '../../contract/documents/erasure-receipt.ts'
import { usageError } from '../../errors/errors.ts'
import { exit } from '../../errors/exit.ts'
import { readSigned } from '../../evidence/signed.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { liveRecords } from '../../subject/found.ts'
import { liveOf } from '../../subject/live.ts'
import type { StoredReceipt } from '../../subject/receipts.ts'
import { type Checked, fail, ok, tried } from '../doctor/check.ts'
import { counted } from '../instance.ts'
import { type Keys, keysOfInstance } from '../verify/keys.ts'

/** Whether the service is as the receipt says: none of its records is live, and of a subject that is named no other. */
export async function checkLive(
  ctx: Context,
  { receipt }: StoredReceipt,
  subject: string | undefined,
): Promise<Checked> {
  const here = requireBaseUrl(ctx.settings)
  if (here !== receipt.instance)
    throw usageError(
      `the receipt is of ${receipt.instance}, and not of ${here}`,
      `--base-url ${receipt.instance}`,
    )
  const ids = receipt.records.map(({ id }) => id)
  const listed = subject === undefined ? [] : (await liveRecords(ctx, [subject])).map(({ id }) => id)
  const live = [...new Set([...(await liveOf(ctx, ids)), ...listed])]
  const records = counted(ids.length)
  if (live.length === 0)
    return ok(
      'live',
      `${records} of it: none is live${subject === undefined ? '' : ', and no other of the subject'}`,
    )
  const named = `${live.slice(0, 3).join(', ')}${live.length > 3 ? ` and ${live.length - 3} more` : ''}`
  return fail(
    'live',
    exit.changed,
    `${counted(live.length)} live: ${named}`,
    'consentctl subject erase once more',
  )
}

/** Whether what the service itself has signed is signed by a key that it publishes; nothing where there is none. */
export async function checkCertificates(ctx: Context, { certificates }: ErasureReceipt): Promise<Checked[]> {
  if (certificates.length === 0) return []
  const check = await tried('certificates', async () => {
    const keys = await keysOfInstance(ctx)('service')
    for (const [index, certificate] of certificates.entries()) {
      const fault = faultOf(certificate, keys)
      if (fault)
        return fail('certificates', exit.rejected, `${index + 1} of ${certificates.length} ${fault}`, null)
    }
    return ok('certificates', `${certificates.length} of the service, each signed by a key that it publishes`)
  })
  return [check]
}

function faultOf(certificate: string, { byId }: Keys): string | null {
  try {
    const { document, isSignedBy } = readSigned(Buffer.from(certificate))
    const key = byId.get(document.key_id)
    if (!key) return `is signed by a key that the service does not publish, ${document.key_id}`
    return isSignedBy(key) ? null : 'has a signature that is not valid'
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}
