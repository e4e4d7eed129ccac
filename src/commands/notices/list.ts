import type { Command } from 'commander'
import * as z from 'zod'
import { action } from '../../cli/action.ts'
import { countedList } from '../../cli/output.ts'
import { addSignInFlags, keyOrSignIn, signInOptions } from '../../cli/sign-in.ts'
import type { Context } from '../../context.ts'
import { noticeView } from '../../views/notice.ts'
import { addSiteFlag, noticesOf, siteOption } from './versions.ts'

const Options = z.strictObject({ ...signInOptions, ...siteOption })

export function list(command: Command, ctx: Context): void {
  addSignInFlags(addSiteFlag(command))
    .description(`
A key with the scope read or notices is enough. -o json includes the digest of each text and the position of
the publication in the signed log.

Examples:
  $ consentctl notices list --site Shop
  $ consentctl notices list --site Shop -o json`)
    .action(
      action(ctx, Options, noticeView, async (_, { site, ...who }) => {
        const api = await keyOrSignIn(ctx, who)
        return countedList(ctx, noticeView, await noticesOf(ctx, api, site), 'notice')
      }),
    )
}
