import type { Context } from '../context.ts'
import { CliError, type Exit, exit } from '../errors/errors.ts'
import { report } from '../errors/report.ts'
import type { View } from '../output/index.ts'
import { counted } from './instance.ts'

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
export function countedRows<Row>(
  ctx: Context,
  view: View<Row>,
  rows: readonly Row[],
  noun: string,
): Output<Row> {
  const footer = async () => {
    if (ctx.io.out.isTerminal) await ctx.say(counted(rows.length, noun))
  }
  return many(view, pagesOf(rows), { footer })
}

/** Tells that something does not verify, where the rows on stdout say what (exit 5). */
export async function tellInvalid(ctx: Context, message: string): Promise<void> {
  await report(ctx, new CliError('not_valid', exit.rejected, message))
}
