import type { Context } from '../context.ts'
import { usageError } from '../errors/errors.ts'
import { readText } from '../io/input.ts'

/** A password from standard input, without the end of its line; on a terminal it would be shown while it is typed. */
export async function readPassword({ io }: Context): Promise<string> {
  if (io.stdin.isTTY) throw usageError('standard input is a terminal', 'leave --password-stdin out')
  const password = (await readText(io, '-')).replace(/\r?\n$/, '')
  if (password === '') throw usageError('there is no password on standard input')
  return password
}
