import { type Exit, exit } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import type { CheckRow } from '../../views/program.ts'

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
