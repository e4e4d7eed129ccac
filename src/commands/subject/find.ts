import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { overallExit } from '../../cli/ids.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { recordsOf, showsDeleted } from '../../erasure/records.ts'
import { type Exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { readConfiguration } from '../../settings/settings.ts'
import { type FoundRow, foundView, foundViewOfAll } from '../../views/subject.ts'
import { addAlsoFlag, alsoOption, readSubjects, Subject, tellSites } from './subjects.ts'

const Options = z.strictObject({
  ...alsoOption,
  operands: z.tuple([Subject]),
  allProfiles: z.literal(true).optional(),
})

export function find(command: Command, ctx: Context): void {
  addAlsoFlag(command.argument('<id>', 'identifier of the data subject, exactly as stored'))
    .option('--all-profiles', 'search every stored instance, each with its own key')
    .addHelpText(
      'after',
      `
Includes deleted records that are not purged yet, if the instance shows them. Counts by site go to stderr. If an
instance fails, it is reported and the others are searched (exit 8). Use - as the identifier to read all
identifiers of the person from stdin, one a line.

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
          const subjects = await readSubjects(ctx, operands, also)
          if (!allProfiles) return many(foundView, held(ctx, subjects))
          const { pages, exit } = searchAll(ctx, listProfiles(ctx), subjects)
          return many(foundViewOfAll, pages, { exit })
        },
      ),
    )
}

/** Yields what one instance holds, and then writes the counts by site. */
async function* held(ctx: Context, subjects: readonly string[]): AsyncGenerator<readonly FoundRow[]> {
  const deleted = await showsDeleted(ctx.api)
  const counts = new Map<string | null, number>()
  let deletedCount = 0
  for await (const page of recordsOf(ctx.api, subjects, { deleted })) {
    for (const { site_id, deleted_at } of page) {
      counts.set(site_id, (counts.get(site_id) ?? 0) + 1)
      if (deleted_at !== null) deletedCount += 1
    }
    yield page.map(record => ({ ...record, state: record.deleted_at === null ? 'live' : 'deleted' }))
  }
  await tellSites(ctx, counts, instanceLabel(ctx), deletedCount)
}

function listProfiles(ctx: Context): string[] {
  if (ctx.globals.baseUrl !== undefined || ctx.globals.profile !== undefined)
    throw usageError('--all-profiles searches the stored instances: it cannot be used with --base-url or --profile')
  const names = Object.keys(readConfiguration(ctx.globals, ctx.host).config.profiles)
  if (names.length > 0) return names
  throw usageError('no instance is stored', 'consentctl auth login --base-url https://…')
}

function searchAll(ctx: Context, names: readonly string[], subjects: readonly string[]) {
  const failures: Exit[] = []
  async function* pages(): AsyncGenerator<readonly FoundRow[]> {
    for (const profile of names) {
      try {
        for await (const page of held(ctx.withProfile(profile), subjects)) yield page.map(row => ({ profile, ...row }))
      } catch (error) {
        ctx.interruption.throwIfAborted()
        failures.push(exitOf(error))
        await report(ctx, error, `profile ${profile}`)
      }
    }
    if (failures.length > 0)
      await ctx.warn(
        `${formatCount(failures.length, 'instance')} of ${names.length} could not be searched, or not completely`,
      )
  }
  return { pages: pages(), exit: () => overallExit(names.length - failures.length, failures) }
}
