import type { Context } from '../../../context.ts'
import { parseInstant } from '../../../contract/values.ts'
import { pastInstant } from '../../times.ts'
import type { At } from './moment.ts'

/** The instant of `--at`; with --verbose it is told what it became. Throws a usage error for one that is not over. */
export async function atOf(ctx: Context, flag: string, includeDeleted: boolean | undefined): Promise<At> {
  const text = pastInstant(flag, new Date())
  if (ctx.globals.verbose) await ctx.warn(`* --at ${text}`)
  return { text, instant: parseInstant(text) ?? 0, includeDeleted: includeDeleted ?? false }
}
