import type { Command } from 'commander'
import * as z from 'zod'
import { nonEmpty, textAction } from '../../cli/action.ts'
import { addSignInFlags, keyOrSignIn, signInOptions } from '../../cli/sign-in.ts'
import { endInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import type { Notice, NoticeText } from '../../contract/notices.ts'
import { CliError, exit, usageError } from '../../errors/errors.ts'
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
  operands: z.array(nonEmpty).default([]),
  lang: nonEmpty.optional(),
  at: nonEmpty.optional(),
})

export function show(command: Command, ctx: Context): void {
  addSignInFlags(
    addSiteFlag(command.argument('[version]', 'the policy version'))
      .option('--lang <tag>', 'the language, if there are several')
      .option('--at <time>', 'the version in effect at this time, instead of a version number'),
  )
    .description(`
Writes exactly the published bytes to a pipe or to the file of --out, after checking their SHA-256. On a terminal,
control characters are escaped and HTML is shown as source; a PDF is not shown.

Examples:
  $ consentctl notices show 2 --site Shop --lang de
  $ consentctl notices show --site Shop --at 2026-01-31 --lang de --out policy.de.md`)
    .action(
      textAction(ctx, Options, async (_, options) => {
        const isShown = ctx.io.out.isTerminal && ctx.globals.out === undefined
        const { api, notice, text } = await find(ctx, options)
        if (isShown && text.media_type === 'application/pdf')
          throw usageError('a PDF cannot be shown on a terminal', 'use --out FILE')
        const bytes = await downloadText(api, notice, text.language)
        return isShown ? visibleLines(bytes.toString()) : bytes
      }),
    )
}

async function find(ctx: Context, { operands: [version], at, lang, site, ...who }: z.output<typeof Options>) {
  if ((version === undefined) === (at === undefined))
    throw usageError('a version or --at is missing', 'consentctl notices list')
  const number = version === undefined ? undefined : parseVersion(version)
  const time = at === undefined ? '' : endInstant(at, new Date())
  const language = lang === undefined ? undefined : requireLanguage(lang)
  const api = await keyOrSignIn(ctx, who)
  const all = await noticesOf(ctx, api, site)
  const notice = number === undefined ? inEffect(all, time) : findVersion(all, number)
  return { api, notice, text: chooseText(notice, language) }
}

function inEffect(all: readonly Notice[], time: string): Notice {
  const found = all.find(({ state, effective_from, published_at }) => {
    const starts = [published_at ?? '', effective_from ?? published_at ?? ''].map(each => Date.parse(each))
    return state === 'published' && Math.max(...starts) <= Date.parse(time)
  })
  if (found) return found
  throw new CliError('not_found', exit.notFound, `no notice of the site was in effect at ${time}`)
}

function chooseText({ texts, policy_version }: Notice, language: string | undefined): NoticeText {
  const [only, another] = texts
  const languages = texts.map(text => text.language).join(', ')
  if (language === undefined && only && !another) return only
  if (language === undefined) throw usageError('the notice has several texts', `use --lang with one of ${languages}`)
  const text = texts.find(each => each.language === language)
  if (text) return text
  throw new CliError('not_found', exit.notFound, `version ${policy_version} has no text in ${language}`, {
    hint: `it has ${languages || 'none'}`,
  })
}

/** Keeps line ends and tabs. */
function visibleLines(text: string): string {
  const lines = text.replaceAll('\t', '    ').split(/\r?\n/)
  return `${lines.map(visible).join('\n').replace(/\n$/, '')}\n`
}
