import type { Command } from 'commander'
import * as z from 'zod'
import { action, Count, collect, nonEmpty } from '../../cli/action.ts'
import { confirmOptions, mustPrompt, promptToConfirm } from '../../cli/confirm.ts'
import { addDryRunFlag, dryRunOption, dryRunOutput, viewUnlessDryRun } from '../../cli/dry-run.ts'
import { instanceLabel } from '../../cli/messages.ts'
import { one } from '../../cli/output.ts'
import { addSignInFlags, keyOrSignIn, signInOptions } from '../../cli/sign-in.ts'
import { findSite } from '../../cli/sites.ts'
import { startInstant } from '../../cli/time.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { type Notice, NoticeDraft, notices } from '../../contract/notices.ts'
import { describeRetention } from '../../contract/retention.ts'
import { isShorterThanNotice, type Site } from '../../contract/sites.ts'
import { PolicyVersion } from '../../contract/values.ts'
import { describeChanges, isSame, type Manifest } from '../../domain/notice-changes.ts'
import { dataError, usageError } from '../../errors/errors.ts'
import { noticeView } from '../../views/notice.ts'
import { parsePurposes, readTexts, type TextFile } from './files.ts'
import { addSiteFlag, listNotices, requireSite, siteOption } from './versions.ts'

const Options = z.strictObject({
  ...signInOptions,
  ...dryRunOption,
  ...siteOption,
  file: z.array(nonEmpty).min(1),
  lang: z.array(nonEmpty).default([]),
  purpose: z.array(nonEmpty).default([]),
  purposeIri: z.array(nonEmpty).default([]),
  controller: nonEmpty.optional(),
  validFor: nonEmpty.optional(),
  renewal: z.boolean().default(false),
  effectiveFrom: nonEmpty.optional(),
  policyVersion: Count.pipe(PolicyVersion).optional(),
  draft: z.literal(true).optional(),
  yes: confirmOptions.yes,
})
type Options = z.output<typeof Options>

export function publish(command: Command, ctx: Context): void {
  addSignInFlags(
    addDryRunFlag(
      addSiteFlag(command)
        .requiredOption('--file <path>', 'a text: .txt, .md, .html or .pdf; repeatable', collect)
        .option(
          '--lang <tag>',
          'language of a file, unless its name includes it (policy.de.md); repeat for each file',
          collect,
        )
        .option('--purpose <key=title>', 'a purpose by its key in preferences, or key@de=title; repeatable', collect)
        .option('--purpose-iri <key=iri>', 'IRI of a purpose in the W3C Data Privacy Vocabulary; repeatable', collect)
        .option('--controller <text>', 'name and contact details of the data controller')
        .option(
          '--valid-for <duration>',
          'how long a consent is valid, such as P1Y, or none (as in the previous version)',
        )
        .option('--renewal', 'invalidate consents to earlier versions')
        .option('--no-renewal', 'keep consents to earlier versions valid (the default)')
        .option('--effective-from <time>', 'when it takes effect (default: immediately)')
        .option('--policy-version <n>', 'the policy version (default: the next one)')
        .option('--draft', 'upload everything without publishing')
        .option('-y, --yes', 'skip the confirmation prompt'),
    ),
  )
    .description(`
Publishes the texts of a policy version, which cannot be changed later. If the texts and details equal those of the
newest version, nothing is published (exit 0), so a pipeline with a key of the scope notices can run this at each
push. The same command continues an interrupted upload. New records get the version from when it takes effect: for a
time in the future, run the command again then.

--valid-for counts from the newest answer of a record, for any of its purposes. Without it a version keeps the
validity of the version before; with --valid-for none consents do not expire.

Consents to earlier versions stay valid for the purposes that their own notice names, unless --renewal is given. A
renewal cannot be undone; a version without one can be followed by a version with one.

Examples:
  $ consentctl notices publish --site Shop --file policy.de.md --file policy.en.md --dry-run
  $ consentctl notices publish --site Shop --file terms.md --lang en --purpose marketing='News by e-mail' --yes`)
    .action(action(ctx, Options, viewUnlessDryRun(noticeView), run))
}

async function run(ctx: Context, options: Options) {
  const { email, passwordStdin, site: named, file, lang, draft: isDraft, dryRun, yes } = options
  const asks = !dryRun && !isDraft && mustPrompt(ctx, { yes }, { action: 'publish', isUncounted: true })
  const texts = await readTexts(file, lang)
  const given = toManifest(options, texts)
  const siteName = requireSite(ctx, named)
  const api = await keyOrSignIn(ctx, { email, passwordStdin })
  const site = await findSite(api, siteName)
  const all = await listNotices(ctx, api, site.id)
  const newest = all.find(({ state }) => state === 'published')
  const wanted = await keepValidity(ctx, options, all, given)
  const same = findSame(all, newest, wanted, options.policyVersion)
  if (same) return await repeat(ctx, { api, site, isDraft, dryRun }, same)
  const version = options.policyVersion ?? nextVersion(all, newest, site)
  const draft = all.find(({ policy_version }) => policy_version === version)
  await ctx.say(
    `version ${version} of ${site.name}${newest ? `, compared with version ${newest.policy_version}` : ''}:`,
  )
  for (const line of describeChanges(newest ?? null, wanted)) await ctx.say(`  ${line}`)
  await sayShorterRetention(ctx, site, wanted)
  const plan: Plan = { id: site.id, version, wanted, texts, draft }
  if (dryRun) return dryRunOutput(ctx, requestsOf(plan, isDraft))
  if (asks) {
    const question = { action: 'publish', noun: 'notice', where: instanceLabel(ctx) }
    await promptToConfirm(ctx, previewView, [preview(plan)], question)
  }
  const uploaded = await upload(ctx, api, plan)
  if (isDraft) {
    await ctx.say(
      `draft of version ${version} is on ${instanceLabel(ctx)}; publish it with the same command without --draft`,
    )
    return one(noticeView, uploaded, { mutates: true })
  }
  const params = { id: site.id, version: String(version) }
  const published = await api.call(notices.publish, { params, body: { revision: uploaded.revision } })
  await ctx.say(`published version ${version} of ${site.name} on ${instanceLabel(ctx)}`)
  await saySiteVersion(ctx, api, site, published)
  return one(noticeView, published, { mutates: true })
}

/** @throws CliError (usage) */
function toManifest(options: Options, texts: readonly TextFile[]): Manifest {
  const { purpose, purposeIri, controller = null, validFor = null, renewal, effectiveFrom } = options
  const details = {
    purposes: parsePurposes(purpose, purposeIri, texts),
    controller,
    valid_for: validFor === 'none' ? null : validFor,
    requires_renewal: renewal,
    effective_from:
      effectiveFrom === undefined ? null : new Date(startInstant(effectiveFrom, new Date())).toISOString(),
  }
  const { error } = NoticeDraft.safeParse(details)
  const issue = error?.issues[0]
  if (issue) throw usageError(`--${String(issue.path[0]).replaceAll('_', '-')}: ${issue.message}`)
  return { texts: texts.map(({ bytes: _, ...text }) => text), ...details }
}

/** Without --valid-for, a new text must not make consents unlimited. */
async function keepValidity(
  ctx: Context,
  { validFor, policyVersion = Number.POSITIVE_INFINITY }: Options,
  all: readonly Notice[],
  wanted: Manifest,
): Promise<Manifest> {
  const before = all.find(({ state, policy_version }) => state === 'published' && policy_version <= policyVersion)
  if (validFor !== undefined || !before?.valid_for) return wanted
  const { valid_for, policy_version } = before
  await ctx.say(
    `a consent is valid for ${valid_for}, as in version ${policy_version}: --valid-for changes it, and none ends it`,
  )
  return { ...wanted, valid_for }
}

/** @throws CliError `invalid_data` (exit 5) for a published version with other content */
function findSame(
  all: readonly Notice[],
  newest: Notice | undefined,
  wanted: Manifest,
  version: number | undefined,
): Notice | undefined {
  const published = version === undefined ? newest : all.find(each => each.policy_version === version)
  if (published?.state !== 'published') return undefined
  if (isSame(published, wanted)) return published
  if (version === undefined) return undefined
  throw dataError(
    `version ${version} is published and says something else: nothing can change it`,
    `see consentctl notices list; leave --policy-version out for the next one`,
  )
}

/** Returns a draft's version, else the next one, at least the version in use. */
function nextVersion(all: readonly Notice[], newest: Notice | undefined, site: Site): number {
  const last = newest?.policy_version ?? 0
  const draft = all.findLast(({ state, policy_version }) => state === 'draft' && policy_version > last)
  return draft?.policy_version ?? Math.max(last + 1, site.policy_version)
}

interface Repeat extends Pick<Options, 'dryRun'> {
  readonly api: Client
  readonly site: Site
  readonly isDraft: true | undefined
}

/** Completes a publication that was interrupted, or that has taken effect since. */
async function repeat(ctx: Context, { api, site, isDraft, dryRun }: Repeat, same: Notice) {
  const { policy_version: version, revision, leaf_index } = same
  const isComplete = isDraft || (leaf_index !== null && !canRaise(site, same))
  const rest = isComplete ? ': there is nothing to publish' : ', and is published'
  await ctx.say(`version ${version} of ${site.name} has the same content${rest}`)
  const publication = publicationOf(site.id, version)
  if (dryRun) return dryRunOutput(ctx, isComplete ? [] : [publication])
  const { endpoint, params } = publication
  const completed = isComplete ? same : await api.call(endpoint, { params, body: { revision } })
  await saySiteVersion(ctx, api, site, completed)
  return one(noticeView, completed, { mutates: true })
}

function canRaise(site: Site, { policy_version, effective_from }: Notice): boolean {
  return site.policy_version < policy_version && (effective_from === null || Date.parse(effective_from) <= Date.now())
}

async function saySiteVersion(ctx: Context, api: Client, before: Site, notice: Notice): Promise<void> {
  const { policy_version: version, effective_from } = notice
  if (before.policy_version >= version) return
  const { name, policy_version: present } = await findSite(api, before.id)
  if (present >= version) return await ctx.say(`new records of ${name} have policy version ${present} from now on`)
  const then = canRaise(before, notice)
    ? `consentctl sites update ${before.id} --policy-version ${version} changes it`
    : `run the same command again at ${effective_from}, because ${notice.requires_renewal ? 'consents to that version stop counting then' : 'it does not change by itself'}`
  await ctx.say(`new records of ${name} still have policy version ${present}: ${then}`)
}

async function sayShorterRetention({ say }: Context, site: Site, { valid_for: validFor }: Manifest): Promise<void> {
  const { name, retention } = site
  if (retention === null || !isShorterThanNotice(retention, validFor)) return
  const validity = validFor === null ? 'do not expire' : `are valid for ${validFor}`
  await say(
    `note: consents to it ${validity}, and ${name} deletes records ${describeRetention(retention)}: a consent is kept until it has ended`,
  )
}

interface Plan {
  readonly id: string
  readonly version: number
  readonly wanted: Manifest
  readonly texts: readonly TextFile[]
  readonly draft: Notice | undefined
}

function findDifference({ id, version, wanted, texts, draft }: Plan) {
  const present = draft?.texts ?? []
  const isPresent = ({ language, sha256, media_type: type }: TextFile) =>
    present.some(text => text.language === language && text.sha256 === sha256 && text.media_type === type)
  const { texts: _, ...details } = wanted
  return {
    params: { id, version: String(version) },
    excess: present.filter(({ language }) => !texts.some(text => text.language === language)),
    details,
    missing: texts.filter(text => !isPresent(text)),
  }
}

function requestsOf(plan: Plan, isDraft: true | undefined): Parameters<typeof dryRunOutput>[1] {
  const { params, excess, details, missing } = findDifference(plan)
  return [
    ...excess.map(({ language }) => ({ endpoint: notices.removeText, params: { ...params, language } })),
    { endpoint: notices.put, params, body: details },
    ...missing.map(({ bytes: _, language, ...body }) => ({
      endpoint: notices.putText,
      params: { ...params, language },
      body,
    })),
    ...(isDraft ? [] : [publicationOf(plan.id, plan.version)]),
  ]
}

function publicationOf(id: string, version: number) {
  return { endpoint: notices.publish, params: { id, version: String(version) }, body: {} }
}

/** The last response is the whole draft, because removals are sent first. */
async function upload(ctx: Context, api: Client, plan: Plan): Promise<Notice> {
  const { params, excess, details, missing } = findDifference(plan)
  for (const { language } of excess) await api.call(notices.removeText, { params: { ...params, language } })
  let notice = await api.call(notices.put, { params, body: details })
  for (const { language, media_type: type, bytes } of missing) {
    notice = await api.call(notices.putText, { params: { ...params, language }, upload: { bytes, type } })
    await ctx.say(`uploaded the text ${language}`)
  }
  if (isSame(notice, plan.wanted)) return notice
  throw dataError('the draft was changed by another user during the upload', 'run the command again')
}

/** Details that the lines above do not show. */
const previewed = ['policy_version', 'valid_for', 'requires_renewal', 'effective_from']
const previewView = {
  ...noticeView,
  columns: noticeView.columns.filter(({ name }) => previewed.includes(name)),
}

function preview({ id, version, wanted, draft }: Plan): Notice {
  const at = new Date().toISOString()
  return {
    ...wanted,
    site_id: id,
    policy_version: version,
    state: 'draft',
    revision: draft?.revision ?? 1,
    created_at: draft?.created_at ?? at,
    updated_at: draft?.updated_at ?? at,
    published_at: null,
    published_entry: null,
    leaf_index: null,
  }
}
