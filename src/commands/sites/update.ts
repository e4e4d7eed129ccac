import { type Command, Option } from 'commander'
import * as z from 'zod'
import { action, Count, collect, Ids } from '../../cli/action.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { readRetention, readSeal, retentionEvents, retentionOptions, sealOptions } from '../../cli/retention.ts'
import { addSignInFlags, signIn, signInHelp, signInOptions } from '../../cli/sign-in.ts'
import { findSite, siteIdOf } from '../../cli/sites.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { SiteDraft, sites } from '../../contract/sites.ts'
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
  ...retentionOptions,
  clearRetention: z.literal(true).optional(),
  ...sealOptions,
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
      .option('--retain <period>', 'delete records this long after an event, such as 3y, 18m or 90d')
      .addOption(new Option('--after <event>', 'with --retain: the event').choices(retentionEvents))
      .option('--clear-retention', 'keep records indefinitely')
      .option('--seal-proof <period>', 'keep a sealed proof this long after a deletion, such as 10y')
      .option('--basis <text>', 'with --seal-proof: the reason, such as the legal basis')
      .option('--no-seal-proof', 'keep no sealed proof at later purges')
      .option('--strict-notices', 'reject a consent to a policy version without a published notice')
      .option('--no-strict-notices', 'take it')
      .option('--allow-duplicate', 'with --name: allow a name that another site has'),
  )
    .description(`${signInHelp}

Existing records keep their policy version; a new one applies to new records.

--retain counts from the answer that withdrew the consent, the end of its validity (expires_at), the last change or
the creation of a record; a record without that event is kept. A period that would delete a consent that is still
valid by a published notice is rejected.

With --seal-proof a purge leaves a keyed hash of the identifier and the answers, so that whoever is shown the
identifier can prove them (evidence --sealed) until the period after the deletion ends. It applies to records that are
deleted after it was turned on; a new period or basis applies to later purges.

Examples:
  $ consentctl sites update Shop --policy-version 4
  $ consentctl sites update Shop --retain 3y --after withdrawal
  $ consentctl sites update Shop --seal-proof 10y --basis 'GDPR Art. 17(3)(e)'
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
  const retention = changes.clearRetention ? null : readRetention(changes)
  const isRead = Boolean(changes.addOrigin ?? changes.removeOrigin)
  const isOffline = dryRun && !isRead && isUuid(named)
  const api = isOffline ? ctx.api : await signIn(ctx, { email, passwordStdin })
  const id = await siteIdOf({ api, say: ctx.say }, named)
  const body = {
    name: changes.name,
    policy_version: changes.policyVersion,
    allowed_origins: await originsOf(ctx, api, id, changes),
    retention,
    sealed_proof: readSeal(changes),
    strict_notices: changes.strictNotices,
    allow_duplicate: changes.allowDuplicate,
  }
  if (dryRun) return dryRunOutput(ctx, [{ endpoint: sites.update, params: { id }, body }])
  const site = await api.call(sites.update, { params: { id }, body })
  await ctx.say(`updated site ${site.id} on ${instanceLabel(ctx)}`)
  return one(siteView, site, { mutates: true })
}

function checkChanges(changes: Partial<z.output<typeof Options>>): void {
  const { origin, addOrigin, removeOrigin, clearOrigins, retain, after, clearRetention } = changes
  if (Object.values(changes).every(value => value === undefined)) {
    throw usageError(
      'nothing to change',
      'use --name, --policy-version, an origin flag, --retain, --seal-proof or --strict-notices',
    )
  }
  if (clearRetention && (retain ?? after) !== undefined) {
    throw usageError('--retain and --clear-retention cannot be combined')
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
