import type { Context } from '../context.ts'
import { dataError, type Exit, exit } from '../errors/errors.ts'
import { exitOf } from '../errors/explain.ts'
import { report } from '../errors/report.ts'
import { decode, readLines } from '../io/input.ts'
import { fromTsv } from '../output/index.ts'
import { isId } from './action.ts'

/** Rows of several ids, and the exit code once they are all read. */
interface Outcome<Row> {
  readonly pages: AsyncIterable<readonly Row[]>
  readonly exit: () => Exit
}

/**
 * Runs the same work for each id, in order. An error is reported and the next id is tried, unless all others would fail
 * too: without a valid key or without quota. The exit code is `partial` if some succeeded. `finish` gets their number.
 */
export function runForEach<Row>(
  ctx: Context,
  ids: readonly string[],
  run: (id: string) => Promise<readonly Row[]>,
  finish: (done: number) => Promise<void> = async () => {},
): Outcome<Row> {
  const failures: Exit[] = []
  let done = 0
  async function* pages(): AsyncGenerator<readonly Row[]> {
    for (const [index, id] of ids.entries()) {
      let rows: readonly Row[]
      try {
        rows = await run(id)
      } catch (error) {
        const code = exitOf(error)
        if (ids.length === 1 || (endsAll(code) && done === 0)) throw error
        await report(ctx, error, id)
        failures.push(code)
        if (endsAll(code)) {
          const left = ids.length - index
          await ctx.warn(
            `stopped: ${left} of ${ids.length} ids ${left === 1 ? 'was' : 'were'} not processed, from ${id} on`,
          )
          break
        }
        continue
      }
      if (rows.length > 0) done += 1
      yield rows
    }
    await finish(done)
  }
  return { pages: pages(), exit: () => overallExit(done, failures) }
}

/** True if all further requests would fail too: without a valid key, without quota, or interrupted. */
export function endsAll(code: Exit): boolean {
  return code === exit.auth || code === exit.quota || isInterrupted(code)
}

function isInterrupted(code: Exit): boolean {
  return code === exit.interrupted || code === exit.terminated
}

/** The exit code of several pieces of work. */
export function overallExit(done: number, failures: readonly Exit[]): Exit {
  const [first] = failures
  const interrupted = failures.find(isInterrupted)
  if (interrupted) return interrupted
  if (first === undefined) return exit.done
  return done === 0 ? first : exit.partial
}

/** Returns each id once; `-` stands for the lines of stdin, as `-q` writes them. */
export async function expandIds(ctx: Context, operands: readonly string[]): Promise<string[]> {
  const ids = new Set<string>()
  for (const operand of operands) {
    if (operand !== '-') {
      ids.add(operand)
      continue
    }
    for await (const { number, bytes } of readLines(ctx.io, '-')) {
      const id = fromTsv(decode(bytes, `line ${number}`).trim())
      if (!isId(id)) throw dataError(`line ${number} of standard input is not a valid id`)
      ids.add(id)
    }
  }
  return [...ids]
}
