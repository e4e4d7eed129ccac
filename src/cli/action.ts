import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { usageError } from '../errors/errors.ts'
import type { FormatName, View } from '../output/index.ts'
import { type Output, printOutput, printText, rejectOutputFlags } from './output.ts'

type Run<S extends z.ZodType, Returned> = (ctx: Context, options: z.output<S>) => Promise<Returned>

/** What a command prints, or how to tell from its options: known before it does anything, so that a wrong column is. */
type Shown<S extends z.ZodType> = View<never> | ((options: z.output<S>) => View<never>)

/**
 * The way of every command: argv as commander read it → its schema → its function → the chosen format. Operands come
 * as `operands`. A command that returns nothing has done its own talking; without a view it always does.
 */
export function action<S extends z.ZodType>(ctx: Context, schema: S, run: Run<S, undefined>): Action
export function action<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  shown: Shown<S>,
  run: Run<S, Output<unknown> | undefined>,
): Action
export function action<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  ...rest: [Run<S, undefined>] | [Shown<S>, Run<S, Output<unknown> | undefined>]
): Action {
  return async function (this: Command): Promise<void> {
    const operands = this.args.length ? { operands: this.args } : {}
    const options = readOptions(schema, { ...this.opts(), ...operands })
    if (rest.length === 1) {
      rejectOutputFlags(ctx)
      return await rest[0](ctx, options)
    }
    const [shown, run] = rest
    const view = typeof shown === 'function' ? shown(options) : shown
    await printOutput(ctx, chooseFormat(ctx), view, () => run(ctx, options))
  }
}

/** The same of a command whose result is a file of its own form: the one that `--out` names. */
export function fileAction<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  run: (ctx: Context, options: z.output<S>, path: string) => Promise<void>,
): Action {
  return async function (this: Command): Promise<void> {
    const options = readOptions(schema, { ...this.opts(), operands: this.args })
    const { out } = ctx.globals
    if (out === undefined)
      throw usageError('say where it is to be written', 'add --out with the name of a new file')
    rejectOutputFlags(ctx, true)
    await run(ctx, options, out)
  }
}

/** The same for a command whose output is one text that no format may change; `--out` takes it too. */
export function textAction<S extends z.ZodType>(ctx: Context, schema: S, run: Run<S, string>): Action {
  return async function (this: Command): Promise<void> {
    const operands = this.args.length ? { operands: this.args } : {}
    const options = readOptions(schema, { ...this.opts(), ...operands })
    rejectOutputFlags(ctx, true)
    await printText(ctx, () => run(ctx, options))
  }
}

type Action = (this: Command) => Promise<void>

/** A text that a flag must not leave empty: an unset shell variable must never widen a command. */
export const nonEmpty = z.string().min(1, 'must not be empty')

/** Ids from the command line. */
export const Ids = z.array(nonEmpty.refine(isId, 'is no id')).min(1)

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

function readOptions<S extends z.ZodType>(schema: S, options: Record<string, unknown>): z.output<S> {
  const parsed = schema.safeParse(options)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const name = String(issue?.path[0] ?? '')
  const flag =
    name === 'operands' ? 'id' : `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
  throw usageError(`${name ? `${flag} ` : ''}${issue?.message}`)
}

/** What was asked for, else a table for people, and TSV for programs and files. */
export function chooseFormat({ globals, io }: Pick<Context, 'globals' | 'io'>): FormatName {
  if (globals.quiet) return 'id'
  if (globals.output) return globals.output
  if (globals.json !== undefined) return 'json'
  return io.out.isTerminal && globals.out === undefined ? 'table' : 'tsv'
}
