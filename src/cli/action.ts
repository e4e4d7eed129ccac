import type { Command } from 'commander'
import * as z from 'zod'
import type { Context } from '../context.ts'
import { usageError } from '../errors/errors.ts'
import type { FormatName, View } from '../output/index.ts'
import { type Output, printOutput, printText, rejectOutputFlags } from './output.ts'

type Run<S extends z.ZodType, Returned> = (ctx: Context, options: z.output<S>) => Promise<Returned>

/** Known before `run`, so that unknown columns are rejected first. */
type Shown<S extends z.ZodType> = View<never> | ((options: z.output<S>) => View<never>)

/** argv as commander read it → `schema` → `run` → the chosen format. `operands` holds the arguments. */
export function action<S extends z.ZodType>(ctx: Context, schema: S, run: Run<S, void>): Action
export function action<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  shown: Shown<S>,
  run: Run<S, Output<unknown> | undefined>,
): Action
export function action<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  ...rest: [Run<S, void>] | [Shown<S>, Run<S, Output<unknown> | undefined>]
): Action {
  return async function (this: Command): Promise<void> {
    const options = readOptions(this, schema)
    if (rest.length === 1) {
      rejectOutputFlags(ctx, ...(hasOwnForce(this) ? ['--force' as const] : []))
      return await rest[0](ctx, options)
    }
    const [shown, run] = rest
    const view = typeof shown === 'function' ? shown(options) : shown
    await printOutput(ctx, chooseFormat(ctx), view, () => run(ctx, options))
  }
}

export function fileAction<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  run: (ctx: Context, options: z.output<S>, path: string) => Promise<void>,
  allowed: readonly '--force'[] = [],
): Action {
  return async function (this: Command): Promise<void> {
    const options = readOptions(this, schema)
    const { out } = ctx.globals
    if (out === undefined) throw usageError('--out is missing', 'add --out FILE')
    rejectOutputFlags(ctx, '--out', ...allowed)
    await run(ctx, options, out)
  }
}

/** Like `action`, for text that no output format changes. */
export function textAction<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  run: Run<S, string | Uint8Array>,
  fileMode?: number,
): Action {
  return async function (this: Command): Promise<void> {
    const options = readOptions(this, schema)
    rejectOutputFlags(ctx, '--out', '--force')
    await printText(ctx, () => run(ctx, options), fileMode)
  }
}

type Action = (this: Command) => Promise<void>

/** Rejects the empty value of an unset shell variable. */
export const nonEmpty = z.string().min(1, 'must not be empty')

const AnyIds = z.array(nonEmpty.refine(isId, 'is not a valid id'))
export const Ids = AnyIds.min(1)
export const OptionalIds = AnyIds.default([])

/** Rejects `.` and `..`, which lead to another path. */
export function isId(text: string): boolean {
  return text !== '' && !/^\.\.?$/.test(text)
}

export const Count = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be a whole number from 1')
  .transform(Number)

export const Hours = z
  .string()
  .regex(/^\d{1,9}$/, 'must be a whole number of hours')
  .transform(Number)

export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

function readOptions<S extends z.ZodType>(command: Command, schema: S): z.output<S> {
  const { args, registeredArguments } = command
  const excess = registeredArguments.some(({ variadic }) => variadic) ? undefined : args[registeredArguments.length]
  if (excess !== undefined) {
    const most = registeredArguments.length
    const taken = most === 0 ? 'no argument' : most === 1 ? 'one argument' : `${most} arguments`
    throw usageError(`unexpected argument "${excess}": ${command.name()} takes ${taken}`)
  }
  const options = { ...ownOptions(command), ...(args.length > 0 && { operands: args }) }
  const parsed = schema.safeParse(options, { jitless: true }) // compiling a parser costs more than using it once
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const name = String(issue?.path[0] ?? '')
  const flag = name === 'operands' ? 'id' : `--${flagOf(name)}`
  throw usageError(`${name ? `${flag} ` : ''}${issue?.message}`)
}

/** Commander assigns a flag that the program has too, such as --force, to the program. */
function ownOptions(command: Command): Record<string, unknown> {
  const all: Record<string, unknown> = command.optsWithGlobals()
  const names = command.options.map(option => option.attributeName()).filter(name => all[name] !== undefined)
  return Object.fromEntries(names.map(name => [name, all[name]]))
}

function hasOwnForce({ options }: Command): boolean {
  return options.some(({ long }) => long === '--force')
}

export function chooseFormat({ globals, io }: Pick<Context, 'globals' | 'io'>): FormatName {
  if (globals.quiet) return 'id'
  if (globals.output) return globals.output
  if (globals.json !== undefined) return 'json'
  return io.out.isTerminal && globals.out === undefined ? 'table' : 'tsv'
}

export function flagOf(option: string): string {
  return option.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}
