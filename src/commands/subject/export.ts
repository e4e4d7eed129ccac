import type { Command } from 'commander'
import * as z from 'zod'
import { fileAction } from '../../cli/action.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { openExport, writeExport } from '../../erasure/export.ts'
import { recordsOf, showsDeleted } from '../../erasure/found.ts'
import { alsoFlag, alsoOption, Subject, subjectsOf } from './subjects.ts'

const Options = z.strictObject({ ...alsoOption, operands: z.tuple([Subject]) })

/** `subject export`: what is held on a person, as a file to hand over. */
export function exportSubject(command: Command, ctx: Context): void {
  alsoFlag(command.argument('<id>', 'the identifier of the data subject, exactly as it was stored'))
    .addHelpText(
      'after',
      `
Writes every record with its history into the new file of --out, as one JSON document: what a person may
have by Art. 15 (access) and Art. 20 (portability) GDPR. Beside it FILE.manifest.json, signed, says what is
in it: counts for each site, the bytes and their SHA-256. Both are for you alone, and get their names when
they are whole; no file is overwritten.

Examples:
  $ consentctl subject export maria@example.com --out maria.json
  $ consentctl subject export maria@example.com --also customer-4711 --out maria.json`,
    )
    .action(
      fileAction(ctx, Options, async (_, { operands, also }, path) => {
        const subjects = await subjectsOf(ctx, operands, also)
        const files = await openExport(path, '--out')
        const deleted = showsDeleted(ctx)
        async function* pages() {
          yield* recordsOf(ctx, subjects, { deleted: await deleted })
        }
        deleted.catch(() => {}) // it is thrown where the records are read
        const { records, entries, sites } = await writeExport(ctx, files, subjects, pages())
        const of = `${formatCount(records)} of ${formatCount(sites.length, 'site')} with ${entries} entries of history`
        await ctx.say(`wrote ${path}: ${of}, from ${instanceLabel(ctx)}`)
        await ctx.say(`wrote ${path}.manifest.json`)
      }),
    )
}
