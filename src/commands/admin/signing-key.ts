import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { mustPrompt, promptToConfirm } from '../../cli/confirm.ts'
import { addDatabaseFlags, databaseOptions, serverHost } from '../../cli/database.ts'
import { many, pagesOf } from '../../cli/output.ts'
import type { Context } from '../../context.ts'
import { type SigningKeyRow, signingKeyReasons } from '../../contract/server.ts'
import { type View, visible } from '../../output/index.ts'
import { field } from '../../views/field.ts'

const signingKeyView: View<SigningKeyRow> = {
  id: row => row.key_id,
  columns: [
    field('key_id', { whole: true, rank: 1 }),
    field('state', { whole: true, rank: 2 }),
    field('not_before', { whole: true, rank: 3 }),
    field('revoked_at', { whole: true, rank: 4 }),
  ],
}

const RevokeOptions = z.strictObject({
  ...databaseOptions,
  operands: z.tuple([nonEmpty]),
  reason: z.enum(signingKeyReasons, `must be one of ${signingKeyReasons.join(', ')}`),
  yes: z.literal(true).optional(),
})

export function revoke(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .argument('<key-id>', 'key_id in the documents signed with the key')
      .requiredOption('--reason <reason>', signingKeyReasons.join(' or '))
      .option('-y, --yes', 'skip the confirmation prompt'),
  )
    .description(`
The key of the environment (SIGNING_KEY_FILE) signs the revocation; it must be newer than the revoked one. Documents
that a superseded key signed until now stay valid. Documents of a compromised key become invalid, because a holder of
the key can sign with any date. A revocation cannot be undone, so it asks first; off a terminal it needs --yes. Prints
the keys that the service publishes. Write -- before an id that begins with a hyphen.

Examples:
  $ consentctl admin signing-key revoke UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4 --reason superseded
  $ consentctl admin signing-key revoke UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4 --reason compromised --yes`)
    .action(
      action(ctx, RevokeOptions, signingKeyView, async (_, { operands: [keyId], reason, yes, ...options }) => {
        const documents = reason === 'compromised' ? 'become invalid' : 'stay valid'
        const note = `Documents that the key ${visible(keyId)} has signed ${documents}, and it can sign no more.`
        await confirmIrreversible(ctx, { yes, action: 'revoke', note })
        const server = await ctx.loadServer()
        const keys = await server.revokeSigningKey(options, { keyId, reason }, serverHost(ctx))
        return many(signingKeyView, pagesOf(keys), { mutates: true })
      }),
    )
}

const RestartOptions = z.strictObject({
  ...databaseOptions,
  operands: z.tuple([nonEmpty]),
  yes: z.literal(true).optional(),
})

export function restart(command: Command, ctx: Context): void {
  addDatabaseFlags(
    command
      .argument('<lost-key-id>', 'key_id in the newest documents signed with the lost key')
      .option('-y, --yes', 'skip the confirmation prompt'),
  )
    .description(`
Use it only if the newest key is lost: otherwise append it to the file in SIGNING_KEY_FILE, after the new one, and
start the server. The key of the environment follows the newest one without its signature: send the new key to all
who keep an earlier one. Take the id from a document or checkpoint that you have kept, not from the database. It is
refused if the log of keys has documents that do not belong to the lost key. It cannot be undone, so it asks first; off a
terminal it needs --yes. Prints the keys that the service publishes. Write -- before an id that begins with a hyphen.

Examples:
  $ SIGNING_KEY_FILE=new.pem consentctl admin signing-key restart UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4
  $ SIGNING_KEY_FILE=new.pem consentctl admin signing-key restart UDDReOZl1ipXAfp9wYsm13sDBMK5og--QWdBjzuf6o4 --yes`)
    .action(
      action(ctx, RestartOptions, signingKeyView, async (_, { operands: [lost], yes, ...options }) => {
        const note = `The key of the environment will follow the key ${visible(lost)} without its signature.`
        await confirmIrreversible(ctx, { yes, action: 'replace', note })
        const server = await ctx.loadServer()
        const keys = await server.restartSigningKeys(options, lost, serverHost(ctx))
        await ctx.say(
          `the key ${keys[0]?.key_id} follows the lost key ${visible(lost)}: send it to all who keep an earlier one`,
        )
        return many(signingKeyView, pagesOf(keys), { mutates: true })
      }),
    )
}

interface Irreversible {
  readonly yes: true | undefined
  readonly action: 'revoke' | 'replace'
  readonly note: string
}

async function confirmIrreversible(ctx: Context, { yes, action, note }: Irreversible): Promise<void> {
  if (!mustPrompt(ctx, { yes }, { action: `${action} the signing key`, isUncounted: true })) return
  const notes = [note, 'This cannot be undone.']
  await promptToConfirm(ctx, signingKeyView, [], {
    action,
    noun: 'signing key',
    where: 'this database',
    notes,
    total: 1,
  })
}
