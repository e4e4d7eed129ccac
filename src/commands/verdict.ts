import type { Context } from '../context.ts'
import { CliError } from '../errors/errors.ts'
import { exit } from '../errors/exit.ts'
import { report } from '../errors/report.ts'

/** Tells that something does not verify, where the rows on stdout say what (exit 5). */
export async function tellInvalid(ctx: Context, message: string): Promise<void> {
  await report(ctx, new CliError('not_valid', exit.rejected, message))
}
