import type { Context, Globals } from '../context.ts'
import { CliError, type Exit, exit, Resumable, usageError } from '../errors/errors.ts'
import { report } from '../errors/report.ts'
import type { OutFile } from '../io/new-file.ts'
import { type Column, type FormatName, formats, type View } from '../output/index.ts'
import { formatCount } from './messages.ts'

/** A command returns this. It never prints, and knows no format. */
export interface Output<Row> {
  readonly view: View<Row>
  readonly pages: AsyncIterable<readonly Row[]>
  /** False for a list with one row. */
  readonly single: boolean
  /** True for changes, which finish even if stdout is closed. */
  readonly mutates: boolean
  /** True if the command stops when its results cannot be written. */
  readonly resumes?: boolean
  readonly footer?: () => Promise<void>
  readonly exit?: () => Exit
}

type Extra<Row> = Partial<Pick<Output<Row>, 'mutates' | 'resumes' | 'footer' | 'exit' | 'single'>>

export function many<Row>(view: View<Row>, pages: AsyncIterable<readonly Row[]>, extra: Extra<Row> = {}): Output<Row> {
  return { view, pages, single: false, mutates: false, ...extra }
}

export function one<Row>(view: View<Row>, row: Row, extra: Extra<Row> = {}): Output<Row> {
  return many(view, pagesOf([row]), { single: true, ...extra })
}

export async function* pagesOf<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows
}

export function countedList<Row>(ctx: Context, view: View<Row>, rows: readonly Row[], noun: string): Output<Row> {
  const footer = async () => {
    if (ctx.io.out.isTerminal) await ctx.say(formatCount(rows.length, noun))
  }
  return many(view, pagesOf(rows), { footer })
}

/** Exit 5. */
export async function reportInvalid(ctx: Context, message: string): Promise<void> {
  await report(ctx, new CliError('not_valid', exit.rejected, message))
}

const cellFormats: readonly FormatName[] = ['table', 'tsv', 'csv', 'wide']

const flagFormats: readonly [flag: string, isGiven: (globals: Globals) => boolean, readonly FormatName[]][] = [
  ['--json', ({ json }) => json !== undefined, ['json', 'id']],
  ['--columns', ({ columns }) => columns !== undefined, cellFormats],
  ['--header', ({ header }) => header === true, [...cellFormats, 'id']],
  ['--no-truncate', ({ truncate }) => truncate === false, cellFormats],
  ['--no-csv-guard', ({ csvGuard }) => csvGuard === false, ['csv']],
]

/**
 * Returns null if no columns were requested.
 * @throws CliError (usage) for unsupported flags, unknown columns, or a missing secret that is shown only once
 */
async function selectColumns<Row>(
  { globals }: Context,
  format: FormatName,
  view: View<Row>,
): Promise<View<Row> | null> {
  for (const [flag, isGiven, formats] of flagFormats) {
    if (isGiven(globals) && !formats.includes(format))
      throw usageError(`${flag} cannot be combined with ${globals.quiet ? '-q' : `-o ${format}`}`)
  }
  const secret = view.columns.filter(({ once }) => once).map(({ name }) => name)
  if (format === 'id' && secret.length > 0)
    throw usageError('-q and -o id would lose the secret, which is shown only once')
  const fields = typeof globals.json === 'string' ? globals.json : undefined
  const [flag, list] = globals.columns === undefined ? ['--json', fields] : ['--columns', globals.columns]
  if (list === undefined) return null
  const columns = await Promise.all(list.split(',').map(name => findColumn(view, flag, name.trim())))
  if (new Set(columns.map(({ name }) => name)).size < columns.length) throw usageError(`${flag}: a name is repeated`)
  const lost = secret.find(name => !columns.some(column => column.name === name))
  if (lost) throw usageError(`${flag} would lose the ${lost}, which is shown only once`, `add ${lost}`)
  return { ...view, columns }
}

/** @throws CliError (usage) for output flags other than `allowed` */
export function rejectOutputFlags({ globals }: Context, ...allowed: readonly ('--out' | '--force')[]): void {
  const flags = {
    '--json=': typeof globals.json === 'string',
    '--columns': globals.columns,
    '--out': globals.out,
    '--force': globals.force,
  }
  for (const [flag, value] of Object.entries(flags))
    if (!allowed.some(each => each === flag) && value !== undefined && value !== false)
      throw usageError(`this command prints no records: remove ${flag}`)
}

async function findColumn<Row>({ columns }: View<Row>, flag: string, name: string): Promise<Column<Row>> {
  const column =
    columns.find(each => each.name === name) ?? (await import('../output/parts.ts')).findPart(columns, name)
  if (column) return column
  const parts = columns.flatMap(({ parts }) => (parts ? ` or ${parts.prefix}NAME` : []))
  const wrong = name === '' ? 'empty name' : `unknown field "${name}"`
  throw usageError(`${flag}: ${wrong}`, `use ${columns.map(each => each.name).join(',')}${parts.join('')}`)
}

/**
 * Prints to stdout, or to the file of `--out`, which appears only when complete.
 * @throws CliError (usage) for invalid output flags, before the command runs
 */
export async function printOutput(
  ctx: Context,
  format: FormatName,
  view: View<unknown>,
  run: () => Promise<Output<unknown> | undefined>,
): Promise<void> {
  const chosen = await selectColumns(ctx, format, view)
  if (ctx.globals.out === undefined) {
    requireNoForce(ctx)
    const output = await run()
    if (output) await show(ctx, format, chosen, output)
    return
  }
  const { openOutFile } = await import('../io/new-file.ts')
  const file = await openOutFile(ctx.globals.out, '--out', ctx.globals.force)
  let isComplete = false
  let mutates = false
  try {
    const output = await run()
    if (!output) return
    mutates = output.mutates
    const finish = await print(ctx, format, chosen, output, file)
    await finish()
    await file.commit()
    isComplete = true
    await ctx.say(`wrote ${ctx.globals.out}`)
  } catch (error) {
    // Resuming would lose the rows of the discarded file.
    throw error instanceof Resumable ? error.cause : error
  } finally {
    if (!isComplete) await abandonFile(ctx, file, mutates)
  }
}

function requireNoForce({ globals }: Context): void {
  if (globals.force) throw usageError('--force requires --out', 'add --out FILE')
}

async function show(
  ctx: Context,
  format: FormatName,
  chosen: View<unknown> | null,
  output: Output<unknown>,
): Promise<void> {
  const { out } = ctx.io
  if (!ctx.globals.pager || !out.isTerminal) {
    const finish = await print(ctx, format, chosen, output, out)
    return await finish()
  }
  const pager = (await import('../io/pager.ts')).openPager(ctx.host)
  let finish = async () => {}
  try {
    finish = await print(ctx, format, chosen, output, pager, true)
  } finally {
    await pager.end()
  }
  await finish()
}

/** Keeps the file of a change: it may hold a secret that is shown only once. */
async function abandonFile(ctx: Context, file: OutFile, mutates: boolean): Promise<void> {
  const isKept = mutates && !file.isEmpty
  await file.abandon(isKept)
  if (isKept) await ctx.warn(`the results so far are in ${file.part}`)
}

async function print<Row>(
  ctx: Context,
  format: FormatName,
  chosen: View<Row> | null,
  { view, pages, single, mutates, resumes, footer, exit: exitOf }: Output<Row>,
  target: { write(text: string): Promise<void>; readonly closed?: boolean },
  isScreen = target === ctx.io.out,
): Promise<() => Promise<void>> {
  const { out } = ctx.io
  const { header, color, truncate, csvGuard } = ctx.globals
  const started = startPages(pages) // sent while the renderer loads
  const render = await formats[format](single)
  const renderer = render(chosen ?? view, {
    single,
    columns: out.columns,
    color: isScreen ? out.color : color === 'always',
    header: header ?? false,
    chosen: chosen !== null,
    uncut: truncate === false,
    wide: format === 'wide',
    unguarded: csvGuard === false,
    isTerminal: isScreen && out.isTerminal,
  })
  if (target === out && view.columns.some(({ once, secret }) => once || secret)) await warnOfReaders(ctx)
  let begin = renderer.begin() // written with the first rows: a command that fails before prints nothing
  let unwritten: unknown
  const write = async (text: string) => {
    if (unwritten === undefined)
      await target.write(text).catch((error: unknown) => {
        if (!mutates || resumes) throw error
        unwritten = error // the change must still finish
      })
  }
  for await (const rows of started) {
    await write(begin + renderer.rows(rows))
    begin = ''
    if (target.closed && !mutates) break
  }
  await write(begin + renderer.end())
  if (unwritten !== undefined) throw unwritten
  const leftOut = renderer.leftOut?.() ?? []
  ctx.exit = exitOf?.() ?? exit.done
  if (target.closed) return async () => {}
  return async () => {
    if (leftOut.length > 0) await sayLeftOut(ctx, leftOut)
    await footer?.()
  }
}

async function sayLeftOut(ctx: Context, names: readonly string[]): Promise<void> {
  const { err } = ctx.io
  const text = `not shown: ${names.join(', ')} (-o wide shows all)`
  if (!err.isTerminal) return await ctx.say(text)
  const { wordLines } = await import('../output/word-lines.ts')
  for (const line of wordLines(text, err.columns)) await ctx.say(line)
}

/** Shells create the file of `> FILE` with the umask, usually readable by all. */
async function warnOfReaders({ io, warn }: Context): Promise<void> {
  const { fd } = io.out.stream as { fd?: number }
  if (fd === undefined || io.out.isTerminal) return
  const { fstatSync } = await import('node:fs')
  const stats = fstatSync(fd)
  if (stats.isFile() && (stats.mode & 0o044) !== 0)
    await warn('warning: others can read the file that this secret is written to: use --out FILE instead, or chmod 600')
}

function startPages<Page>(pages: AsyncIterable<Page>): AsyncIterable<Page> {
  const source = pages[Symbol.asyncIterator]()
  const first = source.next()
  first.catch(() => {}) // thrown again when the pages are read
  return (async function* () {
    try {
      for (let page = await first; !page.done; page = await source.next()) yield page.value
    } finally {
      await source.return?.()
    }
  })()
}

export async function printText(
  ctx: Context,
  run: () => Promise<string | Uint8Array>,
  fileMode?: number,
): Promise<void> {
  const { out, force } = ctx.globals
  if (out === undefined) {
    requireNoForce(ctx)
    return await ctx.io.out.write(await run())
  }
  const { openOutFile } = await import('../io/new-file.ts')
  const file = await openOutFile(out, '--out', force, fileMode)
  try {
    await file.write(await run())
    await file.commit()
  } catch (error) {
    await file.abandon(false)
    throw error
  }
  await ctx.say(`wrote ${out}`)
}
