import type { Context } from '../../context.ts'
import type { ConsentDraft } from '../../contract/index.ts'
import { dataError } from '../../errors.ts'
import { type Exit, exit } from '../../exit.ts'
import { explain } from '../../explain.ts'
import { inOrder } from '../../io/concurrency.ts'
import { decode, type Line, readLines } from '../../io/input.ts'
import { report } from '../../report.ts'
import { requireApiKey, requireBaseUrl } from '../../settings.ts'
import { bulkView, type LineResult } from '../../views/bulk.ts'
import { isHopeless, overall } from '../each.ts'
import { counted, instanceOf } from '../instance.ts'
import { many, type Output } from '../output.ts'
import { readObject } from './fields.ts'

/** How many requests are under way at once. */
const concurrency = 8

type Result = LineResult & { readonly error?: unknown }

/**
 * Creates a record for each line, and yields a result for each, in the order of the lines. A line that fails is
 * reported and the others go on, until none can fare better; `exit` tells a partial success from a whole one.
 */
export function bulkCreate(ctx: Context, file: string, site: string | undefined): Output<LineResult> {
  requireBaseUrl(ctx.settings)
  requireApiKey(ctx.settings)
  const failures: Exit[] = []
  let done = 0
  let isStopped = false
  let isInterrupted = false
  // Once: what is under way is finished and told. A second Ctrl-C ends the process as ever.
  ctx.host.once('SIGINT', () => {
    isStopped = isInterrupted = true
    if (file === '-') ctx.io.stdin.destroy?.()
  })
  async function* lines(): AsyncGenerator<Line> {
    try {
      for await (const line of readLines(ctx.io, file)) {
        if (isStopped) return
        yield line
      }
    } catch (error) {
      if (!isInterrupted) throw error
    }
  }
  async function* pages(): AsyncGenerator<readonly LineResult[]> {
    let last = 0
    try {
      for await (const { error, ...result } of inOrder(lines(), concurrency, line =>
        createOne(ctx, line, site),
      )) {
        if (error === undefined) done += 1
        else await fail(error, `line ${result.line}`)
        last = result.line
        yield [result]
      }
    } catch (error) {
      if (last === 0) throw error
      await fail(error, `after line ${last}`)
      await ctx.warn('stopped: the lines that follow were not read')
    }
    if (isInterrupted) await ctx.warn(`interrupted after line ${last}: the lines that follow were not sent`)
    else if (isStopped) await ctx.warn(`stopped after line ${last}: the lines that follow would fail alike`)
    const unknown = failures.filter(code => code === exit.unknown).length
    const rest = `${failures.length - unknown} failed${unknown > 0 ? `, ${unknown} unknown` : ''}`
    await ctx.say(`created ${counted(done)} on ${instanceOf(ctx)}, ${rest}`)
  }
  const fail = async (error: unknown, subject: string) => {
    const code = explain(error).exit
    if (!isStopped || !isHopeless(code)) await report(ctx, error, subject)
    failures.push(code)
    isStopped ||= isHopeless(code)
  }
  return many(bulkView, pages(), {
    mutates: true,
    exit: () => (isInterrupted ? exit.interrupted : overall(done, failures)),
  })
}

async function createOne(ctx: Context, line: Line, site: string | undefined): Promise<Result> {
  try {
    const { id } = await ctx.api.consents.create({ body: readDraft(line, site) })
    return { line: line.number, result: 'created', id, error_code: null }
  } catch (error) {
    const { code, exit: exitCode } = explain(error)
    const result = exitCode === exit.unknown ? 'unknown' : 'failed'
    return { line: line.number, result, id: null, error_code: code, error }
  }
}

/** A line as the body of a create; the service checks its fields. A site of its own wins over the command's. */
function readDraft({ number, bytes }: Line, site: string | undefined): ConsentDraft {
  const name = `line ${number}`
  const fields = readObject(decode(bytes, name), name)
  if (!('site_id' in fields) && site === undefined) {
    throw dataError(`${name} has no site_id, and no --site is given`)
  }
  return { site_id: site, ...fields } as ConsentDraft
}
