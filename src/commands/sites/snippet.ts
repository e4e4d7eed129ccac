import { type Command, Option } from 'commander'
import * as z from 'zod'
import { Ids, textAction } from '../../cli/action.ts'
import { quoteForShell } from '../../cli/messages.ts'
import { addSignInFlags, keyOrSignIn, signInOptions } from '../../cli/sign-in.ts'
import { findSite } from '../../cli/sites.ts'
import type { Context } from '../../context.ts'
import type { Site } from '../../contract/sites.ts'
import { bannerNames, placeholders, scriptElement, snippetFor } from '../../domain/snippets.ts'
import { visible } from '../../output/index.ts'
import { isLoopback, requireBaseUrl } from '../../settings/settings.ts'

const Options = z.strictObject({
  ...signInOptions,
  operands: Ids,
  for: z.enum(bannerNames),
  siteToken: z
    .string()
    .regex(/^st-[A-Za-z0-9]+$/, 'must be a site’s token, st-…')
    .optional(),
})

export function snippet(command: Command, ctx: Context): void {
  addSignInFlags(
    command
      .argument('<site>', 'name or id of the site')
      .addOption(
        new Option('--for <banner>', 'the banner of the pages').choices([...bannerNames]).makeOptionMandatory(),
      )
      .option('--site-token <token>', 'token of the site, st-… (public)'),
  )
    .description(`
Prints a JavaScript module that records the choices of visitors in the site's existing banner. Load it after the
banner: ${scriptElement}
A token is shown only when it is issued.

Examples:
  $ consentctl sites snippet Shop --for klaro --site-token st-… --out consent.js
  $ consentctl sites snippet Shop --for cookieconsent`)
    .action(
      textAction(
        ctx,
        Options,
        async (_, { operands: [named = ''], for: banner, siteToken, ...who }) => {
          const service = requireBaseUrl(ctx.settings).replace(/\/+$/, '').replaceAll("'", '%27')
          const site = await findSite(await keyOrSignIn(ctx, who), named)
          await sayMissing(ctx, site, siteToken)
          await sayLoopback(ctx, service)
          return snippetFor(banner, { service, ...(siteToken && { token: siteToken }) })
        },
        everyonesToRead,
      ),
    )
}

/** A web server, often another user, serves the script. */
const everyonesToRead = 0o644

async function sayLoopback({ say }: Context, service: string): Promise<void> {
  if (!isLoopback(new URL(service).hostname)) return
  await say(`note: only this machine reaches ${service}: replace it in the script by the public address of the service`)
}

async function sayMissing({ say }: Context, { name, allowed_origins }: Site, token: string | undefined): Promise<void> {
  const site = visible(quoteForShell(name))
  if (token === undefined) {
    await say(`note: replace ${placeholders.token} with the site's token, or pass --site-token`)
    await say(`note: a token is shown only when it is issued. For a new one: consentctl sites rotate-token ${site}`)
  }
  if (allowed_origins.length === 0)
    await say(
      `note: no page may record consents for the site yet: consentctl sites update ${site} --add-origin https://…`,
    )
}
