import { type ArgumentInfo, type CommandInfo, type FlagInfo, flatten } from '../describe.ts'
import { topicNames } from '../topics.ts'
import type { LocalKind } from './kinds.ts'

export type Values =
  | { readonly kind: 'choices'; readonly choices: readonly string[] }
  | { readonly kind: LocalKind | 'files' | 'none' }

export interface CompletedFlag extends FlagInfo {
  /** Null for a switch. */
  readonly values: Values | null
}

export interface CompletedCommand {
  readonly path: string
  /** Includes aliases. */
  readonly commands: readonly { readonly name: string; readonly path: string; readonly summary: string }[]
  readonly flags: readonly CompletedFlag[]
  /** Null if they have no completions. */
  readonly operands: Values | null
}

/** The program first: its flags work everywhere. */
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
      values: valuesOf(flag, info.path),
    })),
    operands:
      info.path === 'help' ? helpWords(tree) : (info.arguments.map(each => operandsOf(each, info.path))[0] ?? null),
  }))
  return [program as CompletedCommand, ...commands]
}

export function valuedNames(commands: readonly CompletedCommand[]): string[] {
  const names = commands.flatMap(({ flags }) => flags.filter(({ values }) => values).flatMap(flag => flag.names))
  return [...new Set(names)]
}

const help: FlagInfo = {
  names: ['--help', '-h'],
  value: null,
  choices: [],
  required: false,
  description: 'print help',
}

function helpWords({ commands }: CommandInfo): Values {
  return { kind: 'choices', choices: [...topicNames, ...commands.map(({ path }) => path)] }
}

function operandsOf({ name, choices }: ArgumentInfo, path: string): Values | null {
  if (choices.length > 0) return { kind: 'choices', choices }
  const local = localKind(name, path)
  return local ? { kind: local } : /^[<[](file|path|folder)\b/.test(name) ? { kind: 'files' } : null
}

function valuesOf({ names, value, choices }: FlagInfo, path: string): Values | null {
  if (choices.length > 0) return { kind: 'choices', choices }
  if (value === null || value.startsWith('[')) return null // an optional value only follows `=`
  if (names.includes('--profile')) return { kind: 'profiles' }
  return { kind: localKind(value, path) ?? (/^<(file|path|folder)\b/.test(value) ? 'files' : 'none') }
}

function localKind(placeholder: string, path: string): LocalKind | null {
  const word = /^[<[]([\w|]+)/.exec(placeholder)?.[1] ?? ''
  if (word === 'job|last') return path.startsWith('subject') ? 'erasures' : 'imports'
  if (word === 'key') return path.startsWith('config ') ? 'settings' : null
  const kinds: Readonly<Record<string, LocalKind>> = {
    site: 'sites',
    ticket: 'tickets',
    receipt: 'receipts',
    profile: 'profiles',
  }
  return (path.startsWith('admin') ? null : kinds[word]) ?? null
}

type Arm = (patterns: string[], result: string) => string

/** `case` lines for a POSIX shell. The program's flags match after any command. */
export function valueArms(commands: readonly CompletedCommand[], arm: Arm, action: (values: Values) => string): string {
  const specificFirst = [...commands].sort((a, b) => Number(a.path === '') - Number(b.path === ''))
  const pairs = specificFirst.flatMap(({ path, flags }) =>
    flags.flatMap(({ names, values }) =>
      values
        ? names.map(name => [path === '' ? `*${quoted(` ${name}`)}` : quoted(`${path} ${name}`), action(values)])
        : [],
    ),
  )
  return arms(pairs, arm)
}

export function stepArms(commands: readonly CompletedCommand[], arm: Arm): string {
  const pairs = commands.flatMap(command =>
    command.commands.map(({ name, path }) => [quoted(`${command.path} ${name}`), `at=${quoted(path)}`]),
  )
  return arms(pairs, arm)
}

export function operandArms(
  commands: readonly CompletedCommand[],
  arm: Arm,
  action: (values: Values) => string,
): string {
  return arms(
    commands.flatMap(({ path, operands }) => (operands ? [[quoted(path), action(operands)]] : [])),
    arm,
  )
}

/** Patterns with the same result share a line. */
function arms(pairs: readonly string[][], arm: Arm): string {
  const byResult = new Map<string, string[]>()
  for (const [pattern = '', result = ''] of pairs) byResult.set(result, [...(byResult.get(result) ?? []), pattern])
  return [...byResult].map(([result, patterns]) => arm(patterns, result)).join('\n')
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
