import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel, quoteForShell } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { siteIdOf } from '../../cli/sites.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import { Explained, exit, usageError } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { nameOf, readChunks } from '../../io/input.ts'
import { canPrompt, declinedError, prompt } from '../../io/prompt.ts'
import { consentView, lineView } from '../../views/consent.ts'
import { addCreateFlags, createFlagOptions, formatOf, toCreateOptions } from './bulk/options.ts'
import { circumstanceFlags, circumstanceOptions, circumstancesOf } from './circumstances.ts'
import { acceptance, acceptanceFlags, acceptedOf, preferencesOf } from './fields.ts'

const Options = z.strictObject({
  ...acceptance,
  site: nonEmpty.optional(),
  consentId: nonEmpty.optional(),
  subject: nonEmpty.optional(),
  policyVersion: z
    .string()
    .regex(/^\d{1,10}$/, 'must be a whole number from 1')
    .transform(Number)
    .optional(),
  ipAddress: nonEmpty.optional(),
  userAgent: z.string().optional(),
  noticeLocale: nonEmpty.optional(),
  ...circumstanceOptions,
  ...createFlagOptions,
})

type Fields = z.output<typeof Options>

const help = `
Without --accepted or --refused the record says "not accepted". Without any option, on a terminal, it prompts for the
subject and the answer.

The flags from --method to --note tell how the answer was given, which the history and receipts then state.

With --file each line is a JSON object with the fields of a new record: site_id, consent_id, subject_id,
accepted, preferences, policy_version, ip_address, user_agent, notice_locale, circumstances. A CSV has these
columns: preferences and circumstances contain a JSON object, pref.NAME one preference, typed as with --pref,
circumstances.method and the like one circumstance; an empty cell is a missing field. For a CSV with other columns --map-out writes a map to edit, and --map uses it.

A file is validated before anything is sent. Results are printed in the order of the lines. --resume continues
a job that was stopped or killed: it retries failed lines, and creates no record twice. "--resume last" is the
newest unfinished job of the current profile and instance. Standard input cannot be resumed. Exit code 8: some
lines were rejected, or not all are created yet. 11: none was rejected, but some responses were lost.

Examples:
  $ consentctl create --site Shop --subject maria@example.com --accepted --pref marketing=true
  $ consentctl create --site 0190… --file consents.ndjson --failed-out failed.ndjson
  $ consentctl create --file export.csv --map 'subject_id=E-Mail,accepted=Status' --false Rejected
  $ consentctl create --resume last`

const viewOf = ({ file, resume, dryRun }: Fields) =>
  (file ?? resume) !== undefined ? lineView : viewUnlessDryRun(consentView)({ dryRun })

export function create(command: Command, ctx: Context): void {
  const first = command
    .option('--site <site>', 'site of the record, by name or id')
    .option('--subject <id>', 'identifier of the data subject')
  const flags = acceptanceFlags(first)
    .option('--consent-id <label>', 'your own label for the record')
    .option('--policy-version <n>', 'policy version (default: the site’s current one)')
    .option('--ip-address <address>', 'IP address of the subject; stored, but never shown again')
    .option('--user-agent <text>', 'user agent of the subject’s browser')
    .option('--notice-locale <tag>', 'language of the notice that was shown, such as de')
  addCreateFlags(circumstanceFlags(flags))
    .description(help)
    .action(action(ctx, Options, viewOf, run))
}

const recordFields = [
  ...(Object.keys(acceptance) as (keyof typeof acceptance)[]),
  ...(['site', 'consentId', 'subject', 'policyVersion', 'ipAddress', 'userAgent', 'noticeLocale'] as const),
  ...(Object.keys(circumstanceOptions) as (keyof typeof circumstanceOptions)[]),
]

/**
 * A create without fields would store a refusal without a subject.
 * @throws CliError (usage) if prompting is impossible
 */
async function askForFields({ io, interruption }: Context): Promise<Pick<Fields, 'subject' | 'accepted' | 'refused'>> {
  if (!canPrompt(io)) throw usageError('--subject is missing', 'use --subject ID with --accepted or --refused')
  const subject = (await prompt(io, 'Subject (whose consent it is): ', interruption)).trim()
  if (subject === '') throw declinedError('no subject was given')
  const answer = (await prompt(io, 'Did they accept? [y/n] ', interruption)).trim()
  if (/^y(es)?$/i.test(answer)) return { subject, accepted: true }
  if (/^no?$/i.test(answer)) return { subject, refused: true }
  throw declinedError('the answer is neither y nor n')
}

async function writeMapOut(ctx: Context, { file, ...flags }: Fields, path: string): Promise<undefined> {
  if (file === undefined) throw usageError('--map-out requires --file')
  const format = flags.format ?? formatOf(file)
  if (format === 'ndjson')
    throw usageError('--map-out works only with CSV and TSV', 'if the file is CSV, use --format csv')
  const [{ newRecords }, { describeMap, writeMap }] = await Promise.all([
    import('./bulk/creates.ts'),
    import('./map-out.ts'),
  ])
  const source = {
    name: nameOf(file),
    chunks: readChunks(ctx.io, file),
    delimiter: format === 'tsv' ? ('\t' as const) : undefined,
  }
  const map = await writeMap({ ...source, path, fields: newRecords.fields, isImport: false })
  for (const line of describeMap(map, path, nameOf(file))) await ctx.say(line)
  if (map.fields['accepted'] === null) await ctx.warn('no column looks like an answer: map one to "accepted"')
  const command = ['consentctl', 'create', '--file', file, '--map', path, '--dry-run'].map(quoteForShell).join(' ')
  await ctx.say(`edit it, then: ${command}`)
}

/** Here only an unknown site causes a 404. */
function blameDefaultSite({ settings: { site, profile } }: Context, error: unknown): unknown {
  if (site === null || exitOf(error) !== exit.notFound) return error
  const isOfProfile = site.source.startsWith('profile ')
  const change = isOfProfile
    ? `consentctl config set site SITE -p ${profile.value}`
    : `set ${site.source} to another site`
  return new Explained(error, {
    why: `the site ${site.value} came from ${isOfProfile ? `the ${site.source}` : site.source}`,
    hint: `${change}; consentctl sites list shows them`,
  })
}

async function run(ctx: Context, options: Fields) {
  const imported = toCreateOptions(options, ctx.settings.site?.value)
  if (imported && options.mapOut !== undefined) return await writeMapOut(ctx, options, options.mapOut)
  if (imported) {
    const { runLineJob } = await import('./bulk/run.ts')
    const { site } = imported
    return runLineJob(ctx, { ...imported, site: site && (await siteIdOf(ctx, site)) })
  }
  const { site = ctx.settings.site?.value, ...given } = options
  if (!site) throw usageError('--site is missing', 'use --site, CONSENTCTL_SITE, or consentctl config set site SITE')
  const isBare = recordFields.every(name => options[name] === undefined)
  const fields = isBare ? { ...given, ...(await askForFields(ctx)) } : given
  const body = {
    site_id: site,
    consent_id: fields.consentId,
    subject_id: fields.subject,
    accepted: acceptedOf(fields),
    preferences: await preferencesOf(ctx.io, fields),
    policy_version: fields.policyVersion,
    ip_address: fields.ipAddress,
    user_agent: fields.userAgent,
    notice_locale: fields.noticeLocale,
    circumstances: circumstancesOf(fields),
  }
  body.site_id = await siteIdOf(ctx, site)
  if (body.accepted === undefined && ctx.io.err.isTerminal)
    await ctx.say('note: without --accepted or --refused the record says "not accepted"')
  if (fields.dryRun) return dryRunOutput(ctx, [{ endpoint: consents.create, body }])
  const record = await ctx.api.consents.create({ body }).catch(error => {
    throw options.site === undefined ? blameDefaultSite(ctx, error) : error
  })
  await ctx.say(`created 1 record on ${instanceLabel(ctx)}`)
  return one(consentView, record, { mutates: true })
}
