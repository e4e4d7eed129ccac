import type { Context, Globals } from '../context.ts'
import { CliError, type Exit, exit, Resumable, usageError } from '../errors/errors.ts'
import { report } from '../errors/report.ts'
import type { OutFile } from '../io/out-file.ts'
import { type FormatName, formats, type View } from '../output/index.ts'
import { formatCount } from './messages.ts'

/** What a command gives back: rows page by page, and how they look. It never prints, and knows no format. */
export interface Output<Row> {
  readonly view: View<Row>
  readonly pages: AsyncIterable<readonly Row[]>
  /** One record asked for by itself, rather than a list that happens to have one. */
  readonly single: boolean
  /** Whether to go on when the reader of stdout has gone: work that changes records is finished. */
  readonly mutates: boolean
  /** Whether it can be gone on with, so that it ends where its results cannot be written, and they are not lost. */
  readonly resumes?: boolean
  /** Told when all is printed, for people. */
  readonly footer?: () => Promise<void>
  /** Asked when the rows are through: the exit code, where it is not 0. */
  readonly exit?: () => Exit
}

type Extra<Row> = Partial<Pick<Output<Row>, 'mutates' | 'resumes' | 'footer' | 'exit' | 'single'>>

/** Rows as they come. */
export function many<Row>(
  view: View<Row>,
  pages: AsyncIterable<readonly Row[]>,
  extra: Extra<Row> = {},
): Output<Row> {
  return { view, pages, single: false, mutates: false, ...extra }
}

/** One row. */
export function one<Row>(view: View<Row>, row: Row, extra: Extra<Row> = {}): Output<Row> {
  return many(view, pagesOf([row]), { single: true, ...extra })
}

export async function* pagesOf<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows
}

/** All rows of something, and on a terminal how many there are. */
export function countedList<Row>(
  ctx: Context,
  view: View<Row>,
  rows: readonly Row[],
  noun: string,
): Output<Row> {
  const footer = async () => {
    if (ctx.io.out.isTerminal) await ctx.say(formatCount(rows.length, noun))
  }
  return many(view, pagesOf(rows), { footer })
}

/** Tells that something does not verify, where the rows on stdout say what (exit 5). */
export async function reportInvalid(ctx: Context, message: string): Promise<void> {
  await report(ctx, new CliError('not_valid', exit.rejected, message))
}

/** The formats that have a line of cells for each row. */
const ofCells: readonly FormatName[] = ['table', 'tsv', 'csv']

/** Flags that not every format understands, and those that do. */
const understood: readonly [flag: string, isGiven: (globals: Globals) => boolean, readonly FormatName[]][] = [
  ['--json', ({ json }) => json !== undefined, ['json', 'id']],
  ['--columns', ({ columns }) => columns !== undefined, ofCells],
  ['--header', ({ header }) => header === true, [...ofCells, 'id']],
  ['--no-truncate', ({ truncate }) => truncate === false, ofCells],
  ['--no-csv-guard', ({ csvGuard }) => csvGuard === false, ['csv']],
]

/**
 * The view with the columns that were asked for, in that order, or null where none were. Throws a usage error for flags
 * that make no sense together, for unknown columns, and where a secret that is shown once would be left out.
 */
function chosenView<Row>({ globals }: Context, format: FormatName, view: View<Row>): View<Row> | null {
  for (const [flag, isGiven, formats] of understood) {
    if (isGiven(globals) && !formats.includes(format))
      throw usageError(`${flag} makes no sense with ${globals.quiet ? '-q' : `-o ${format}`}`)
  }
  const secret = view.columns.filter(({ once }) => once).map(({ name }) => name)
  if (format === 'id' && secret.length > 0)
    throw usageError('-q and -o id would lose the secret, which is shown once')
  const fields = typeof globals.json === 'string' ? globals.json : undefined
  const [flag, list] = globals.columns === undefined ? ['--json', fields] : ['--columns', globals.columns]
  if (list === undefined) return null
  const columns = list.split(',').map(name => columnOf(view, flag, name.trim()))
  if (new Set(columns).size < columns.length) throw usageError(`${flag} has a name twice`)
  const lost = secret.find(name => !columns.some(column => column.name === name))
  if (lost) throw usageError(`${flag} would lose the ${lost}, which is shown once`, `add ${lost}`)
  return { ...view, columns }
}

/** Throws where a command that prints no records is told how to print them; `takesOut` where `--out` is another matter. */
export function rejectOutputFlags({ globals }: Context, takesOut = false): void {
  const flags = {
    '--json=': typeof globals.json === 'string',
    '--columns': globals.columns,
    '--out': takesOut ? undefined : globals.out,
  }
  for (const [flag, value] of Object.entries(flags))
    if (value !== undefined && value !== false)
      throw usageError(`this command prints no records: ${flag} makes no sense`)
}

function columnOf<Row>({ columns }: View<Row>, flag: string, name: string) {
  const column = columns.find(each => each.name === name)
  if (column) return column
  const wrong = name === '' ? 'has an empty name' : `has "${name}", which is not there`
  throw usageError(`${flag} ${wrong}; there are: ${columns.map(each => each.name).join(',')}`)
}

/**
 * Prints what a command gives back: on standard output, or into the file of `--out`. All that can be wrong with how it
 * is to be printed is thrown before the command is run; a file gets its name after everything else went well.
 */
export async function printOutput(
  ctx: Context,
  format: FormatName,
  view: View<unknown>,
  run: () => Promise<Output<unknown> | undefined>,
): Promise<void> {
  const chosen = chosenView(ctx, format, view)
  if (ctx.globals.out === undefined) {
    const output = await run()
    if (output) await show(ctx, format, chosen, output)
    return
  }
  const { openOutFile } = await import('../io/out-file.ts')
  const file = await openOutFile(ctx.globals.out)
  let isWhole = false
  let isPrecious = false
  try {
    const output = await run()
    if (!output) return // it has done its own talking, and there is nothing to keep
    isPrecious = output.mutates
    await print(ctx, format, chosen, output, file)
    await file.commit()
    isWhole = true
    await ctx.say(`wrote ${ctx.globals.out}`)
  } catch (error) {
    // To go on where it stopped is of no use without what came before.
    throw error instanceof Resumable ? error.cause : error
  } finally {
    if (!isWhole) await giveUp(ctx, file, isPrecious)
  }
}

/** On standard output; through a pager where that was asked for, and somebody watches. */
async function show(
  ctx: Context,
  format: FormatName,
  chosen: View<unknown> | null,
  output: Output<unknown>,
): Promise<void> {
  const { out } = ctx.io
  if (!ctx.globals.pager || !out.isTerminal) return await print(ctx, format, chosen, output, out)
  const pager = (await import('../io/pager.ts')).openPager(ctx.host)
  try {
    await print(ctx, format, chosen, output, pager, true)
  } finally {
    await pager.end()
  }
}

/** What a change has answered is kept: it may be a secret that is shown once, or the only trace of what was done. */
async function giveUp(ctx: Context, file: OutFile, isPrecious: boolean): Promise<void> {
  const isKept = isPrecious && !file.isEmpty
  await file.abandon(isKept)
  if (isKept) await ctx.warn(`what was done until then is in ${file.part}`)
}

async function print<Row>(
  ctx: Context,
  format: FormatName,
  chosen: View<Row> | null,
  { view, pages, single, mutates, resumes, footer, exit: exitOf }: Output<Row>,
  target: { write(text: string): Promise<void>; readonly closed?: boolean },
  isScreen = target === ctx.io.out,
): Promise<void> {
  const { out } = ctx.io
  const { header, color, truncate, csvGuard } = ctx.globals
  const asked = started(pages) // the first request is on its way while the renderer loads
  const render = await formats[format](single)
  const renderer = render(chosen ?? view, {
    single,
    columns: out.columns,
    color: isScreen ? out.color : color === 'always',
    header: header ?? false,
    chosen: chosen !== null,
    uncut: truncate === false,
    unguarded: csvGuard === false,
    isTerminal: isScreen && out.isTerminal,
  })
  let begin = renderer.begin() // written with the first rows: a command that fails before them prints nothing
  let unwritten: unknown
  const write = async (text: string) => {
    if (unwritten === undefined)
      await target.write(text).catch((error: unknown) => {
        if (!mutates || resumes) throw error
        unwritten = error // what was asked for is done all the same
      })
  }
  for await (const rows of asked) {
    await write(begin + renderer.rows(rows))
    begin = ''
    if (target.closed && !mutates) break
  }
  await write(begin + renderer.end())
  if (unwritten !== undefined) throw unwritten
  if (!target.closed) await footer?.()
  ctx.exit = exitOf?.() ?? exit.done
}

/** The same pages, of which the first is asked for at once. */
function started<Page>(pages: AsyncIterable<Page>): AsyncIterable<Page> {
  const source = pages[Symbol.asyncIterator]()
  const first = source.next()
  first.catch(() => {}) // it is thrown where the pages are read
  return (async function* () {
    try {
      for (let page = await first; !page.done; page = await source.next()) yield page.value
    } finally {
      await source.return?.()
    }
  })()
}

/** Prints a text as it is: on standard output, or into the file of `--out`, which gets its name when it is whole. */
export async function printText(ctx: Context, run: () => Promise<string>): Promise<void> {
  const { out } = ctx.globals
  if (out === undefined) return await ctx.io.out.write(await run())
  const { openOutFile } = await import('../io/out-file.ts')
  const file = await openOutFile(out)
  try {
    await file.write(await run())
    await file.commit()
  } catch (error) {
    await file.abandon(false)
    throw error
  }
  await ctx.say(`wrote ${out}`)
}
