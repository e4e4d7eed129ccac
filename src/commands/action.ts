import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { exit } from '../exit.ts'
import { type FormatName, formats } from '../output/index.ts'
import type { Output } from './output.ts'

/**
 * The way of every command: argv as commander read it → its schema → its function → the chosen format. Operands come
 * as `operands`. A command that returns nothing has done its own talking.
 */
export function action<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  run: (ctx: Context, options: z.output<S>) => Promise<Output<unknown> | undefined>,
) {
  return async function (this: Command): Promise<void> {
    const operands = this.args.length ? { operands: this.args } : {}
    const output = await run(ctx, readOptions(schema, { ...this.opts(), ...operands }))
    if (output) await print(ctx, output)
  }
}

/** A text that a flag must not leave empty: an unset shell variable must never widen a command. */
export const given = z.string().min(1, 'must not be empty')

/** Ids from the command line. */
export const Ids = z.array(given.refine(isId, 'is no id')).min(1)

/** Whether a text can stand in a path as an id: `.` and `..` would name another path of the instance. */
export function isId(text: string): boolean {
  return text !== '' && !/^\.\.?$/.test(text)
}

/** A number of things, from 1. */
export const Count = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be a whole number from 1')
  .transform(Number)

/** Gathers the values of a flag that may be given several times. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

/** Throws where the output would be ids alone: what is shown once must then be lost. */
export function requireWholeOutput(ctx: Context): void {
  if (formatOf(ctx) === 'id') throw usageError('-q and -o id would lose the secret, which is shown once')
}

function readOptions<S extends z.ZodType>(schema: S, options: Record<string, unknown>): z.output<S> {
  const parsed = schema.safeParse(options)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const name = String(issue?.path[0] ?? '')
  const flag =
    name === 'operands' ? 'id' : `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
  throw usageError(`${name ? `${flag} ` : ''}${issue?.message}`)
}

async function print<Row>(
  ctx: Context,
  { view, pages, single, mutates, exit: exitOf }: Output<Row>,
): Promise<void> {
  const { out } = ctx.io
  const format = await formats[formatOf(ctx)]()
  const options = { single, columns: out.columns, color: out.color, header: ctx.globals.header ?? false }
  const renderer = format(view, options)
  let begin = renderer.begin() // written with the first rows: a command that fails before them prints nothing
  for await (const rows of pages) {
    await out.write(begin + renderer.rows(rows))
    begin = ''
    if (out.closed && !mutates) break
  }
  await out.write(begin + renderer.end())
  ctx.exit = exitOf?.() ?? exit.done
}

/** What was asked for, else a table for people and TSV for programs. */
export function formatOf({ globals, io }: Pick<Context, 'globals' | 'io'>): FormatName {
  if (globals.quiet) return 'id'
  if (globals.json) return 'json'
  return globals.output ?? (io.out.isTerminal ? 'table' : 'tsv')
}
