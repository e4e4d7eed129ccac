import { resolve } from 'node:path'
import type { Command } from 'commander'
import { action } from '../../cli/action.ts'
import { mustPrompt } from '../../cli/confirm.ts'
import { instanceLabel, subjectCommand } from '../../cli/messages.ts'
import { many, type Output, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { type ExportFiles, openExport, writeExport } from '../../erasure/export.ts'
import { unfinishedJobs } from '../../erasure/journals.ts'
import { type KnownPlan, readPlan, requireAsPlanned } from '../../erasure/plan.ts'
import { usageError } from '../../errors/errors.ts'
import { openOutFile } from '../../io/new-file.ts'
import { requireBaseUrl } from '../../settings/settings.ts'
import { erasureView } from '../../views/subject.ts'
import { begin, headerOf } from './erase-begin.ts'
import { EraseOptions, eraseFlags, type Request, requestOf } from './erase-options.ts'
import { type Found, lookUp, planOf, review } from './erase-plan.ts'
import { readsInput, tellSites } from './subjects.ts'

/** `subject erase`: find, plan, review, confirm, delete, verify, receipt. */
export function erase(command: Command, ctx: Context): void {
  eraseFlags(command.argument('[id]', 'the identifier of the data subject, exactly as it was stored'))
    .addHelpText('after', eraseHelp)
    .action(
      action(ctx, EraseOptions, erasureView, async (_, options) => {
        requireApart(ctx, options)
        const said = await requestOf(ctx, options)
        const isInputTaken = readsInput(options.operands, options.also)
        const asks =
          !options.dryRun &&
          !options.planOut &&
          mustPrompt(ctx, options, { action: 'erase', stdinInUse: isInputTaken })
        const given = options.apply === undefined ? null : await readPlan(options.apply)
        const request = said ?? (given as KnownPlan).plan
        await tellUnfinished(ctx, request.subjects)
        if (given) requireInstance(ctx, given)
        if (options.planOut) return await writePlan(ctx, request, options.planOut)
        const files = options.exportFirst ? await openExport(options.exportFirst, '--export-first') : null
        let isExported = false
        try {
          const found = await lookUp(ctx, request.subjects, given === null && files === null)
          if (given) requireAsPlanned(given.plan, found.records ?? [])
          if (options.dryRun) return await rehearse(ctx, found)
          await review(ctx, found, { asks, sure: options, subjects: request.subjects })
          const exported = files && (await exportFirst(ctx, files, request, found))
          isExported = true
          const plan = found.records && (given ?? planOf(ctx, request, found.records))
          const header = headerOf(ctx, request, { plan, given, found, exported, options })
          return await begin(ctx, header, found)
        } finally {
          if (files && !isExported)
            await Promise.all([files.file.abandon(false), files.manifest.abandon(false)])
        }
      }),
    )
}

const eraseHelp = `
Finds what is live, shows it, asks, deletes exactly that, looks again, and makes a signed receipt. It may be
killed at any step: consentctl subject resume goes on, and there is one receipt. That nothing is held is a
receipt too. New records that came meanwhile are told (exit 8). With --plan-out one person makes the plan,
and another, or a pipeline, carries it out with --apply; a record that was changed, added or is gone since
then ends it before anything is done (exit 10). The plan names the subject in clear. Instead of the
identifier - takes those of the person from stdin, one a line.

Where the month's quota ends on the way, a service that can erase a subject itself does the rest, if it holds
just as many records as are left (exit 10 if not). With --apply or --confirm that is never done: it stops
(exit 6), and resume goes on, record by record, in the next month.

Examples:
  $ consentctl subject erase maria@example.com --ticket DSR-7 --received 2026-01-31
  $ consentctl subject erase maria@example.com --ticket DSR-7 --plan-out plan.json
  $ consentctl subject erase --apply plan.json --confirm 3`

/** Two jobs about one person would each prove a part. */
async function tellUnfinished(ctx: Context, subjects: readonly string[]): Promise<void> {
  for (const { job, ticket, subjects: others } of await unfinishedJobs(ctx)) {
    if (!others.some(each => subjects.includes(each))) continue
    await ctx.warn(
      `an erasure of this person (${ticket}) is not finished: ${subjectCommand(ctx, 'resume', job)}`,
    )
  }
}

/** What is found to be taken only when it gets its name is found after the erasure. */
function requireApart({ globals }: Context, { exportFirst, planOut }: EraseOptions): void {
  const exported = exportFirst === undefined ? [] : [exportFirst, `${exportFirst}.manifest.json`]
  const files = [globals.out ?? [], planOut ?? [], exported].flat().map(file => resolve(file))
  if (new Set(files).size === files.length) return
  throw usageError('two files to be written have one name', 'give --out another one')
}

function requireInstance({ settings }: Context, { plan }: KnownPlan): void {
  const here = requireBaseUrl(settings)
  if (here === plan.instance) return
  throw usageError(`the plan is for ${plan.instance}, and not for ${here}`, `--base-url ${plan.instance}`)
}

async function writePlan(ctx: Context, request: Request, path: string): Promise<Output<unknown>> {
  const file = await openOutFile(path, '--plan-out')
  let isWhole = false
  try {
    const found = await lookUp(ctx, request.subjects, false)
    const known = planOf(ctx, request, found.records ?? [])
    await file.write(known.text)
    await file.commit()
    isWhole = true
    const output = await rehearse(ctx, found)
    const command = subjectCommand(ctx, 'erase', '--apply', path, '--confirm', String(found.total))
    await ctx.say(`wrote ${path}; to carry it out: ${command}`)
    return output
  } finally {
    if (!isWhole) await file.abandon(false)
  }
}

/** What would go, as rows. */
async function rehearse(ctx: Context, { records, counts }: Found): Promise<Output<unknown>> {
  await tellSites(ctx, counts, instanceLabel(ctx))
  await ctx.say('nothing was deleted')
  const rows = (records ?? []).map(({ id, site_id }) => ({ id, site_id, ...planned }))
  return many(erasureView, pagesOf(rows)) as Output<unknown>
}

const planned = { result: 'planned', deleted_at: null, request_id: null } as const

async function exportFirst(
  ctx: Context,
  files: ExportFiles,
  { subjects }: Request,
  { records }: Found,
): Promise<string> {
  const { sha256 } = await writeExport(ctx, files, subjects, pagesOf(records ?? []))
  await ctx.say(`wrote ${files.path} and ${files.path}.manifest.json`)
  return sha256
}
