import type { Command } from 'commander'
import * as z from 'zod'
import { Ids, textAction } from '../../cli/action.ts'
import { callOptional, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { receipt as endpoint } from '../../contract/receipt.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { readSigned } from '../../evidence/signed.ts'

const Options = z.strictObject({ operands: Ids })

export function receipt(command: Command, ctx: Context): void {
  command
    .argument('<id>', 'id of a record')
    .description(`
The receipt is printed exactly as the instance signed it. Keep every byte: a changed line end invalidates it. It
contains the data subject and the preferences in clear text. Verify it with "consentctl verify" or openssl.

Examples:
  $ consentctl receipt 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 --out receipt.json
  $ consentctl receipt 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 | consentctl verify -`)
    .action(
      textAction(ctx, Options, async ({ api }, { operands: [id = ''] }) => {
        const ask = () => api.text(endpoint, { params: { id } })
        const text = await callOptional(api, endpoint, ask, {
          message: `${instanceLabel(ctx)} issues no receipts`,
          hint: 'consentctl history shows what it knows of a record',
        })
        requireReceipt(ctx, text, id)
        return text
      }),
    )
}

/** Printable ASCII, which cannot control the terminal. */
function requireReceipt(ctx: Context, text: string, id: string): void {
  const problem = findProblem(text, id)
  if (problem === null) return
  throw new CliError(
    'unexpected_answer',
    exit.usage,
    `the response of ${instanceLabel(ctx)} is not a receipt: it ${problem}`,
    {
      hint: 'check the address of the instance: consentctl config list',
    },
  )
}

function findProblem(text: string, id: string): string | null {
  try {
    const { type, record_id } = readSigned(Buffer.from(text)).document
    if (type !== 'consent_receipt') return 'is of another type'
    return String(record_id).toLowerCase() === id.toLowerCase() ? null : 'is of another record'
  } catch (error) {
    if (error instanceof SyntaxError) return error.message
    throw error
  }
}
