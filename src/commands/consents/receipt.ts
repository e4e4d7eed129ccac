import type { Command } from 'commander'
import * as z from 'zod'
import { Ids, textAction } from '../../cli/action.ts'
import { callOptional, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { readSigned } from '../../evidence/signed.ts'

const Options = z.strictObject({ operands: Ids })

/** `receipt`: the service's own signed statement of a record, to the byte. */
export function receipt(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'id of a record')
    .addHelpText(
      'after',
      `
The receipt is printed exactly as the instance signed it: keep it so, for a changed line end makes it void.
It holds the data subject and the preferences in clear. "consentctl verify" checks it, and so does openssl.

Examples:
  $ consentctl receipt 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --out receipt.json
  $ consentctl receipt 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 | consentctl verify -`,
    )
    .action(
      textAction(ctx, Options, async ({ api }, { operands: [id = ''] }) => {
        const ask = () => api.text(consents.receipt, { params: { id } })
        const text = await callOptional(api, consents.receipt, ask, {
          message: `${instanceLabel(ctx)} issues no receipts`,
          hint: 'consentctl history shows what it knows of a record',
        })
        requireReceipt(ctx, text, id)
        return text
      }),
    )
}

/**
 * Throws for what is no receipt of the record. What is one is printable ASCII: it cannot act on the terminal that it is
 * printed on, whoever has written it.
 */
function requireReceipt(ctx: Context, text: string, id: string): void {
  const problem = problemOf(text, id)
  if (problem === null) return
  throw new CliError(
    'unexpected_answer',
    exit.usage,
    `the answer of ${instanceLabel(ctx)} is no receipt: it ${problem}`,
    {
      hint: 'check the address of the instance: consentctl config list',
    },
  )
}

function problemOf(text: string, id: string): string | null {
  try {
    const { type, record_id } = readSigned(Buffer.from(text)).document
    if (type !== 'consent_receipt') return 'is of another type'
    return String(record_id).toLowerCase() === id.toLowerCase() ? null : 'is of another record'
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}
