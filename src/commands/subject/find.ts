import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { overallExit } from '../../cli/ids.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { recordsOf, showsDeleted } from '../../erasure/found.ts'
import { type Exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { readConfiguration } from '../../settings/settings.ts'
import { type FoundRow, foundView, foundViewOfAll } from '../../views/subject.ts'
import { alsoFlag, alsoOption, Subject, subjectsOf, tellSites } from './subjects.ts'

const Options = z.strictObject({
  ...alsoOption,
  operands: z.tuple([Subject]),
  allProfiles: z.literal(true).optional(),
})

/** `subject find`: everything that is held on a person. */
export function find(command: Command, ctx: Context): void {
  alsoFlag(command.argument('<id>', 'the identifier of the data subject, exactly as it was stored'))
    .option('--all-profiles', 'ask every stored instance in turn, each with its own key')
    .addHelpText(
      'after',
      `
Deleted records whose data is still there are shown too, where the instance shows such records. How many
there are of each site is told on stderr. An instance that fails is reported, and the others are asked
all the same (exit 8). Instead of the identifier - takes those of the person from stdin, one a line.

Examples:
  $ consentctl subject find maria@example.com
  $ consentctl subject find maria@example.com --also customer-4711 --all-profiles -o csv`,
    )
    .action(
      action(
        ctx,
        Options,
        ({ allProfiles }) => (allProfiles ? foundViewOfAll : foundView),
        async (_, { operands, also, allProfiles }) => {
          const subjects = await subjectsOf(ctx, operands, also)
          if (!allProfiles) return many(foundView, held(ctx, subjects))
          const { pages, exit } = onAll(ctx, profilesOf(ctx), subjects)
          return many(foundViewOfAll, pages, { exit })
        },
      ),
    )
}

/** What one instance holds; how many of each site is told at the end. */
async function* held(ctx: Context, subjects: readonly string[]): AsyncGenerator<readonly FoundRow[]> {
  const deleted = await showsDeleted(ctx)
  const counts = new Map<string | null, number>()
  let deletedOnes = 0
  for await (const page of recordsOf(ctx, subjects, { deleted })) {
    for (const { site_id, deleted_at } of page) {
      counts.set(site_id, (counts.get(site_id) ?? 0) + 1)
      if (deleted_at !== null) deletedOnes += 1
    }
    yield page.map(record => ({ ...record, state: record.deleted_at === null ? 'live' : 'deleted' }))
  }
  await tellSites(ctx, counts, instanceLabel(ctx), deletedOnes)
}

function profilesOf(ctx: Context): string[] {
  if (ctx.globals.baseUrl !== undefined || ctx.globals.profile !== undefined)
    throw usageError(
      '--all-profiles asks the stored instances: --base-url and --profile make no sense with it',
    )
  const names = Object.keys(readConfiguration(ctx.globals, ctx.host).config.profiles)
  if (names.length > 0) return names
  throw usageError('no instance is stored', 'consentctl auth login --base-url https://…')
}

function onAll(ctx: Context, names: readonly string[], subjects: readonly string[]) {
  const failures: Exit[] = []
  async function* pages(): AsyncGenerator<readonly FoundRow[]> {
    for (const profile of names) {
      try {
        for await (const page of held(ctx.withProfile(profile), subjects))
          yield page.map(row => ({ profile, ...row }))
      } catch (error) {
        ctx.interruption.throwIfAborted()
        failures.push(exitOf(error))
        await report(ctx, error, `profile ${profile}`)
      }
    }
    if (failures.length > 0)
      await ctx.warn(
        `${formatCount(failures.length, 'instance')} of ${names.length} could not be asked, or not to the end`,
      )
  }
  return { pages: pages(), exit: () => overallExit(names.length - failures.length, failures) }
}
