import { type CommandInfo, type FlagInfo, flatten } from '../describe.ts'

export type Values =
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: 'files' | 'profiles' | 'sites' | 'none' }

export interface CompletedFlag extends FlagInfo {
  /** Null for a switch. */
  readonly values: Values | null
}

export interface CompletedCommand {
  readonly path: string
  /** Includes aliases. */
  readonly commands: readonly { readonly name: string; readonly path: string; readonly summary: string }[]
  readonly flags: readonly CompletedFlag[]
}

/** Lists the program, whose flags work everywhere, and then every command. */
export function completed(tree: CommandInfo): readonly [CompletedCommand, ...CompletedCommand[]] {
  const [program, ...commands] = flatten(tree).map(info => ({
    path: info.path,
    commands: info.commands.flatMap(child =>
      [child.path.split(' ').at(-1) ?? '', ...child.aliases].map(name => ({
        name,
        path: child.path,
        summary: child.summary,
      })),
    ),
    flags: (info === tree ? [...info.flags, help] : info.flags).map(flag => ({
      ...flag,
      values: valuesOf(flag),
    })),
  }))
  return [program as CompletedCommand, ...commands]
}

export function valuedNames(commands: readonly CompletedCommand[]): string[] {
  const names = commands.flatMap(({ flags }) =>
    flags.filter(({ values }) => values).flatMap(flag => flag.names),
  )
  return [...new Set(names)]
}

const help: FlagInfo = {
  names: ['--help', '-h'],
  value: null,
  choices: [],
  required: false,
  description: 'print help',
}

function valuesOf({ names, value, choices }: FlagInfo): Values | null {
  if (choices.length > 0) return { kind: 'choices', choices }
  if (value === null || value.startsWith('[')) return null // an optional value follows `=` alone
  if (names.includes('--profile')) return { kind: 'profiles' }
  if (names.includes('--site') && value === '<id>') return { kind: 'sites' }
  return { kind: /^<(file|path|folder)\b/.test(value) ? 'files' : 'none' }
}

/** Patterns for POSIX shells: a command and a flag with a value. Flags of the program match anywhere. */
export function valuePatterns(commands: readonly CompletedCommand[]): [pattern: string, values: Values][] {
  const specificFirst = [...commands].sort((a, b) => Number(a.path === '') - Number(b.path === ''))
  return specificFirst.flatMap(({ path, flags }) =>
    flags.flatMap(({ names, values }) =>
      values
        ? names.map((name): [string, Values] => [
            path === '' ? `*${quoted(` ${name}`)}` : quoted(`${path} ${name}`),
            values,
          ])
        : [],
    ),
  )
}

/** Patterns for POSIX shells: a command and the next word, with the command they select. */
export function stepPatterns(commands: readonly CompletedCommand[]): [pattern: string, step: string][] {
  return commands.flatMap(command =>
    command.commands.map(({ name, path }): [string, string] => [
      quoted(`${command.path} ${name}`),
      `at=${quoted(path)}`,
    ]),
  )
}

/** Lines of a shell's `case`, one for each result. */
export function arms(
  pairs: readonly (readonly [pattern: string, result: string])[],
  arm: (patterns: string[], result: string) => string,
): string {
  const byResult = new Map<string, string[]>()
  for (const [pattern, result] of pairs) byResult.set(result, [...(byResult.get(result) ?? []), pattern])
  return [...byResult].map(([result, patterns]) => arm(patterns, result)).join('\n')
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
