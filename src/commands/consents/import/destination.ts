import { formatCount, instanceLabel, quoteForShell } from '../../../cli/messages.ts'
import { siteIfListed } from '../../../cli/sites.ts'
import type { Context } from '../../../context.ts'
import { batchLimits, createBatch } from '../../../contract/batch.ts'
import { isUuid } from '../../../contract/uuid.ts'
import { CliError, exit, usageError } from '../../../errors/errors.ts'
import { type IdentifiedKey, identify, openSigner, requireScope, type Signer } from '../../../receipts/signer.ts'
import { locateImportReceipts, requireAppendable } from '../../../receipts/store.ts'
import { requireBaseUrl } from '../../../settings/settings.ts'
import { requireQuota } from '../bulk/job.ts'

export interface Destination {
  readonly signer: Signer
  readonly startedAt: Date
  /** Time of the service, in whole seconds. */
  readonly beganAt: Date
  /** By `performance.now`: nothing sent later can be older than `beganAt`. */
  readonly mayBegin: number
}

/** @throws CliError not_offered (exit 2), forbidden (exit 4) */
export async function openDestination(ctx: Context): Promise<Destination> {
  const { key, second } = await requireImports(ctx)
  const mayBegin = performance.now() + 1000
  const store = locateImportReceipts(ctx)
  await requireAppendable(store)
  const signer = await openSigner(ctx, store, key)
  return { signer, startedAt: new Date(), beganAt: new Date(second + 1000), mayBegin }
}

/** Sends only reads. `second`: Unix time in ms. @throws CliError not_offered (exit 2), forbidden (exit 4) */
export async function requireImports(ctx: Context): Promise<{ key: IdentifiedKey; second: number }> {
  if (!(await ctx.api.supports(createBatch, { in: 'schemas', name: 'ImportRow' })))
    throw new CliError('not_offered', exit.usage, 'this instance does not take imports with their origin', {
      hint: 'create records of today from a file: consentctl create --file',
    })
  let second: number | null = null
  const key = await identify(ctx.api, ({ at }) => {
    second = at
  })
  requireScope(ctx, key, 'import')
  if (second === null) throw new CliError('unexpected_answer', exit.usage, 'the instance sends no Date header')
  return { key, second }
}

/** @throws CliError as `findSite`; usage for a name that the key may not look up */
export async function requireSite(ctx: Context, text: string): Promise<{ id: string; isListed: boolean }> {
  const site = await siteIfListed(ctx.api, text)
  if (site) return { id: site.id, isListed: true }
  if (isUuid(text)) return { id: text, isListed: false }
  throw usageError(
    `the key may not list the sites, and ${quoteForShell(text)} is not an id`,
    'give the id: --site UUID',
  )
}

interface Rehearsal {
  readonly site: string
  readonly records: number
  readonly ignoreQuota: boolean
}

/** Sends the reads of an import, and describes the responses. @throws the errors that the import would throw */
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
  return `${instanceLabel(ctx)} was asked: ${seen.join(', ')}; only reads were sent`
}
