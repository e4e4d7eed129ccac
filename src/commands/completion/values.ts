import { Argument, type Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { many, pagesOf } from '../../cli/output.ts'
import { profileKeys } from '../../cli/profile-keys.ts'
import type { Context } from '../../context.ts'
import { type LocalKind, localKinds } from '../../docs/completion/names.ts'
import { CliError } from '../../errors/errors.ts'
import type { View } from '../../output/index.ts'
import { knownSites } from '../../settings/known-sites.ts'
import { readConfig } from '../../settings/store.ts'

const Options = z.strictObject({ operands: z.tuple([z.enum(localKinds)]) })

const valueView: View<string> = {
  id: value => value,
  columns: [{ name: 'value', value: value => value, whole: true, rank: 1 }],
}

export function values(command: Command, ctx: Context): void {
  command
    .addArgument(new Argument('<kind>', 'kind of value').choices([...localKinds]))
    .description(`
The completion scripts call this. It reads local files and sends no request: site names come from the last
sites list.

Examples:
  $ consentctl completion values profiles
  $ consentctl completion values tickets`)
    .action(action(ctx, Options, valueView, run))
}

async function run(ctx: Context, { operands: [kind] }: z.output<typeof Options>) {
  const found = await known[kind](ctx)
  return many(valueView, pagesOf([...new Set(found)].sort()))
}

const known: Record<LocalKind, (ctx: Context) => readonly string[] | Promise<readonly string[]>> = {
  profiles: ctx => Object.keys(readConfig(ctx.settings.folder).profiles),
  sites: ctx => {
    const ids = Object.values(readConfig(ctx.settings.folder).profiles).map(({ site }) => site)
    return [...ids.filter(site => site !== undefined), ...knownSites(ctx.settings)]
  },
  settings: () => ['profile', ...Object.keys(profileKeys)],
  imports: async ctx => ['last', ...(await (await import('../consents/bulk/job.ts')).lineJobs(ctx).list())],
  erasures: async ctx => ['last', ...(await (await import('../../erasure/job.ts')).erasureJobs(ctx).list())],
  receipts: async ctx => {
    const all = await receiptsOf(ctx)
    return ['last', ...all.flatMap(({ number, ticket }) => [String(number), ticket])]
  },
  tickets: async ctx => (await receiptsOf(ctx)).map(({ ticket }) => ticket),
}

async function receiptsOf(ctx: Context): Promise<readonly { readonly number: number; readonly ticket: string }[]> {
  const [{ allReceipts }, { locateReceipts }] = await Promise.all([
    import('../../erasure/receipts.ts'),
    import('../../receipts/store.ts'),
  ])
  const all: { number: number; ticket: string }[] = []
  for await (const found of allReceipts(locateReceipts(ctx))) if (!(found instanceof CliError)) all.push(found.receipt)
  return all
}
