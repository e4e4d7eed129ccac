import type { Context } from '../context.ts'
import { dataError, type Exit, exit } from '../errors/errors.ts'
import { exitOf } from '../errors/explain.ts'
import { report } from '../errors/report.ts'
import { decode, readLines } from '../io/input.ts'
import { fromTsv } from '../output/index.ts'
import { isId } from './action.ts'

/** Continues after an error, unless all others would fail too. `exit` is valid once all pages are read. */
export function runForEach<Row>(
  ctx: Context,
  ids: readonly string[],
  run: (id: string) => Promise<readonly Row[]>,
  finish: (done: number) => Promise<void> = async () => {},
): { readonly pages: AsyncIterable<readonly Row[]>; readonly exit: () => Exit } {
  const failures: Exit[] = []
  let done = 0
  const reportFailure = async (error: unknown, id: string): Promise<Exit> => {
    const code = exitOf(error)
    if (ids.length === 1 || (endsAll(code) && done === 0)) throw error
    if (!isInterrupted(code)) await report(ctx, error, id) // the interruption is reported once
    failures.push(code)
    return code
  }
  async function* pages(): AsyncGenerator<readonly Row[]> {
    for (const [index, id] of ids.entries()) {
      const result = await run(id).catch(error => reportFailure(error, id))
      if (typeof result === 'object') {
        if (result.length > 0) done += 1
        yield result
      } else if (endsAll(result)) {
        await ctx.warn(`${stopWord(result)}: ${ids.length - index} of ${ids.length} ids not processed, from ${id} on`)
        break
      }
    }
    await finish(done)
  }
  return { pages: pages(), exit: () => overallExit(done, failures) }
}

export function endsAll(code: Exit): boolean {
  return code === exit.auth || code === exit.quota || isInterrupted(code)
}

function stopWord(code: Exit): string {
  return isInterrupted(code) ? 'interrupted' : 'stopped'
}

export function isInterrupted(code: Exit): boolean {
  return code === exit.interrupted || code === exit.terminated
}

export function overallExit(done: number, failures: readonly Exit[]): Exit {
  const [first] = failures
  const interrupted = failures.find(isInterrupted)
  if (interrupted) return interrupted
  if (first === undefined) return exit.done
  return done === 0 ? first : exit.partial
}

/** Returns each id once. `-` reads lines of stdin, except a CSV header. */
export async function expandIds(ctx: Context, operands: readonly string[]): Promise<string[]> {
  const ids = new Set<string>()
  for (const operand of operands) {
    if (operand !== '-') {
      ids.add(operand)
      continue
    }
    for await (const { number, bytes } of readLines(ctx.io, '-')) {
      const id = fromTsv(decode(bytes, `line ${number}`).trim())
      if (number === 1 && id === 'id') continue
      if (!isId(id)) throw dataError(`line ${number} of standard input is not a valid id`)
      ids.add(id)
    }
  }
  return [...ids]
}
