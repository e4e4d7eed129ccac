import { formatCount, instanceLabel } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { batchLimits } from '../../../contract/batch.ts'
import { requireBaseUrl } from '../../../settings/settings.ts'
import { requireQuota } from '../bulk/job.ts'
import { requireImports, requireSite } from './destination.ts'

interface Rehearsal {
  readonly site: string
  readonly records: number
  readonly ignoreQuota: boolean
}

/** Sends the reads of an import, and describes the responses. @throws what the import would */
export async function rehearse(ctx: Context, { site, records, ignoreQuota }: Rehearsal): Promise<string> {
  requireBaseUrl(ctx.settings)
  const { key } = await requireImports(ctx)
  const { id, isListed } = await requireSite(ctx, site)
  const requests = ignoreQuota ? 0 : Math.ceil(records / batchLimits.importsPerUnit)
  const used = await requireQuota(ctx, requests)
  const room =
    used?.remaining === null ? 'the quota has no limit' : `the quota has room for ${formatCount(requests, 'request')}`
  const seen = [
    'it takes imports',
    ...(key.scopes ? ['the key has the scope import'] : []),
    ...(isListed ? [`the site ${site === id ? id : `${site} (${id})`} is there`] : []),
    ...(used ? [room] : []),
  ]
  const untold = [
    ...(key.scopes ? [] : ['the scopes of the key']),
    ...(isListed ? [] : ['its sites']),
    ...(requests > 0 && !used ? ['the quota'] : []),
  ]
  const rest = untold.length > 0 ? `; it does not tell ${untold.join(', ')}` : ''
  return `${instanceLabel(ctx)} was asked: ${seen.join(', ')}${rest}; only reads were sent`
}
