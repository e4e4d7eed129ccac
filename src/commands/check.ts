import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../cli/action.ts'
import { callOptional, instanceLabel } from '../cli/messages.ts'
import { one } from '../cli/output.ts'
import { siteIdOf } from '../cli/sites.ts'
import { readSubjects, Subject } from '../cli/subjects.ts'
import { pastInstant } from '../cli/time.ts'
import type { Context } from '../context.ts'
import { type CheckAnswer, check as route } from '../contract/check.ts'
import { text } from '../contract/values.ts'
import { CliError, type Exit, exit, usageError } from '../errors/errors.ts'
import { exitOf } from '../errors/explain.ts'
import { checkView, describeCheck } from '../views/check.ts'

const Options = z.strictObject({
  operands: z.array(Subject).length(1, 'is missing'),
  purpose: text(1, 255),
  site: nonEmpty.optional(),
  at: nonEmpty.optional(),
  onlyWitnessed: z.literal(true).optional(),
})

export function check(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'identifier of the data subject, exactly as stored; - reads it from standard input')
    .requiredOption('--purpose <name>', 'the purpose: a key of the preferences, such as marketing')
    .option('--site <site>', 'only records of this site')
    .option('--at <time>', 'the state at this time: RFC 3339, 2026-01-31 (end of day, UTC), 7d or 24h ago')
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

Examples:
  $ consentctl check maria@example.com --purpose marketing
  $ consentctl check maria@example.com --purpose marketing --at 2026-03-03T10:00:00Z
  $ echo maria@example.com | consentctl check - --purpose marketing -o json`)
    .action(action(ctx, Options, checkView, run))
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
