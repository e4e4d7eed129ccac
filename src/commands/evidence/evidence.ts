import type { Command } from 'commander'
import * as z from 'zod'
import { fileAction, isId, nonEmpty } from '../../cli/action.ts'
import { callOptional, formatCount, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import type { EvidencePack } from '../../contract/documents/evidence-pack.ts'
import { evidence as endpoint, sealedEvidence } from '../../contract/receipt.ts'
import { sealedLimit, subjects } from '../../contract/subjects.ts'
import { recordsOf, showsDeleted } from '../../erasure/records.ts'
import { CliError, exit, usageError } from '../../errors/errors.ts'
import { listFile, type PackFiles, readPack, requireFile } from '../../evidence/pack.ts'
import { verifyPack } from '../../evidence/pack-checks.ts'
import { readSigned } from '../../evidence/signed.ts'
import { identify } from '../../receipts/signer.ts'
import { instanceKeys } from '../verify/keys.ts'
import { readPackArchive } from '../verify/pack-files.ts'
import { openFile, openTarget } from './target.ts'

const Options = z
  .strictObject({
    operands: z.array(nonEmpty.refine(isId, 'is not a valid id')).max(1).default([]),
    subject: nonEmpty.optional(),
    sealed: z.literal(true).optional(),
    pdfReady: z.literal(true).optional(),
  })
  .refine(
    ({ operands, subject }) => (operands.length === 1) !== (subject !== undefined),
    'name one record, or --subject',
  )
  .refine(({ sealed, subject }) => !sealed || subject !== undefined, '--sealed needs --subject')

export function evidence(command: Command, ctx: Context): void {
  command
    .argument('[id]', 'id of a record')
    .option('--subject <id>', 'all records of a data subject, each in a folder named by its id')
    .option('--sealed', 'with --subject: its purged records that left a sealed proof')
    .option('--pdf-ready', 'only the certificate, one HTML page: print it to PDF in a browser')
    .description(`
Writes a folder, or with --out FILE.tar an archive, that proves the record without the instance or a network: the
record with its history and signed receipt, the notice published before it with its exact texts, the signed
checkpoint of the log with inclusion proofs for both, the administrators' entries about the site and those who
changed the record, and the public keys. The instance signs the list of the files. certificate.html is a page to
print that says in plain words what the folder proves and what it does not; verify.sh checks it with openssl.

With --pdf-ready only that page is written, to --out FILE.html; with --subject a folder of such pages.

With --sealed the instance compares the identifier with the keyed hashes that purges left (sites update --seal-proof),
and signs that it was presented and matched. No search finds these records by person without the identifier.

Everything is verified before it is written, and it appears complete or not at all; nothing is overwritten. If the
log does not have the record yet, the instance makes a checkpoint. If it cannot, the exit code is 7: run it again
after the next checkpoint (every CHECKPOINT_MINUTES). The files contain personal data in clear text, and a later
purge does not reach them. Only you can read them.

Examples:
  $ consentctl evidence 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --out case
  $ consentctl evidence --subject maria@example.com --out maria.tar
  $ consentctl evidence --sealed --subject maria@example.com --out claim
  $ consentctl evidence 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --pdf-ready --out certificate.html
  $ consentctl verify case`)
    .action(
      fileAction(ctx, Options, async (_, options, path) => {
        const { subject, pdfReady } = options
        const target = await (pdfReady && subject === undefined ? openFile(path) : openTarget(path))
        let records = 0
        try {
          const { account_id: account } = await identify(ctx.api)
          for await (const id of idsOf(ctx, options)) {
            await target.add(
              ...contentOf(
                await getPack(ctx, { id, account, subject, isSealed: options.sealed === true }),
                id,
                options,
              ),
            )
            records += 1
          }
          if (records === 0) throw noneFound(ctx, options)
          await target.commit()
        } finally {
          await target.abandon()
        }
        const what = pdfReady ? `certificate${records === 1 ? '' : 's'}` : 'evidence'
        await ctx.say(`wrote ${path}: the ${what} of ${formatCount(records)}, from ${instanceLabel(ctx)}`)
      }),
    )
}

type Options = z.output<typeof Options>

/** Returns what is written of a pack: what its names begin with, and the files. */
function contentOf(files: PackFiles, id: string, { subject, pdfReady }: Options): [prefix: string, PackFiles] {
  if (pdfReady) return ['', new Map([[`${id}.html`, requireFile(files, 'certificate.html')]])]
  return [subject === undefined ? '' : `${id}/`, files]
}

interface Wanted {
  readonly id: string
  /** Null if the instance does not state it. */
  readonly account: string | null
  readonly subject: string | undefined
  readonly isSealed: boolean
}

/**
 * Verifies with the published keys, read after the pack because a key may be rotated meanwhile.
 * @throws CliError `not_offered`, or `not_valid` (exit 5)
 */
async function getPack(ctx: Context, wanted: Wanted): Promise<PackFiles> {
  const { id, subject, isSealed } = wanted
  const instance = instanceLabel(ctx)
  const params = { id }
  const ask = isSealed
    ? () => ctx.api.bytes(sealedEvidence, { params, body: { subject_id: subject ?? '' } })
    : () => ctx.api.bytes(endpoint, { params })
  const bytes = await callOptional(ctx.api, isSealed ? sealedEvidence : endpoint, ask, {
    message: `${instance} makes no evidence packs`,
    hint: 'consentctl history ID -o json shows what it knows of a record',
  })
  const files = readPackArchive(bytes, `the response of ${instance}`)
  const wrong = (await verifyPack(files, { findKeys: instanceKeys(ctx) })).find(({ result }) => result !== 'valid')
  const problem = wrong ? `of ${wrong.file}, ${wrong.detail}` : findOther(files, wanted)
  if (problem === null) return files
  throw new CliError('not_valid', exit.rejected, `${instance} does not prove the record ${id}: ${problem}`, {
    hint: wrong
      ? 'tell the operator: consentctl admin verify names what was changed'
      : 'a proxy may have answered with a stored response: ask without it',
  })
}

/** Of a valid archive about something else. */
function findOther(files: PackFiles, { id, account, subject, isSealed }: Wanted): string | null {
  const { record, checkpoint } = readPack(files)
  const named = isSealed ? presentedIn(files) : record.subject_id
  if (record.id !== id.toLowerCase()) return `the archive is of the record ${record.id}`
  if (account !== null && checkpoint.account_id !== account)
    return `the archive is of the account ${checkpoint.account_id}, and the key of ${account}`
  if (subject !== undefined && named !== subject) return 'the archive is of another data subject'
  return null
}

function presentedIn(files: PackFiles): string | null {
  const { presented } = readSigned(requireFile(files, listFile)).document as Partial<EvidencePack>
  return presented?.subject_id ?? null
}

async function* idsOf(ctx: Context, { operands: [id], subject, sealed }: Options): AsyncGenerator<string> {
  const { api } = ctx
  if (id !== undefined) yield id
  if (subject === undefined) return
  if (sealed) {
    yield* await sealedIdsOf(ctx, subject)
    return
  }
  for await (const page of recordsOf(api, [subject], { deleted: await showsDeleted(api) }))
    for (const { id } of page) {
      if (!/^[\da-f-]{36}$/.test(id)) throw usageError('the instance returned an id that is not a UUID')
      yield id
    }
}

async function sealedIdsOf(ctx: Context, subject_id: string): Promise<string[]> {
  const call = () => ctx.api.call(subjects.sealed, { body: { subject_id }, isIdempotent: true })
  const { data } = await callOptional(ctx.api, subjects.sealed, call, {
    message: `${instanceLabel(ctx)} keeps no sealed proofs`,
    hint: 'consentctl evidence --subject ID packs the records that it has',
  })
  if (data.length === sealedLimit)
    await ctx.warn(`note: only the newest ${sealedLimit} records with a sealed proof are in it`)
  return data.map(({ record_id }) => record_id)
}

function noneFound(ctx: Context, { sealed }: Options): CliError {
  const where = instanceLabel(ctx)
  if (sealed)
    return new CliError('not_found', exit.notFound, `no sealed proof for this identifier on ${where}`, {
      hint: 'the identifier must be exactly as it was stored, and a proof ends when its site says',
    })
  return new CliError('not_found', exit.notFound, `no record of this subject on ${where}`, {
    hint: 'the identifier must be exactly as stored: consentctl subject find --like',
  })
}
