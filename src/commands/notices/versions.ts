import type { Command } from 'commander'
import { nonEmpty } from '../../cli/action.ts'
import { callOptional, instanceLabel } from '../../cli/messages.ts'
import { siteIdOf } from '../../cli/sites.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { canonicalLanguage } from '../../contract/languages.ts'
import { type Notice, notices } from '../../contract/notices.ts'
import { PolicyVersion } from '../../contract/values.ts'
import { CliError, exit, usageError } from '../../errors/errors.ts'
import { sha256 } from '../../evidence/bytes.ts'

export const siteOption = { site: nonEmpty.optional() }

export function addSiteFlag(command: Command): Command {
  return command.option('--site <site>', 'name or id of the site (the profile’s site)')
}

/** @throws CliError (usage) */
export function requireSite({ settings }: Context, site = settings.site?.value): string {
  if (site !== undefined) return site
  throw usageError('no site is set', 'use --site NAME')
}

/** Newest first. @throws CliError `not_offered` (exit 2) */
export async function listNotices(ctx: Context, api: Client, siteId: string): Promise<readonly Notice[]> {
  const call = () => api.call(notices.list, { params: { id: siteId } })
  const { data } = await callOptional(api, notices.list, call, {
    message: `${instanceLabel(ctx)} keeps no notices`,
    hint: 'the texts of a policy version are then kept elsewhere',
  })
  return data
}

export async function noticesOf(ctx: Context, api: Client, site: string | undefined): Promise<readonly Notice[]> {
  return await listNotices(ctx, api, await siteIdOf({ api, say: ctx.say }, requireSite(ctx, site)))
}

/** @throws CliError `not_found` (exit 3) */
export function findVersion(all: readonly Notice[], version: number): Notice {
  const found = all.find(({ policy_version }) => policy_version === version)
  if (found) return found
  throw new CliError('not_found', exit.notFound, `the site has no notice of version ${version}`, {
    hint: 'consentctl notices list',
  })
}

export function parseVersion(text: string): number {
  const parsed = PolicyVersion.safeParse(/^\d{1,10}$/.test(text) ? Number(text) : Number.NaN)
  if (parsed.success) return parsed.data
  throw usageError(`"${text}" is not a policy version`, 'use a number from 1, see consentctl notices list')
}

export function requireLanguage(text: string): string {
  const language = canonicalLanguage(text)
  if (language !== null) return language
  throw usageError(`"${text}" is not a language`, 'use a BCP 47 tag, such as de or pt-BR')
}

/** @throws CliError `not_valid` (exit 5) if the hash differs from the notice's */
export async function downloadText(api: Client, notice: Notice, language: string): Promise<Buffer> {
  const { site_id: id, policy_version, texts } = notice
  const bytes = await api.bytes(notices.getText, { params: { id, version: String(policy_version), language } })
  const expected = texts.find(text => text.language === language)?.sha256
  if (sha256(bytes).toString('hex') === expected) return bytes
  throw new CliError('not_valid', exit.rejected, `the text ${language} is not the one of version ${policy_version}`, {
    hint: 'its SHA-256 differs: the instance, or something before it, changed the text',
  })
}
