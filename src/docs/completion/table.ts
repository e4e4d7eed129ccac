import { type CommandInfo, type FlagInfo, flatten } from '../describe.ts'
import { topicNames } from '../topics.ts'
import type { LocalKind } from './names.ts'

/**
 * Rows `COMMAND|WORD|KIND|DESCRIPTION` that every shell's script searches: the commands, flags and operands (`<`) of a
 * command. The program's own come last, because its flags follow any command and have no precedence.
 *
 * A kind is `=COMMAND` that the word leads to, or the value that follows: `:` and choices, `@` and a local kind, `files`,
 * `none` that can be completed, or empty without a value.
 */
export function completionRows(tree: CommandInfo): string[] {
  const [, ...commands] = flatten(tree)
  const help: FlagInfo = {
    names: ['--help', '-h'],
    value: null,
    choices: [],
    required: false,
    description: 'print help',
  }
  return [...commands, { ...tree, flags: [...tree.flags, help] }].flatMap(info => [
    ...info.commands.flatMap(({ path, aliases, summary }) =>
      [path.split(' ').at(-1) ?? '', ...aliases].map(name => row(info, name, `=${path}`, summary)),
    ),
    ...info.flags.flatMap(flag => flag.names.map(name => row(info, name, flagKind(flag, info.path), flag.description))),
    ...operandKinds(info, tree).map(kind => row(info, '<', kind, '')),
  ])
}

function row({ path }: CommandInfo, word: string, kind: string, description: string): string {
  return [path, word, kind, description].map(cell => cell.replaceAll('|', '/')).join('|')
}

function operandKinds({ path, arguments: operands }: CommandInfo, { commands }: CommandInfo): string[] {
  if (path === 'help') return [`:${['options', ...topicNames, ...commands.map(each => each.path)].join(' ')}`]
  return operands
    .slice(0, 1)
    .map(({ name, choices }) => choicesKind(choices) ?? placeholderKind(name, path))
    .filter(kind => kind !== 'none')
}

/** An optional value only follows `=`. */
function flagKind({ names, value, choices }: FlagInfo, path: string): string {
  if (value === null || value.startsWith('[')) return choicesKind(choices) ?? ''
  return choicesKind(choices) ?? (names.includes('--profile') ? '@profiles' : placeholderKind(value, path))
}

function choicesKind(choices: readonly string[]): string | undefined {
  return choices.length > 0 ? `:${choices.join(' ')}` : undefined
}

function placeholderKind(placeholder: string, path: string): string {
  const word = /^[<[]([\w|]+)/.exec(placeholder)?.[1] ?? ''
  if (/^(file|path|folder)\b/.test(word)) return 'files'
  if (word === 'job|last') return path.startsWith('subject') ? '@erasures' : '@imports'
  if (word === 'key') return path.startsWith('config ') ? '@settings' : 'none'
  const kinds: Record<string, `@${LocalKind}`> = {
    site: '@sites',
    ticket: '@tickets',
    receipt: '@receipts',
    profile: '@profiles',
  }
  return (path.startsWith('admin') ? undefined : kinds[word]) ?? 'none'
}
