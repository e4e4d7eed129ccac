import type { Command } from 'commander'
import * as z from 'zod'
import { nonEmpty } from '../../cli/action.ts'
import { siteIdOf } from '../../cli/sites.ts'
import { endInstant, startInstant } from '../../cli/time.ts'
import type { Context } from '../../context.ts'
import { type BareFlag, type FilterFlag, type FilterKind, type FilterValues, filters } from '../../contract/filters.ts'

type Camel<Text extends string> = Text extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Text

type FilterShape = {
  [Flag in FilterFlag as Camel<Flag>]: z.ZodOptional<Flag extends BareFlag ? z.ZodLiteral<true> : typeof nonEmpty>
}

/** '' for a flag without a value. */
export type FlagValues = ReadonlyMap<FilterFlag, string>

export const filterFlags = filters.flatMap(({ flags, kind }) =>
  Object.entries(flags).map(([flag, help]) => ({ flag: flag as FilterFlag, help, isBare: kind === 'boolean' })),
)

export const filterOptions = Object.fromEntries(
  filterFlags.map(({ flag, isBare }) => [optionOf(flag), (isBare ? z.literal(true) : nonEmpty).optional()]),
) as FilterShape

export function addFilterFlags(command: Command, { isRare }: { readonly isRare: boolean }): Command {
  for (const { flags, value, ...filter } of filters.filter(each => (each.isRare ?? false) === isRare))
    for (const [flag, help] of Object.entries(flags))
      command.option(filter.kind === 'boolean' ? `--${flag}` : `--${flag} ${value}`, help)
  return command
}

export function readFilterFlags(
  options: { readonly [Option in keyof FilterShape]?: string | true | undefined },
): FlagValues {
  const values = filterFlags.map(({ flag }) => [flag, options[optionOf(flag)]] as const)
  return new Map(values.flatMap(([flag, value]) => (value === undefined ? [] : [[flag, value === true ? '' : value]])))
}

function optionOf(flag: FilterFlag): keyof FilterShape {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()) as keyof FilterShape
}

export function findConflict(values: FlagValues): readonly [FilterFlag, FilterFlag] | undefined {
  for (const { flag, negation } of filters)
    if (negation && values.has(flag) && values.has(negation)) return [flag, negation]
  return undefined
}

type Reader = (text: string, now: Date) => string

const readers: Readonly<Record<Exclude<FilterKind, 'boolean'>, Reader>> = {
  site: text => text,
  text: text => text,
  from: startInstant,
  to: endInstant,
}

/** @throws CliError (usage); `not_offered` (exit 2) for an unsupported filter; as `siteIdOf` does */
export async function queryOf(ctx: Context, values: FlagValues): Promise<FilterValues> {
  const now = new Date()
  const given = filters.filter(({ flag, negation }) => values.has(flag) || (negation && values.has(negation)))
  const query = Object.fromEntries(
    given.map(({ name, kind, flag }) => {
      const value = values.get(flag)
      return [name, kind === 'boolean' ? value !== undefined : readers[kind](value ?? '', now)]
    }),
  ) as { -readonly [Name in keyof FilterValues]: FilterValues[Name] }
  if (query.site_id !== undefined) query.site_id = await siteIdOf(ctx, query.site_id)
  for (const { name, without } of given)
    if (without !== undefined) await (await import('./offered.ts')).requireFilter(ctx, name, without)
  return query
}
