import { setTimeout } from 'node:timers/promises'
import type { Command } from 'commander'
import * as z from 'zod'
import { fileAction, isId, nonEmpty } from '../../cli/action.ts'
import { formatCount, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { log } from '../../contract/log.ts'
import { signingKeys } from '../../contract/signing-keys.ts'
import { recordsOf, showsDeleted } from '../../erasure/records.ts'
import { CliError, exit, usageError } from '../../errors/errors.ts'
import type { PackFiles } from '../../evidence/pack.ts'
import { collectPack } from '../../packs/collect.ts'
import type { Collected } from '../../packs/content.ts'
import { openSigner } from '../../receipts/signer.ts'
import { verifyPack } from '../verify/pack.ts'
import { sealPack } from './seal.ts'
import { openTarget } from './target.ts'

const Options = z
  .strictObject({
    operands: z.array(nonEmpty.refine(isId, 'is not a valid id')).max(1).default([]),
    subject: nonEmpty.optional(),
  })
  .refine(
    ({ operands, subject }) => (operands.length === 1) !== (subject !== undefined),
    'name one record, or --subject',
  )

export function evidence(command: Command, ctx: Context): void {
  command
    .argument('[id]', 'id of a record')
    .option('--subject <id>', 'all records of a data subject, each in a folder named by its id')
    .addHelpText(
      'after',
      `
Writes a folder, or with --out FILE.tar an archive, that proves the record without the instance or a network: the
record with its history and signed receipt, the notice published before it with its exact texts, the signed
checkpoint of the log with inclusion proofs for both, the administrators' entries about the site and those who
changed the record, and the public keys. README.txt explains what each file proves and what it does not, with the
commands to check it by hand; index.html is for printing.

Everything is verified before it is written, and it appears complete or not at all; nothing is overwritten. If the
log does not have the record yet, a checkpoint is made. If the instance makes none on demand, it waits 5 s and exits
with 7: run it again after the next checkpoint (every CHECKPOINT_MINUTES). The files contain personal data in clear
text, and a later purge does not reach them. Only you can read them.

Examples:
  $ consentctl evidence 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --out case
  $ consentctl evidence --subject maria@example.com --out maria.tar
  $ consentctl verify case`,
    )
    .action(
      fileAction(ctx, Options, async (_, { operands: [id], subject }, path) => {
        await requireLog(ctx)
        const signer = await openSigner(ctx)
        const target = await openTarget(path)
        let records = 0
        try {
          for await (const each of id === undefined ? idsOf(ctx, subject ?? '') : [id]) {
            const files = sealPack(signer, await collect(ctx, each))
            await requireValid(ctx, each, files)
            await target.add(id === undefined ? `${each}/` : '', files)
            records += 1
          }
          if (records === 0) throw noRecord(ctx)
          await target.commit()
        } finally {
          await target.abandon()
        }
        await ctx.say(`wrote ${path}: the evidence of ${formatCount(records)}, from ${instanceLabel(ctx)}`)
      }),
    )
}

/** @throws CliError `not_offered` */
async function requireLog(ctx: Context): Promise<void> {
  if (!(await ctx.api.supports(log.inclusion)))
    throw new CliError('not_offered', exit.usage, `${instanceLabel(ctx)} has no log, which would prove anything`, {
      hint: 'consentctl history ID -o json shows what it knows of a record',
    })
  if (!(await ctx.api.supports(signingKeys.list)))
    throw new CliError('not_offered', exit.usage, `${instanceLabel(ctx)} publishes no keys`, {
      hint: 'nothing could be verified without them',
    })
}

/** @throws CliError `not_in_log` (exit 7) */
async function collect(ctx: Context, id: string): Promise<Collected> {
  const pause = async (ms: number) => {
    await setTimeout(ms, undefined, { signal: ctx.interruption }).catch(() => {})
    ctx.interruption.throwIfAborted()
  }
  const collected = await collectPack({ client: ctx.api, pause }, id)
  if (collected) return collected
  throw new CliError(
    'not_in_log',
    exit.temporary,
    `the log of ${instanceLabel(ctx)} does not have all of the record ${id} yet: nothing was written`,
    {
      hint: 'run this again after its next checkpoint, which is made every CHECKPOINT_MINUTES (60 unless it is configured)',
    },
  )
}

async function* idsOf({ api }: Context, subject: string): AsyncGenerator<string> {
  for await (const page of recordsOf(api, [subject], { deleted: await showsDeleted(api) }))
    for (const { id } of page) {
      if (!/^[\da-f-]{36}$/.test(id)) throw usageError('the instance returned an id that is not a UUID')
      yield id
    }
}

/** Before anything is written. @throws CliError `not_valid` (exit 5) */
async function requireValid(ctx: Context, id: string, files: PackFiles): Promise<void> {
  const wrong = (await verifyPack('.', files, {})).find(({ result }) => result !== 'valid')
  if (!wrong) return
  const message = `${instanceLabel(ctx)} does not prove the record ${id}: of ${wrong.file}, ${wrong.detail}`
  throw new CliError('not_valid', exit.rejected, message, {
    hint: 'tell the operator: consentctl admin verify names what was changed',
  })
}

function noRecord(ctx: Context): CliError {
  return new CliError('not_found', exit.notFound, `no record of this subject on ${instanceLabel(ctx)}`, {
    hint: 'the identifier must be exactly as stored: consentctl subject find --like',
  })
}
