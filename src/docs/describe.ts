import type { Argument, Command, Option } from 'commander'

export interface FlagInfo {
  /** `--name` first, then `-n`. */
  readonly names: readonly string[]
  /** Such as `<path|->`; null for a switch. */
  readonly value: string | null
  readonly choices: readonly string[]
  readonly required: boolean
  readonly description: string
}

export interface ArgumentInfo {
  readonly name: string
  readonly description: string
  readonly choices: readonly string[]
}

export interface CommandInfo {
  /** For example `auth login`; empty for the program. */
  readonly path: string
  readonly aliases: readonly string[]
  readonly summary: string
  readonly notes: string
  readonly examples: readonly string[]
  readonly arguments: readonly ArgumentInfo[]
  readonly flags: readonly FlagInfo[]
  readonly commands: readonly CommandInfo[]
}

export function describe(command: Command): CommandInfo {
  const path = pathOf(command)
  const [notes = '', examples = ''] = command.description().split(/^(?:Examples|Start here):$/m)
  return {
    path,
    aliases: command.aliases(),
    summary: command.summary(),
    notes: notes.trim(),
    examples: [...examples.matchAll(/^ {2}\$ (.+)$/gm)].map(([, example = '']) => example),
    arguments: command.registeredArguments.map(argumentInfo),
    flags: command.options.filter(option => !option.hidden).map(flagInfo),
    commands: command.commands.map(describe),
  }
}

export function flatten(command: CommandInfo): CommandInfo[] {
  return [command, ...command.commands.flatMap(flatten)]
}

export function usageOf({ path, arguments: operands, commands }: CommandInfo): string {
  const words = ['consentctl', path, ...operands.map(({ name }) => name), commands.length ? '<command>' : '']
  return words.filter(word => word !== '').join(' ')
}

/** An optional value follows its flag without a space. */
export function valueSuffix(value: string | null): string {
  return value === null ? '' : value.startsWith('[') ? value : ` ${value}`
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}`.trim() : ''
}

function flagInfo({ long, short, flags, argChoices, mandatory, description }: Option): FlagInfo {
  const [value] = /[<[].+[\]>]/.exec(flags) ?? []
  return {
    names: [long, short].filter(name => name !== undefined),
    value: value ?? null,
    choices: argChoices ?? [],
    required: mandatory,
    description,
  }
}

function argumentInfo(argument: Argument): ArgumentInfo {
  const text = argument.name() + (argument.variadic ? '...' : '')
  const { required, description, argChoices = [] } = argument
  return { name: required ? `<${text}>` : `[${text}]`, description, choices: argChoices }
}
