import type { Command } from 'commander'
import * as z from 'zod'
import { collect, nonEmpty } from '../../cli/action.ts'
import { parseExactJson } from '../../contract/exact-json.ts'
import { Preferences } from '../../contract/json.ts'
import { dataError, usageError } from '../../errors/errors.ts'
import { nameOf, readText } from '../../io/input.ts'
import type { Io } from '../../io/io.ts'

type JsonObject = Record<string, unknown>

export const acceptance = {
  accepted: z.literal(true).optional(),
  refused: z.literal(true).optional(),
  pref: z.array(z.string()).optional(),
  preferences: nonEmpty.optional(),
}

type Acceptance = z.output<z.ZodObject<typeof acceptance>>

export function acceptanceFlags(command: Command): Command {
  return command
    .option('--accepted', 'the subject accepted')
    .option('--refused', 'the subject refused')
    .option('--pref <name=value>', 'a preference; repeatable (true, false, numbers and JSON are typed)', collect)
    .option('--preferences <@file|->', 'all preferences as a JSON object, from a file or standard input')
}

export async function preferencesOf(io: Io, { pref, preferences }: Acceptance): Promise<JsonObject | undefined> {
  if (preferences === undefined && pref === undefined) return undefined
  const whole = preferences === undefined ? {} : await readPreferences(io, preferences)
  const pairs = (pref ?? []).map(readPair)
  for (const [index, [name]] of pairs.entries())
    if (pairs.findIndex(([other]) => other === name) < index) throw usageError(`--pref ${name} is repeated`)
  const merged = { ...whole, ...Object.fromEntries(pairs) }
  const parsed = Preferences.safeParse(merged)
  if (!parsed.success) throw dataError(`preferences: ${parsed.error.issues[0]?.message}`)
  return merged
}

async function readPreferences(io: Io, flag: string): Promise<JsonObject> {
  if (flag !== '-' && !flag.startsWith('@')) {
    throw usageError(
      '--preferences requires @FILE, or - for standard input',
      'for single preferences use --pref name=value',
    )
  }
  const source = flag === '-' ? flag : flag.slice(1)
  return readObject(await readText(io, source), nameOf(source))
}

/** Rejects duplicate keys and inexact numbers. `name` starts the error messages. */
export function readObject(text: string, name: string): JsonObject {
  let value: unknown
  try {
    value = parseExactJson(text)
  } catch (error) {
    throw dataError(`${name} ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw dataError(`${name} is not a JSON object`)
  return value as JsonObject
}

function readPair(pair: string): [string, unknown] {
  const equals = pair.indexOf('=')
  const name = pair.slice(0, equals)
  if (equals < 1) throw usageError(`--pref ${pair}: use name=value`)
  if (name === '__proto__') throw usageError('--pref: a preference cannot be named __proto__')
  const value = pair.slice(equals + 1)
  if (value === '') throw usageError(`--pref ${name}= has no value`, `for an empty text: --pref '${name}=""'`)
  return [name, typed(value, '--pref')]
}

/** Parses JSON or text: `true` is a boolean, `granted` a string. */
export function typed(text: string, name: string): unknown {
  try {
    JSON.parse(text)
  } catch {
    return text
  }
  try {
    return parseExactJson(text)
  } catch (error) {
    throw dataError(`${name}: the value ${(error as Error).message}`)
  }
}

export function acceptedOf({
  accepted,
  refused,
}: {
  readonly accepted?: true | undefined
  readonly refused?: true | undefined
}): boolean | undefined {
  if (accepted && refused) throw usageError('--accepted and --refused cannot be combined')
  return accepted ?? (refused ? false : undefined)
}
