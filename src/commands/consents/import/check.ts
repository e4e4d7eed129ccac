import { formatCount } from '../../../cli/messages.ts'
import type { Context } from '../../../context.ts'
import { usage } from '../../../contract/usage.ts'
import { CliError, dataError, exit } from '../../../errors/errors.ts'
import { report } from '../../../errors/report.ts'
import type { Source } from './source.ts'

export interface Extent {
  readonly lines: number
  /** Of all bytes, in hexadecimal. */
  readonly sha256: string
}

/** Reads every line; throws when one is no record, after it has told of each, up to so many. */
export async function validate(
  ctx: Context,
  source: Source,
  maxErrors: number,
  signal: AbortSignal,
): Promise<Extent> {
  let [lines, wrong] = [0, 0]
  try {
    for await (const entries of source.entries()) {
      for (const { line, error } of entries) {
        lines += 1
        if (error === null) continue
        wrong += 1
        await report(ctx, error, `line ${line.number}`)
        if (wrong >= maxErrors || signal.aborted) break
      }
      if (wrong >= maxErrors || signal.aborted) break
    }
  } catch (error) {
    throw nothingSent(error)
  }
  if (wrong === 0) return { lines, sha256: source.digest() }
  throw dataError(`${formatCount(wrong, 'line')} of ${lines} cannot be sent, so nothing was`, 'mend the file')
}

/** An error that came before anything was sent; one in the data says so. */
export function nothingSent(error: unknown): unknown {
  if (!(error instanceof CliError) || error.code !== 'invalid_data') return error
  return dataError(`${error.message}, so nothing was sent`, error.hint)
}

/** Fewer lines are just tried: to ask costs a request of the quota itself. */
const worthAsking = 100

/** Throws where the month's quota cannot suffice; not every instance tells. */
export async function requireQuota(ctx: Context, lines: number): Promise<void> {
  if (lines <= worthAsking) return
  const used = await ctx.api.call(usage.get, {}).catch(() => null)
  if (!used || used.remaining === null || used.remaining >= lines) return
  throw new CliError(
    'quota_exceeded',
    exit.quota,
    `${formatCount(lines, 'line')} would be sent, and ${used.remaining} fit into this month's quota`,
    { hint: `split the file, wait until ${used.resets_at}, or send what fits with --ignore-quota` },
  )
}
