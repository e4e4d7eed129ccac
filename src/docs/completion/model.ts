import { type CommandInfo, type FlagInfo, flatten } from '../describe.ts'

/** Completion of a flag's value; `none` if only the user knows it. */
export type Values =
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: 'files' | 'profiles' | 'sites' | 'none' }

export interface CompletedFlag extends FlagInfo {
  /** Null for a switch, which takes no value. */
  readonly values: Values | null
}

export interface CompletedCommand {
  /** Such as `auth login`; empty for the program. */
  readonly path: string
  /** Subcommands, including aliases. */
  readonly commands: readonly { readonly name: string; readonly path: string; readonly summary: string }[]
  readonly flags: readonly CompletedFlag[]
}

/** Lists the program, whose flags work everywhere, and then every command, for the scripts of all shells. */
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

/** Names of all flags that take a value. */
export function valuedNames(commands: readonly CompletedCommand[]): string[] {
  const names = commands.flatMap(({ flags }) =>
    flags.filter(({ values }) => values).flatMap(flag => flag.names),
  )
  return [...new Set(names)]
}

/** The flag that commander adds. */
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

/** Patterns for POSIX shells: a command followed by a flag with a value. Flags of the program match anywhere. */
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

/** Patterns for POSIX shells: a command and the next word, and the command they lead to. */
export function stepPatterns(commands: readonly CompletedCommand[]): [pattern: string, step: string][] {
  return commands.flatMap(command =>
    command.commands.map(({ name, path }): [string, string] => [
      quoted(`${command.path} ${name}`),
      `at=${quoted(path)}`,
    ]),
  )
}

/** Lines of a shell's `case`; patterns with the same result share a line. */
export function arms(
  pairs: readonly (readonly [pattern: string, result: string])[],
  arm: (patterns: string[], result: string) => string,
): string {
  const byResult = new Map<string, string[]>()
  for (const [pattern, result] of pairs) byResult.set(result, [...(byResult.get(result) ?? []), pattern])
  return [...byResult].map(([result, patterns]) => arm(patterns, result)).join('\n')
}

/** A word in single quotes, as POSIX shells read it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
