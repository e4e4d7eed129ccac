import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import * as z from 'zod'
import { action, nonEmpty } from '../../cli/action.ts'
import { addSelectionFlags, readStart, selectEvents, selectionOptions } from '../../cli/event-selection.ts'
import { follow } from '../../cli/follow.ts'
import { many } from '../../cli/output.ts'
import { type HttpClient, openDirect } from '../../client/http.ts'
import type { Context } from '../../context.ts'
import type { Event } from '../../contract/events.ts'
import { dataError } from '../../errors/errors.ts'
import { readSecretText, secretText, signedHeaders } from '../../evidence/webhook-signature.ts'
import { readText } from '../../io/input.ts'
import { type Forwarded, forwardedView } from '../../views/webhook.ts'

const Options = z.strictObject({
  ...selectionOptions,
  forwardTo: z
    .string()
    .refine(text => /^https?:/i.test(text) && URL.canParse(text), 'must be an http or https URL')
    .transform(text => new URL(text)),
  secretFile: nonEmpty.optional(),
})

export function listen(command: Command, ctx: Context): void {
  addSelectionFlags(
    command
      .requiredOption('--forward-to <url>', 'address that gets the events, such as http://localhost:3000/consents')
      .option('--secret-file <path|->', 'sign with the secret in this file, whsec_…, instead of a random one'),
  )
    .description(`
Follows the feed like watch, and sends each event as a webhook would: signed by Standard Webhooks 1.0, one after the
other. The service keeps no webhook for it. A delivery that fails is a warning and is not repeated; redirects are not
followed. Without --secret-file a random secret is printed on standard error. Begins now, without --after or --from;
Ctrl-C and SIGTERM end it with 0. Requires a key with the scope read.

Examples:
  $ consentctl webhooks listen --forward-to http://localhost:3000/consents
  $ consentctl webhooks listen --forward-to http://localhost:3000/consents --from 1d --type withdrawn`)
    .action(action(ctx, Options, forwardedView, async (_, options) => many(forwardedView, forward(ctx, options))))
}

async function* forward(ctx: Context, { forwardTo: url, secretFile, type, ...place }: z.output<typeof Options>) {
  const start = readStart(place)
  const secret = secretFile === undefined ? randomBytes(32) : await readSecret(ctx, secretFile)
  if (secretFile === undefined) await ctx.say(`deliveries are signed with the secret ${secretText(secret)}`)
  const http = await openDirect(url.protocol === 'https:', null)
  try {
    for await (const { data } of follow(ctx, { ...start, isOnce: false })) {
      for (const event of selectEvents(data, start, type)) {
        if (ctx.interruption.aborted) return
        const forwarded = await post(http, url, secret, event)
        const { position, problem } = forwarded
        if (problem !== null) await ctx.warn(`warning: event ${position} was not delivered: ${problem}`)
        yield [forwarded]
      }
    }
  } finally {
    http.close()
  }
}

async function readSecret({ io }: Context, path: string): Promise<Buffer> {
  const secret = readSecretText((await readText(io, path)).trim())
  if (secret) return secret
  throw dataError(`${path} has no secret of a webhook: it must be whsec_ and the base64 of 24 to 64 bytes`)
}

/** That of the service, so that a handler that is too slow for it is too slow here. */
const timeoutMs = 10_000

async function post(http: HttpClient, url: URL, secret: Buffer, event: Event): Promise<Forwarded> {
  const { position, type } = event
  const body = JSON.stringify(event)
  const headers = signedHeaders([{ signature: 'v1', secret }], { id: `listen_${position}`, at: new Date(), body })
  const signal = AbortSignal.timeout(timeoutMs)
  const start = performance.now()
  const { status, problem } = await http.send({ method: 'POST', url, headers, body, signal, onSent: () => {} }).then(
    async ({ status, body: rest }) => {
      await drain(rest).catch(() => {}) // the status is the answer
      return { status, problem: status >= 200 && status < 300 ? null : `answered ${status}` }
    },
    ({ code, message }: NodeJS.ErrnoException) => {
      const cause = signal.aborted ? `no answer within ${timeoutMs / 1000} s` : `no answer (${code ?? message})`
      return { status: null, problem: cause }
    },
  )
  return { position, type, status, ms: Math.round(performance.now() - start), problem }
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of body);
}
