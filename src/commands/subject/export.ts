import type { Command } from 'commander'
import * as z from 'zod'
import { fileAction } from '../../cli/action.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { abandonExport, openExport, writeExport } from '../../erasure/export.ts'
import { recordsOf, showsDeleted } from '../../erasure/records.ts'
import { openSigner } from '../../erasure/request.ts'
import { addAlsoFlag, alsoOption, readSubjects, Subject } from './subjects.ts'

const Options = z.strictObject({ ...alsoOption, operands: z.tuple([Subject]) })

export function exportSubject(command: Command, ctx: Context): void {
  addAlsoFlag(command.argument('<id>', 'identifier of the data subject, exactly as stored'))
    .addHelpText(
      'after',
      `
Writes every record with its history to the new file of --out, as one JSON document: what a person can request
under Art. 15 (access) and Art. 20 (portability) GDPR, also the address as it is stored and the names of the keys
and users that made each change, if the instance tells them. FILE.manifest.json beside it is signed and contains the
counts by site, the number of bytes and their SHA-256. Only you can read both files. They get their names when
they are complete; no file is overwritten.

Examples:
  $ consentctl subject export maria@example.com --out maria.json
  $ consentctl subject export maria@example.com --also customer-4711 --out maria.json`,
    )
    .action(
      fileAction(ctx, Options, async (_, { operands, also }, path) => {
        const subjects = await readSubjects(ctx, operands, also)
        const request = { ...(await openSigner(ctx)), subjects }
        const files = await openExport(path, '--out')
        async function* pages() {
          yield* recordsOf(ctx.api, subjects, { deleted: await showsDeleted(ctx.api) })
        }
        const { records, entries, sites } = await writeExport(ctx.api, request, files, pages()).finally(() =>
          abandonExport(files),
        )
        const of = `${formatCount(records)} of ${formatCount(sites.length, 'site')} with ${entries} entries of history`
        await ctx.say(`wrote ${path}: ${of}, from ${instanceLabel(ctx)}`)
        await ctx.say(`wrote ${path}.manifest.json`)
      }),
    )
}
