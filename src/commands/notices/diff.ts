import type { Command } from 'commander'
import * as z from 'zod'
import { nonEmpty, textAction } from '../../cli/action.ts'
import { addSignInFlags, keyOrSignIn, signInOptions } from '../../cli/sign-in.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import type { Notice } from '../../contract/notices.ts'
import { describeChanges } from '../../domain/notice-changes.ts'
import { visible } from '../../output/index.ts'
import {
  addSiteFlag,
  downloadText,
  findVersion,
  noticesOf,
  parseVersion,
  requireLanguage,
  siteOption,
} from './versions.ts'

const Options = z.strictObject({
  ...signInOptions,
  ...siteOption,
  operands: z.tuple([nonEmpty, nonEmpty]),
  lang: nonEmpty.optional(),
})

export function diff(command: Command, ctx: Context): void {
  addSignInFlags(
    addSiteFlag(
      command.argument('<version>', 'the first policy version').argument('<newer>', 'the second policy version'),
    ).option('--lang <tag>', 'compare only the text in this language'),
  )
    .description(`
Prints the differences of details and digests on stderr, then those of each text in unified format. The exit code
is 0 whether they differ or not.

Examples:
  $ consentctl notices diff 1 2 --site Shop
  $ consentctl notices diff 1 2 --site Shop --lang de | less`)
    .action(
      textAction(ctx, Options, async (_, { operands, lang, site, ...who }) => {
        const versions = operands.map(parseVersion)
        const only = lang === undefined ? undefined : requireLanguage(lang)
        const api = await keyOrSignIn(ctx, who)
        const all = await noticesOf(ctx, api, site)
        const [before, after] = versions.map(version => findVersion(all, version)) as [Notice, Notice]
        for (const line of describeChanges(before, after)) await ctx.say(line)
        const languages = [...before.texts, ...after.texts].map(({ language }) => language)
        const wanted = only === undefined ? [...new Set(languages)].sort() : [only]
        const patches: string[] = []
        for (const language of wanted) patches.push(await patchOf(api, [before, after], language))
        return patches.join('')
      }),
    )
}

async function patchOf(api: Client, notices: readonly [Notice, Notice], language: string): Promise<string> {
  const found = notices.map(({ texts }) => texts.find(text => text.language === language))
  const [before, after] = found
  if (before?.sha256 === after?.sha256) return ''
  const names = notices.map(({ policy_version }, index) =>
    found[index] ? `${policy_version}/${language}` : '/dev/null',
  )
  const [oldName = '', newName = ''] = names
  if (found.some(text => text?.media_type === 'application/pdf')) return `PDF ${oldName} and ${newName} differ\n`
  const [oldText = '', newText = ''] = await Promise.all(
    notices.map(async (notice, index) => (found[index] ? String(await downloadText(api, notice, language)) : '')),
  )
  const { createTwoFilesPatch } = await import('diff')
  const patch = createTwoFilesPatch(oldName, newName, oldText, newText)
  const lines = patch.replace(/^=+\n/, '').split('\n')
  return lines.map(line => visible(line.replace(/\r$/, '').replaceAll('\t', '    '))).join('\n')
}
