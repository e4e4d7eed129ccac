import type { Context } from '../../context.ts'
import type { ConsentDraft } from '../../contract/index.ts'
import { dataError } from '../../errors.ts'
import { type Exit, exit } from '../../exit.ts'
import { explain } from '../../explain.ts'
import { inOrder } from '../../io/concurrency.ts'
import { decode, type Line, readLines } from '../../io/input.ts'
import { report } from '../../report.ts'
import { bulkView, type LineResult } from '../../views/bulk.ts'
import { overall } from '../each.ts'
import { counted, instanceOf } from '../instance.ts'
import { many, type Output } from '../output.ts'
import { readObject } from './fields.ts'

/** How many requests are under way at once. */
const concurrency = 8

/** Errors that no later line can fare better with: the rest of the file is not sent. */
const stops = new Set<Exit>([exit.auth, exit.quota])

/**
 * Creates a record for each line, and yields a result for each, in the order of the lines. A line that fails is
 * reported and the others go on, until a key or a quota fails; `exit` tells a partial success from a whole one.
 */
export function bulkCreate(ctx: Context, file: string, site: string | undefined): Output<LineResult> {
  const failures: Exit[] = []
  let done = 0
  let isStopped = false
  async function* lines(): AsyncGenerator<Line> {
    for await (const line of readLines(ctx.io, file)) {
      if (isStopped) return
      yield line
    }
  }
  const createOne = async (line: Line): Promise<LineResult & { error?: unknown }> => {
    try {
      const { id } = await ctx.api.consents.create({ body: readDraft(line, site) })
      return { line: line.number, result: 'created', id, error_code: null }
    } catch (error) {
      return { line: line.number, result: 'failed', id: null, error_code: explain(error).code, error }
    }
  }
  async function* pages(): AsyncGenerator<readonly LineResult[]> {
    let last = 0
    for await (const { error, ...result } of inOrder(lines(), concurrency, createOne)) {
      if (error === undefined) done += 1
      else {
        await report(ctx, error, `line ${result.line}`)
        const code = explain(error).exit
        failures.push(code)
        isStopped ||= stops.has(code)
      }
      last = result.line
      yield [result]
    }
    if (isStopped) await ctx.say(`stopped after line ${last}: the lines that follow would fail alike`)
    await ctx.say(`created ${counted(done)} on ${instanceOf(ctx)}, ${failures.length} failed`)
  }
  return many(bulkView, pages(), { mutates: true, exit: () => overall(done, failures) })
}

/** A line as the body of a create; the service checks its fields. A site of its own wins over the command's. */
function readDraft({ number, bytes }: Line, site: string | undefined): ConsentDraft {
  const name = `line ${number}`
  const fields = readObject(decode(bytes, name), name)
  if (!('site_id' in fields) && site === undefined)
    throw dataError(`${name} has no site_id, and no --site is given`)
  return { site_id: site, ...fields } as ConsentDraft
}
