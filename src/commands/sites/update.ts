import type { Command } from 'commander'
import * as z from 'zod'
import { action, Count, collect, Ids } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import { findSite, siteIdOf } from '../../cli/sites.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { RetentionDays, SiteDraft, sites } from '../../contract/sites.ts'
import { isUuid } from '../../contract/uuid.ts'
import { PolicyVersion } from '../../contract/values.ts'
import { usageError } from '../../errors/errors.ts'
import { siteView } from '../../views/account.ts'

const origins = SiteDraft.shape.allowed_origins

const Origins = z.object({
  origin: origins,
  addOrigin: origins,
  removeOrigin: origins,
  clearOrigins: z.literal(true).optional(),
})

const Options = z.strictObject({
  ...signInOptions,
  ...dryRunOption,
  ...Origins.shape,
  operands: Ids,
  name: SiteDraft.shape.name.optional(),
  policyVersion: Count.pipe(PolicyVersion).optional(),
  retentionDays: Count.pipe(RetentionDays).optional(),
  clearRetention: z.literal(true).optional(),
  strictNotices: z.boolean().optional(),
  allowDuplicate: z.literal(true).optional(),
})

export function update(command: Command, ctx: Context): void {
  addSignInFlags(
    addDryRunFlag(command)
      .argument('<site>', 'name or id of the site')
      .option('--name <name>', 'new name')
      .option('--policy-version <n>', 'policy version of new records')
      .option('--origin <origin>', 'replace the allowed origins; repeatable', collect)
      .option('--add-origin <origin>', 'add an allowed origin; repeatable', collect)
      .option('--remove-origin <origin>', 'remove an allowed origin; repeatable', collect)
      .option('--clear-origins', 'remove all allowed origins')
      .option('--retention-days <n>', 'delete records unchanged for this many days')
      .option('--clear-retention', 'keep records indefinitely')
      .option('--strict-notices', 'reject a consent to a policy version without a published notice')
      .option('--no-strict-notices', 'take it')
      .option('--allow-duplicate', 'with --name: allow a name that another site has'),
  )
    .description(`${signInHelp}

Existing records keep their policy version; a new one applies to new records.

Examples:
  $ consentctl sites update Shop --policy-version 4
  $ consentctl sites update 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --add-origin https://www.shop.example`)
    .action(action(ctx, Options, viewUnlessDryRun(siteView), run))
}

async function run(ctx: Context, options: z.output<typeof Options>) {
  const {
    operands: [named = ''],
    email,
    passwordStdin,
    dryRun,
    ...changes
  } = options
  checkChanges(changes)
  const isRead = Boolean(changes.addOrigin ?? changes.removeOrigin)
  const isOffline = dryRun && !isRead && isUuid(named)
  const api = isOffline ? ctx.api : await signIn(ctx, { email, passwordStdin })
  const id = await siteIdOf({ api, say: ctx.say }, named)
  const body = {
    name: changes.name,
    policy_version: changes.policyVersion,
    allowed_origins: await originsOf(ctx, api, id, changes),
    retention_days: changes.clearRetention ? null : changes.retentionDays,
    strict_notices: changes.strictNotices,
    allow_duplicate: changes.allowDuplicate,
  }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: sites.update, params: { id }, body }])
  const site = await api.call(sites.update, { params: { id }, body })
  await ctx.say(`updated site ${site.id} on ${instanceLabel(ctx)}`)
  return one(siteView, site, { mutates: true })
}

function checkChanges(changes: Partial<z.output<typeof Options>>): void {
  const { origin, addOrigin, removeOrigin, clearOrigins, retentionDays, clearRetention } = changes
  if (Object.values(changes).every(value => value === undefined)) {
    throw usageError(
      'nothing to change',
      'use --name, --policy-version, an origin flag, --retention-days or --strict-notices',
    )
  }
  if (clearRetention && retentionDays !== undefined) {
    throw usageError('--retention-days and --clear-retention cannot be combined')
  }
  if ([origin, clearOrigins, addOrigin ?? removeOrigin].filter(Boolean).length > 1) {
    throw usageError('--origin, --clear-origins and --add-origin/--remove-origin cannot be combined')
  }
}

/** Undefined for no change. Reads the site only to add or remove origins. */
async function originsOf(
  ctx: Context,
  api: Client,
  id: string,
  { origin, addOrigin, removeOrigin, clearOrigins }: z.output<typeof Origins>,
): Promise<string[] | undefined> {
  if (clearOrigins) return []
  if (!addOrigin && !removeOrigin) return origin
  const { allowed_origins } = await findSite(api, id)
  const removed = new Set(removeOrigin)
  for (const each of removed) {
    if (!allowed_origins.includes(each)) await ctx.say(`note: ${each} was not an allowed origin`)
  }
  return [...new Set([...allowed_origins, ...(addOrigin ?? [])])].filter(each => !removed.has(each))
}
