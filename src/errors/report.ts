import type { Context } from '../context.ts'
import { safeJson, visible } from '../output/index.ts'
import { maskKey } from '../settings/key.ts'
import { exit } from './errors.ts'
import { explain } from './explain.ts'

/** Codes that add nothing to their message, for people. */
const isOwn = new Set(['usage', 'settings', 'declined', 'interrupted', 'no_key', 'invalid_data'])

/**
 * Tells an error on stderr: to people in at most four lines, to machines in one, whichever the reader of stdout seems to
 * be. `subject` is what it is about; what to do about it is left out where it is told otherwise.
 */
export async function report(
  ctx: Pick<Context, 'io' | 'globals' | 'host'>,
  error: unknown,
  subject?: string,
  { isHinted = true } = {},
): Promise<void> {
  const explained = explain(error)
  const told = isHinted ? explained : { ...explained, hint: undefined }
  const isSaid = subject && (told.message.startsWith(subject) || told.message.endsWith(` ${subject}`))
  const message = subject && !isSaid ? `${subject}: ${told.message}` : told.message
  const { err } = ctx.io
  if (ctx.globals.debug) {
    await err.write(
      stackLines(error)
        .map(line => `${masked(visible(line))}\n`)
        .join(''),
    )
  }
  if (wantsJson(ctx)) {
    const { code, hint, exit: exitCode, status, requestId } = told
    const body = { code, message, hint, exit: exitCode, status, request_id: requestId ?? undefined }
    return await err.write(
      `${masked(safeJson({ error: { ...body, retryable: exitCode === exit.temporary } }))}\n`,
    )
  }
  const red = err.color ? (text: string) => `\u001b[31m${text}\u001b[39m` : (text: string) => text
  const lines = [
    `${red('error:')} ${visible(message)}${isOwn.has(told.code) ? '' : ` (${visible(told.code)})`}`,
  ]
  if (told.why) lines.push(`why: ${visible(told.why)}`)
  if (told.hint) lines.push(`try: ${visible(told.hint)}`)
  if (told.requestId) lines.push(`request: ${visible(told.requestId)}`)
  await err.write(`${masked(lines.join('\n'))}\n`)
}

function wantsJson({ globals, host }: Pick<Context, 'globals' | 'host'>): boolean {
  const format = globals.json === undefined ? globals.output : 'json'
  return format === 'json' || format === 'ndjson' || host.env['CONSENTCTL_ERROR_FORMAT'] === 'json'
}

/** An instance may repeat the key that it refuses, or answer with a token where it should not; neither is shown. */
function masked(text: string): string {
  return text.replace(/\bs[kt]-[^\s"'`<>,;]{8,}/g, maskKey)
}

/**
 * Where an error came from and what caused it, for --debug. Names, codes and places only: a message may hold a piece of
 * an answer or of a file.
 */
export function stackLines(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 5) return []
  const { name, stack = '', cause } = error
  const { code } = error as { code?: unknown }
  const places = stack.split('\n').filter(line => /^\s+at /.test(line))
  const title = `${depth === 0 ? '* thrown' : '* caused by'}: ${name}${typeof code === 'string' ? ` (${code})` : ''}`
  return [title, ...places, ...stackLines(cause, depth + 1)]
}
