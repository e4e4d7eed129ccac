import type { Context } from '../context.ts'
import { type Exit, exit } from '../errors/errors.ts'
import { explain } from '../errors/explain.ts'
import { type CheckRow, checkView } from '../views/program.ts'
import { many, type Output } from './output.ts'

export interface Checked {
  readonly row: CheckRow
  readonly exit: Exit
}

export function ok(check: string, detail: string): Checked {
  return { row: { check, result: 'ok', detail, remedy: null }, exit: exit.done }
}

export function skip(check: string, detail: string): Checked {
  return { row: { check, result: 'skip', detail, remedy: null }, exit: exit.done }
}

export function warn(check: string, detail: string, remedy: string): Checked {
  return { row: { check, result: 'warn', detail, remedy }, exit: exit.done }
}

export function fail(check: string, code: Exit, detail: string, remedy: string | null): Checked {
  return { row: { check, result: 'fail', detail, remedy }, exit: code }
}

export async function tried(check: string, work: () => Checked | Promise<Checked>): Promise<Checked> {
  try {
    return await work()
  } catch (error) {
    const { message, hint, exit: code } = explain(error)
    return fail(check, code, message, hint ?? null)
  }
}

/** Exits with the code of the first failure. */
export function checksOutput(ctx: Context, checks: readonly Checked[]): Output<CheckRow> {
  const first = checks.find(({ row }) => row.result === 'fail')
  async function* pages() {
    yield checks.map(({ row }) => row)
    if (!ctx.io.out.isTerminal) return
    for (const { row } of checks) if (row.remedy) await ctx.say(`${row.check}: try ${row.remedy}`)
  }
  return many(checkView, pages(), { exit: () => first?.exit ?? exit.done })
}
