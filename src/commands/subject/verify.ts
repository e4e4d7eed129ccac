import type { KeyObject } from 'node:crypto'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, collect, nonEmpty } from '../../cli/action.ts'
import { formatCount } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { chainFault, isAbout, isSigned } from '../../erasure/check.ts'
import { readHead } from '../../erasure/head.ts'
import { findReceiptKey, ownKeys, type ReceiptKey } from '../../erasure/keys.ts'
import { loadReceipt, numbersIn, pathOf, receiptsFolder, type StoredReceipt } from '../../erasure/receipts.ts'
import { anyReceipt } from '../../erasure/wanted.ts'
import { exit, usageError } from '../../errors/errors.ts'
import { readPublicKey } from '../../evidence/keys.ts'
import { readText } from '../../io/input.ts'
import { checkView } from '../../views/program.ts'
import { type Checked, fail, ok, skip, tried } from '../doctor/check.ts'
import { toOutput } from '../doctor/doctor.ts'
import { Subject } from './subjects.ts'
import { checkCertificates, checkLive } from './verify-live.ts'

const Options = z.strictObject({
  operands: z.tuple([nonEmpty]),
  live: z.literal(true).optional(),
  subject: Subject.optional(),
  publicKey: z.array(nonEmpty).optional(),
})

/** `subject verify`: whether a receipt is what it says, and the service still as it says. */
export function verify(command: Command, ctx: Context): void {
  command
    .argument('<receipt>', 'a file, the number of a receipt, its job, or last')
    .option('--live', 'ask the instance whether each record of it is gone')
    .option(
      '--subject <id>',
      'whether it is about this data subject; with --live nothing of theirs may be left',
    )
    .option('--public-key <file>', 'the key of whoever made it, in PEM; else the profile’s own', collect)
    .addHelpText(
      'after',
      `
Checks the form of the receipt, its signature, and the chain: every receipt of the profile from the first
one on, those after it too. Ends with 5 where something is not valid, and with 10 where all is valid but
the service is not as the receipt says. Who a receipt is about, only the machine with its private key can
tell, unless it holds the subject in clear.

Examples:
  $ consentctl subject verify last --live --subject maria@example.com
  $ consentctl subject verify receipt.json --public-key receipts.pem`,
    )
    .action(
      action(ctx, Options, checkView, async (_, { operands: [wanted], live, subject, publicKey }) => {
        const key = await findReceiptKey(ctx)
        const keys = publicKey ? await readKeys(ctx, publicKey) : await ownKeys(ctx)
        let stored: StoredReceipt | undefined
        const form = await tried('form', async () => {
          stored = await anyReceipt(ctx, wanted)
          return ok(
            'form',
            `erasure receipt ${stored.receipt.number} for ${stored.receipt.ticket}, job ${stored.receipt.job}`,
          )
        })
        if (!stored) return toOutput(ctx, [form])
        const found = stored
        const chain = await tried('chain', () => checkChain(ctx, found, keys, key))
        const checks = [form, checkSignature(found, keys), chain]
        if (subject !== undefined) checks.push(checkSubject(found, subject, key))
        if (live) checks.push(...(await checkCertificates(ctx, found.receipt)))
        if (live) checks.push(await tried('live', () => checkLive(ctx, found, subject)))
        return toOutput(ctx, checks)
      }),
    )
}

async function readKeys(ctx: Context, files: readonly string[]): Promise<KeyObject[]> {
  return await Promise.all(
    files.map(async file => {
      const pem = await readText(ctx.io, file)
      try {
        return readPublicKey(pem)
      } catch {
        throw usageError(
          `${file} holds no Ed25519 public key`,
          'it is what consentctl subject keys show prints',
        )
      }
    }),
  )
}

const otherKey = 'name the public key of whoever made it, with --public-key'

function checkSignature(stored: StoredReceipt, keys: readonly KeyObject[]): Checked {
  const signed = isSigned(stored, keys)
  const { key_id } = stored.receipt
  if (signed === null)
    return fail('signature', exit.rejected, `it is signed by another key, ${key_id}`, otherKey)
  if (signed) return ok('signature', `valid, by the key ${key_id}`)
  return fail('signature', exit.rejected, 'not valid: the receipt was changed after it was signed', null)
}

/** A receipt that came from elsewhere has its chain there. */
async function checkChain(
  ctx: Context,
  stored: StoredReceipt,
  keys: readonly KeyObject[],
  own: ReceiptKey | null,
): Promise<Checked> {
  const folder = receiptsFolder(ctx)
  const { number, key_id } = stored.receipt
  const isHere = (await loadReceipt(pathOf(folder, number)).catch(() => null))?.bytes.equals(stored.bytes)
  if (!isHere && own?.id !== key_id)
    return skip(
      'chain',
      `it was made elsewhere: its chain is not that of the profile ${ctx.settings.profile.value}`,
    )
  const head = await readHead(ctx) // before the receipts: more may be made meanwhile
  const fault = await chainFault(folder, stored, own ? [...keys, own.key] : keys, head)
  if (fault !== null) return fail('chain', exit.rejected, fault, `see ${folder}, and its backups`)
  const count = (await numbersIn(folder)).length
  return ok('chain', `${formatCount(count, 'receipt')}, each signed and following the one before`)
}

function checkSubject({ receipt }: StoredReceipt, subject: string, key: ReceiptKey | null): Checked {
  const about = isAbout(receipt, subject, key)
  if (about === null) return skip('subject', 'only the private key that signed it can tell')
  if (about) return ok('subject', 'the receipt is about this data subject')
  return fail('subject', exit.rejected, 'the receipt is about somebody else', null)
}
