import type { Command } from 'commander'
import * as z from 'zod'
import { action, fileAction, flagOf, nonEmpty } from '../../cli/action.ts'
import { callOptional, instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { siteIdOf } from '../../cli/sites.ts'
import { readSubjects, Subject } from '../../cli/subjects.ts'
import { pastInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { type CheckAnswer, check as route } from '../../contract/check.ts'
import { text } from '../../contract/values.ts'
import { CliError, type Exit, exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { checkView, describeCheck } from '../../views/check.ts'

const common = {
  purpose: text(1, 255),
  site: nonEmpty.optional(),
  at: nonEmpty.optional(),
  onlyWitnessed: z.literal(true).optional(),
}

const Options = z.strictObject({ ...common, operands: z.array(Subject, 'is missing') })

const listFlags = {
  column: nonEmpty.optional(),
  format: z.enum(['csv', 'tsv', 'ndjson', 'lines'], 'must be csv, tsv, ndjson or lines').optional(),
  csvUnguard: z.literal(true).optional(),
  unknown: z.enum(['stop', 'allow'], 'must be stop or allow').optional(),
  stoppedOut: nonEmpty.optional(),
  receiptOut: nonEmpty.optional(),
  validFor: nonEmpty.optional(),
}

const ListOptions = z.strictObject({ ...common, file: nonEmpty, ...listFlags })

export function check(command: Command, ctx: Context): void {
  const single = action(ctx, Options, checkView, run)
  const ofList = fileAction(ctx, ListOptions, runList, ['--force'])
  command
    .argument('[id]', 'identifier of the data subject, exactly as stored; - reads it from standard input')
    .requiredOption('--purpose <name>', 'the purpose: a key of the preferences, such as marketing')
    .option('--site <site>', 'only records of this site')
    .option('--at <time>', 'the state at this time: RFC 3339, 2026-01-31 (end of day, UTC), 7d or 24h ago')
    .option('--file <path|->', 'check every line of a list, and write those that are allowed to --out')
    .option('--column <name>', 'column or field of the list with the identifier (subject_id)')
    .option('--stopped-out <path>', 'write the other lines to a new file')
    .option('--receipt-out <path>', 'write a signed receipt to a new file')
    .option('--valid-for <duration>', 'how long the receipt is valid (24h)')
    .option('--unknown <stop|allow>', 'what to do with persons of whom nothing is known (stop)')
    .option('--format <csv|tsv|ndjson|lines>', 'format of the list (from its name; else csv with --column, or lines)')
    .option('--csv-unguard', "remove the ' that guards cells beginning with = + - @ in CSV")
    .option('--only-witnessed', 'ignore imported answers')
    .description(`
Exit codes: 0 yes, 10 no, 3 unknown (no record, or none with an answer for the purpose); errors have other codes.
The reason and the record go to standard output, a sentence to standard error.

On each site the live record that the person answered last counts; without --site, the newest of these that names the
purpose.
The answer is yes if the record is accepted, with true for the purpose, has not expired, and no newer notice requires
a renewal. Not every instance can check (exit 2, not_offered).

An imported record counts if its answer was given, as reported by the importer, after the others of the site were last
created or updated; the sentence and the field witnessed say so. Once its acceptance or its answer for the
purpose was changed here, it counts like the others.

With --file, each line goes unchanged to --out or --stopped-out, in its order and with the header in both. Exit codes:
0 all are allowed, 10 some are stopped, 8 some have no identifier or cannot be read (they are stopped), 5 the list
cannot be read. The files appear complete or not at all. With --out - (standard output), wait for the exit code.
Identifiers are compared exactly; near matches are named, and never taken for a match. The receipt has no identifier:
"consentctl verify RECEIPT --list FILE" says if a file is the list that it allows, and if it is still valid.

Examples:
  $ consentctl check maria@example.com --purpose marketing
  $ consentctl check maria@example.com --purpose marketing --at 2026-03-03T10:00:00Z
  $ echo maria@example.com | consentctl check - --purpose marketing -o json
  $ consentctl check --file list.csv --column email --purpose marketing --out allowed.csv --stopped-out stopped.csv
  $ consentctl check --file list.txt --purpose marketing --out allowed.txt --receipt-out gate.json`)
    .action(async function (this: Command) {
      const options = this.opts()
      if (options['file'] !== undefined) {
        if (this.args.length > 0) throw usageError('an identifier cannot be given with --file')
        return await ofList.call(this)
      }
      const flag = Object.keys(listFlags).find(name => options[name] !== undefined)
      if (flag !== undefined) throw usageError(`--${flagOf(flag)} requires --file`)
      await single.call(this)
    })
}

async function runList(ctx: Context, options: z.output<typeof ListOptions>, out: string): Promise<void> {
  const { checkList } = await import('./list.ts')
  await checkList(ctx, options, out)
}

async function run(ctx: Context, { operands, purpose, site, at, onlyWitnessed }: z.output<typeof Options>) {
  const [subject_id = '', ...others] = await readSubjects(ctx, operands)
  if (others.length > 0) throw usageError('standard input has several identifiers, but check accepts one')
  const then = at === undefined ? undefined : pastInstant(at, new Date())
  if (then !== undefined && ctx.globals.verbose) await ctx.warn(`* --at ${then}`)
  const answer = await neverNotFound(async () => {
    const site_id = site === undefined ? undefined : await siteIdOf(ctx, site)
    const query = { subject_id, purpose, site_id, at: then, only_witnessed: onlyWitnessed }
    const call = () => ctx.api.call(route, { query })
    const ask = onlyWitnessed ? () => callOptional(ctx.api, route, call, noImports) : call
    const answer = await callOptional(ctx.api, route, ask, {
      message: `${instanceLabel(ctx)} cannot check consents`,
      hint: 'consentctl list --subject ID shows the records',
    })
    if (onlyWitnessed && answer.record !== null && answer.witnessed !== true)
      throw new CliError('not_offered', exit.usage, noImports.message, noImports)
    return answer
  })
  const footer = () => ctx.say(describeCheck(answer, { onlyWitnessed: onlyWitnessed === true }))
  return one(checkView, answer, { footer, exit: () => exitFor(answer) })
}

/** Without this parameter, imported answers would count. */
const noImports = {
  parameter: 'only_witnessed',
  message: 'this instance does not distinguish imported answers',
  hint: 'omit --only-witnessed: without imports it has no effect',
}

function exitFor({ allowed }: CheckAnswer): Exit {
  if (allowed === null) return exit.notFound
  return allowed ? exit.done : exit.no
}

/** Exit 3 is an answer of this command, so errors need a different code. */
async function neverNotFound<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (exitOf(error) !== exit.notFound) throw error
    throw new CliError('unexpected_answer', exit.usage, 'the instance did not find its own route for checks', {
      hint: 'check the address of the instance: consentctl config list',
      cause: error,
    })
  }
}
