import type { Argument, Command, Option } from 'commander'

/** A flag, as help, completions and manual pages need it. */
export interface FlagInfo {
  /** As it is typed: `--name` first, then `-n` where there is one. */
  readonly names: readonly string[]
  /** What stands for its value, such as `<path|->`; null for a switch. */
  readonly value: string | null
  /** The values that it takes, where there is a list of them. */
  readonly choices: readonly string[]
  readonly required: boolean
  readonly description: string
}

interface ArgumentInfo {
  /** Such as `<id...>`. */
  readonly name: string
  readonly description: string
}

/** A command or a group, with everything below it. */
export interface CommandInfo {
  /** Its words: `auth login`; empty for the program. */
  readonly path: string
  readonly aliases: readonly string[]
  readonly summary: string
  /** What its help says between the flags and the examples. */
  readonly notes: string
  readonly examples: readonly string[]
  readonly arguments: readonly ArgumentInfo[]
  /** Its own flags; those of the program work everywhere. */
  readonly flags: readonly FlagInfo[]
  readonly commands: readonly CommandInfo[]
}

/** A commander program, whole, as plain data: what everything that is generated is made from. */
export function describe(command: Command, above = ''): CommandInfo {
  const path = command.parent ? `${above} ${command.name()}`.trim() : ''
  const [notes = '', examples = ''] = afterHelp(command).split(/^(?:Examples|Start here):$/m)
  return {
    path,
    aliases: command.aliases(),
    summary: command.summary() || command.description().replace(/\.$/, ''),
    notes: notes.trim(),
    examples: [...examples.matchAll(/^ {2}\$ (.+)$/gm)].map(([, example = '']) => example),
    arguments: command.registeredArguments.map(argumentInfo),
    flags: command.options.filter(option => !option.hidden).map(flagInfo),
    commands: command.commands.map(child => describe(child, path)),
  }
}

/** A command and all below it. */
export function flatten(command: CommandInfo): CommandInfo[] {
  return [command, ...command.commands.flatMap(flatten)]
}

/** How a command is called: its words and its arguments. */
export function usageOf({ path, arguments: operands, commands }: CommandInfo): string {
  const words = ['consentctl', path, ...operands.map(({ name }) => name), commands.length ? '<command>' : '']
  return words.filter(word => word !== '').join(' ')
}

/** A flag's value as it stands behind its name: an optional one follows a sign, without a space. */
export function placeOf(value: string | null): string {
  return value === null ? '' : value.startsWith('[') ? value : ` ${value}`
}

/** What addHelpText has put behind the help. */
function afterHelp(command: Command): string {
  let text = ''
  const write = (part: string) => {
    text += part
  }
  const { writeOut } = command.configureOutput()
  command.configureOutput({ writeOut: write })
  command.outputHelp()
  command.configureOutput({ ...(writeOut && { writeOut }) })
  return text.slice(command.helpInformation().length)
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
  return { name: argument.required ? `<${text}>` : `[${text}]`, description: argument.description }
}
