import type { Command } from 'commander'
import * as z from 'zod'
import { fileAction } from '../../cli/action.ts'
import { formatCount, instanceLabel, quoteForShell } from '../../cli/messages.ts'
import { changeRequest, closeCommand } from '../../cli/register.ts'
import { addAlsoFlag, addRequestFlag, alsoOption, readPerson, requestOption, Subject } from '../../cli/subjects.ts'
import type { Context } from '../../context.ts'
import type { DataSubjectRequest } from '../../contract/requests.ts'
import { abandonExport, openExport, writeExport } from '../../erasure/export.ts'
import { recordsOf, showsDeleted } from '../../erasure/records.ts'
import { exit } from '../../errors/errors.ts'
import { report } from '../../errors/report.ts'
import { openSigner } from '../../receipts/signer.ts'
import { tellLeftOut, tellProofs, warnOfNear } from './near.ts'

const Options = z.strictObject({ ...alsoOption, ...requestOption, operands: z.array(Subject).max(1).default([]) })

export function exportCommand(command: Command, ctx: Context): void {
  addRequestFlag(addAlsoFlag(command.argument('[id]', 'identifier of the data subject, exactly as stored')))
    .description(`
Writes every record with its history to the new file of --out, as one JSON document for requests under Art. 15
(access) and Art. 20 (portability) GDPR. It includes the stored IP address and the names of the keys and users that
made each change, if the instance shows them. FILE.manifest.json beside it is signed and contains the counts by site,
the number of bytes and their SHA-256. Only you can read both files. They appear once complete; no file is
overwritten. With --request the register gets the manifest's digest. Near matches, which differ only in case, blanks
or Unicode form, are reported, and exported only if --also names them. The document also has the sealed proofs that
purges left of the person, with their answers.

Examples:
  $ consentctl subject export maria@example.com --out maria.json
  $ consentctl subject export maria@example.com --also customer-4711 --out maria.json
  $ consentctl subject export --request DSR-8 --out maria.json`)
    .action(
      fileAction(ctx, Options, async (_, { operands, ...person }, path) => {
        const { subjects, request: registered } = await readPerson(ctx, operands, person)
        const request = { ...(await openSigner(ctx)), subjects }
        if (request.site_ids !== null)
          await ctx.say(
            `note: the API key is restricted to ${formatCount(request.site_ids.length, 'site')}: only their records are exported`,
          )
        const asked = { ticket: registered?.ticket ?? '', subjects, request_id: registered?.id, isLine: false }
        await tellLeftOut(ctx, await warnOfNear(ctx, asked), 'exported')
        const files = await openExport(path, '--out')
        async function* pages() {
          yield* recordsOf(ctx.api, subjects, { deleted: await showsDeleted(ctx.api) })
        }
        const { records, entries, sites, manifest_sha256 } = await writeExport(
          ctx.api,
          request,
          files,
          pages(),
        ).finally(() => abandonExport(files))
        const of = `${formatCount(records)} of ${formatCount(sites.length, 'site')} with ${entries} ${entries === 1 ? 'entry' : 'entries'} of history`
        await ctx.say(`wrote ${path}: ${of}, from ${instanceLabel(ctx)}`)
        await ctx.say(`wrote ${path}.manifest.json`)
        await tellProofs(ctx, subjects)
        if (registered) await registerManifest(ctx, registered, manifest_sha256, `${path}.manifest.json`)
      }),
    )
}

/** Only warns (exit 8): the export exists. */
async function registerManifest(
  ctx: Context,
  { id, ticket }: DataSubjectRequest,
  sha256: string,
  path: string,
): Promise<void> {
  try {
    await changeRequest(ctx.api, id, { receipt: { type: 'export_manifest', sha256 } })
    await ctx.say(
      `the register has the digest of the manifest; once the person has the export: ${closeCommand(ticket)}`,
    )
  } catch (error) {
    await report(ctx, error)
    const command = `consentctl requests update ${quoteForShell(ticket)} --receipt ${quoteForShell(path)}`
    await ctx.warn(`the manifest’s digest could not be added to the register; to add it: ${command}`)
    ctx.exit = exit.partial
  }
}
