import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../../context.ts'
import { exit } from '../../errors/exit.ts'
import { readBytes } from '../../io/input.ts'
import { type VerdictRow, verdictView } from '../../views/verdict.ts'
import { action, collect, given } from '../action.ts'
import { many } from '../output.ts'
import { judge } from './judge.ts'
import { keysOfFiles, keysOfInstance } from './keys.ts'

const Options = z.strictObject({
  operands: z.array(given),
  keys: z.array(given).default([]),
  publicKey: z.array(given).default([]),
})

/** Far over any signed document, in MiB. */
const largest = 64

/** `verify`: whether signed documents are as they were signed, and by whom. */
export function verify(command: Command, ctx: Context): void {
  command
    .argument('<file...>', 'signed documents; - is standard input')
    .option('--keys <file>', 'verify with the keys of this set, as a service publishes them', collect)
    .option('--public-key <file>', 'verify with this public key, in PEM', collect)
    .addHelpText(
      'after',
      `
Takes every kind of signed document that there is, and tells them apart. Without these flags a service's
documents are verified with the keys that the instance of the settings publishes, at
/.well-known/consent-keys.json; what a profile has signed, with the key of the profile. It ends with 0 if all
of them are valid, else with 5. With the manifest of an export it also compares the export beside it.

A valid signature proves that the holder of the key has signed exactly these bytes, and no more than you know
of the key. Keys that come from the same place as the document prove little: whoever can forge the one can
forge the other. Fetch them early, keep them apart, and compare key ids with whoever runs the service.

Examples:
  $ consentctl verify receipt.json --keys consent-keys.json
  $ consentctl receipt 01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11 | consentctl verify - -o json`,
    )
    .action(
      action(ctx, Options, verdictView, async (_, { operands, keys, publicKey }) => {
        const isOffline = keys.length + publicKey.length > 0
        const findKeys = isOffline
          ? await keysOfFiles(ctx, { sets: keys, single: publicKey })
          : keysOfInstance(ctx)
        let areValid = true
        async function* pages(): AsyncGenerator<readonly VerdictRow[]> {
          for (const file of operands) {
            const row = await judge(file, await readBytes(ctx.io, file, largest), findKeys)
            areValid &&= row.result === 'valid'
            yield [row]
          }
        }
        return many(verdictView, pages(), {
          single: operands.length === 1,
          exit: () => (areValid ? exit.done : exit.rejected),
        })
      }),
    )
}
