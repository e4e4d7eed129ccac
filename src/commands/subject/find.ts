import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { overallExit } from '../../cli/ids.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import { many } from '../../cli/output.ts'
import {
  addAlsoFlag,
  addRequestFlag,
  alsoOption,
  readPerson,
  requestOption,
  Subject,
  tellSites,
} from '../../cli/subjects.ts'
import type { Context } from '../../context.ts'
import { countNearMatches, findNearMatches, type NearMatch, recordsOf, showsDeleted } from '../../erasure/records.ts'
import { CliError, type Exit, exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { report } from '../../errors/report.ts'
import { readConfiguration } from '../../settings/settings.ts'
import { type FoundRow, foundViewWith } from '../../views/subject.ts'
import { formatNear, tellNearMatches, tellProofs, tellUnfound } from './near.ts'

const Options = z.strictObject({
  ...alsoOption,
  ...requestOption,
  operands: z.array(Subject).max(1).default([]),
  allProfiles: z.literal(true).optional(),
  like: z.literal(true).optional(),
})

export function find(command: Command, ctx: Context): void {
  addRequestFlag(addAlsoFlag(command.argument('[id]', 'identifier of the data subject, exactly as stored')))
    .option('--all-profiles', 'search every stored instance, each with its own key')
    .option('--like', 'also find identifiers that differ only in case, surrounding blanks or Unicode form')
    .description(`
Includes deleted records that are not purged yet, if the instance shows them. Counts by site go to stderr. If an
instance fails, it is reported and the others are searched (exit 8). Use - as the identifier to read all
identifiers of the person from stdin, one per line.

Sealed proofs that purges left of exactly this person are listed on stderr, with site, end and basis; subject export
also has their answers.

Near matches are counted on stderr. With --like they are listed too: the column match is exact or near, and stderr
lists each near match. Not every instance supports this (exit 2, not_offered).

Examples:
  $ consentctl subject find maria@example.com
  $ consentctl subject find maria@example.com --like
  $ consentctl subject find --request DSR-7
  $ consentctl subject find maria@example.com --also customer-4711 --all-profiles -o csv`)
    .action(
      action(ctx, Options, viewOf, async (_, options) => {
        const { operands, allProfiles, like = false } = options
        const { subjects } = await readPerson(ctx, operands, options)
        const search = { subjects, like, found: new Set<string | null>() }
        const { pages, exit } = allProfiles
          ? searchAll(ctx, listProfiles(ctx), search)
          : { pages: held(ctx, search), exit: undefined }
        const footer = () => tellUnfound(ctx, subjects, search.found)
        return many(viewOf(options), pages, { footer, ...(exit && { exit }) })
      }),
    )
}

const viewOf = ({ allProfiles, like }: z.output<typeof Options>) =>
  foundViewWith({ profile: allProfiles === true, match: like === true })

interface Search {
  readonly subjects: readonly string[]
  readonly like: boolean
  /** Identifiers with a record in any instance. */
  readonly found: Set<string | null>
}

async function* held(ctx: Context, { subjects, like, found }: Search): AsyncGenerator<readonly FoundRow[]> {
  const near = like ? await requireNearMatches(ctx, subjects) : []
  const unlisted = like ? null : await countNearMatches(ctx.api, subjects)
  const deleted = await showsDeleted(ctx.api)
  const counts = new Map<string | null, number>()
  let deletedCount = 0
  const given = new Set<string | null>(subjects)
  const all = [...subjects, ...near.map(({ subject_id }) => subject_id)]
  for await (const page of recordsOf(ctx.api, all, { deleted })) {
    for (const { site_id, subject_id, deleted_at } of page) {
      found.add(subject_id)
      counts.set(site_id, (counts.get(site_id) ?? 0) + 1)
      if (deleted_at !== null) deletedCount += 1
    }
    yield page.map(record => ({
      ...record,
      state: record.deleted_at === null ? 'live' : 'deleted',
      ...(like && { match: given.has(record.subject_id) ? 'exact' : 'near' }),
    }))
  }
  await tellNearMatches(ctx, near)
  await tellSites(ctx, counts, instanceLabel(ctx), deletedCount)
  if (unlisted) await ctx.say(`${formatNear(unlisted)}, with another case, blanks or Unicode form: --like`)
  await tellProofs(ctx, subjects)
}

async function requireNearMatches(ctx: Context, subjects: readonly string[]): Promise<NearMatch[]> {
  const near = await findNearMatches(ctx.api, subjects)
  if (near !== null) return near
  const hint = 'remove --like, and try other spellings with --also'
  throw new CliError('not_offered', exit.usage, 'this instance cannot find near matches', { hint })
}

function listProfiles(ctx: Context): string[] {
  if (ctx.globals.baseUrl !== undefined || ctx.globals.profile !== undefined)
    throw usageError('--all-profiles searches the stored instances: it cannot be used with --base-url or --profile')
  const names = Object.keys(readConfiguration(ctx.globals, ctx.host).config.profiles)
  if (names.length > 0) return names
  throw usageError('no instance is configured', 'consentctl auth login --base-url https://…')
}

function searchAll(ctx: Context, names: readonly string[], search: Search) {
  const failures: Exit[] = []
  async function* pages(): AsyncGenerator<readonly FoundRow[]> {
    for (const profile of names) {
      try {
        for await (const page of held(ctx.withProfile(profile), search)) yield page.map(row => ({ profile, ...row }))
      } catch (error) {
        ctx.interruption.throwIfAborted()
        failures.push(exitOf(error))
        await report(ctx, error, `profile ${profile}`)
      }
    }
    if (failures.length > 0)
      await ctx.warn(`${formatCount(failures.length, 'instance')} of ${names.length} could not be searched completely`)
  }
  return { pages: pages(), exit: () => overallExit(names.length - failures.length, failures) }
}
