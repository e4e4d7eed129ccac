import type { Host, Io } from '../io/io.ts'
import { safeJson, visible } from '../output/index.ts'
import { maskKey } from '../settings/key.ts'
import { exit } from './errors.ts'
import { explain } from './explain.ts'

interface ReportContext {
  readonly io: Io
  readonly host: Pick<Host, 'env'>
  readonly globals: {
    readonly json?: string | true
    readonly output?: string
    readonly debug?: boolean
  }
}

/** Codes that add nothing to their message and are not shown to people. */
const isOwn = new Set(['usage', 'settings', 'declined', 'interrupted', 'no_key', 'invalid_data'])

/**
 * Writes an error to stderr: at most four lines for people, one line of JSON for programs. `subject`, such as an id, is
 * put before the message. Without `isHinted` the hint is left out.
 */
export async function report(
  ctx: ReportContext,
  error: unknown,
  subject?: string,
  { isHinted = true } = {},
): Promise<void> {
  const explained = explain(error)
  const shown = isHinted ? explained : { ...explained, hint: undefined }
  const isSaid = subject && (shown.message.startsWith(subject) || shown.message.endsWith(` ${subject}`))
  const message = subject && !isSaid ? `${subject}: ${shown.message}` : shown.message
  const { err } = ctx.io
  if (ctx.globals.debug) {
    await err.write(
      stackLines(error)
        .map(line => `${masked(visible(line))}\n`)
        .join(''),
    )
  }
  if (wantsJson(ctx)) {
    const { code, hint, exit: exitCode, status, requestId } = shown
    const body = { code, message, hint, exit: exitCode, status, request_id: requestId ?? undefined }
    return await err.write(
      `${masked(safeJson({ error: { ...body, retryable: exitCode === exit.temporary } }))}\n`,
    )
  }
  const red = err.color ? (text: string) => `\u001b[31m${text}\u001b[39m` : (text: string) => text
  const lines = [
    `${red('error:')} ${visible(message)}${isOwn.has(shown.code) ? '' : ` (${visible(shown.code)})`}`,
  ]
  if (shown.why) lines.push(`why: ${visible(shown.why)}`)
  if (shown.hint) lines.push(`try: ${visible(shown.hint)}`)
  if (shown.requestId) lines.push(`request: ${visible(shown.requestId)}`)
  await err.write(`${masked(lines.join('\n'))}\n`)
}

function wantsJson({ globals, host }: ReportContext): boolean {
  const format = globals.json === undefined ? globals.output : 'json'
  return format === 'json' || format === 'ndjson' || host.env['CONSENTCTL_ERROR_FORMAT'] === 'json'
}

/** Masks keys and tokens, because an instance may repeat the key that it rejects. */
function masked(text: string): string {
  return text.replace(/\bs[kt]-[^\s"'`<>,;]{8,}/g, maskKey)
}

/** For --debug: names, codes and locations only, because a message may quote a response or a file. */
function stackLines(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 5) return []
  const { name, stack = '', cause } = error
  const { code } = error as { code?: unknown }
  const places = stack.split('\n').filter(line => /^\s+at /.test(line))
  const title = `${depth === 0 ? '* thrown' : '* caused by'}: ${name}${typeof code === 'string' ? ` (${code})` : ''}`
  return [title, ...places, ...stackLines(cause, depth + 1)]
}
