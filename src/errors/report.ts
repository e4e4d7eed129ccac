import type { Host, Io } from '../io/io.ts'
import { safeJson, visible } from '../output/index.ts'
import { maskKey } from '../settings/key.ts'
import { exit } from './errors.ts'
import { exitOf, explain } from './explain.ts'
import { openKinds } from './kinds.ts'
import { wantsJson } from './wants-json.ts'

interface ReportContext {
  readonly io: Io
  readonly host: Pick<Host, 'env'>
  readonly globals: {
    readonly json?: string | true
    readonly output?: string
    readonly debug?: boolean
  }
}

const maxExamples = 3

/**
 * Reports the first three errors of each kind, a hint with the first, and the number of others. Messages of a kind
 * differ only in numbers, ids and quoted text.
 */
export function reportsByKind(ctx: ReportContext & { readonly warn: (text: string) => Promise<void> }) {
  const kinds = new Map<string, { readonly first: string; count: number }>()
  const kindOf = openKinds()
  return {
    add: async (error: unknown, subject: string, { isHinted = true } = {}): Promise<void> => {
      const { code, message } = kindOf(error, subject)
      const name = `${exitOf(error)} ${code} ${message}` // only some may be worth a retry
      const kind = kinds.get(name) ?? { first: subject, count: 0 }
      kinds.set(name, kind)
      kind.count += 1
      if (kind.count <= maxExamples) await report(ctx, error, subject, { isHinted: isHinted && kind.count === 1 })
    },
    finish: async (): Promise<void> => {
      for (const { first, count } of kinds.values())
        if (count > maxExamples) await ctx.warn(`and ${count - maxExamples} more errors like ${first}`)
    },
  }
}

const hiddenCodes = new Set(['usage', 'settings', 'declined', 'interrupted', 'no_key', 'invalid_data'])

/** At most four lines of text, or one of JSON. `subject`, such as an id, precedes the message. */
export async function report(
  ctx: ReportContext,
  error: unknown,
  subject?: string,
  { isHinted = true } = {},
): Promise<void> {
  const { err } = ctx.io
  const write = (lines: readonly string[]) => err.write(`${masked(lines.join('\n'))}\n`)
  if (ctx.globals.debug && error instanceof Error) await write(stackLines(error).map(visible))
  const { code, reason, why, exit: exitCode, status, requestId, ...explained } = explain(error)
  const hint = isHinted ? explained.hint : undefined
  const isNamed = !subject || explained.message.startsWith(subject) || explained.message.endsWith(` ${subject}`)
  const message = isNamed ? explained.message : `${subject}: ${explained.message}`
  if (wantsJson(ctx.globals, ctx.host)) {
    const body = { code, reason, message, hint, exit: exitCode, status, request_id: requestId ?? undefined }
    return await write([safeJson({ error: { ...body, retryable: exitCode === exit.temporary } })])
  }
  const label = err.color ? '\u001b[31merror:\u001b[39m' : 'error:'
  const shownCode = hiddenCodes.has(code) ? '' : ` (${visible(code)})`
  const lines = [`${label} ${visible(message)}${shownCode}`]
  if (why) lines.push(`why: ${visible(why)}`)
  if (hint) lines.push(`try: ${visible(hint)}`)
  if (requestId) lines.push(`request: ${visible(requestId)}`)
  await write(lines)
}

/** An instance may echo the rejected key. */
function masked(text: string): string {
  return text.replace(/\bs[kt]-[^\s"'`<>,;]{8,}/g, maskKey)
}

/** Omits messages, which may quote a response or a file. */
function stackLines(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 5) return []
  const { name, stack = '', cause } = error
  const { code } = error as { code?: unknown }
  const places = stack.split('\n').filter(line => /^\s+at /.test(line))
  const title = `${depth === 0 ? '* thrown' : '* caused by'}: ${name}${typeof code === 'string' ? ` (${code})` : ''}`
  return [title, ...places, ...stackLines(cause, depth + 1)]
}
