import { Command, CommanderError, Option } from 'commander'
import { type Group, type Leaf, tree } from './command-tree.ts'
import type { Context } from './context.ts'
import type { CommandInfo } from './docs/describe.ts'
import { usageError } from './errors/errors.ts'
import { colorChoices } from './io/io.ts'
import { formatNames } from './output/format.ts'
import { parseSeconds } from './settings/settings.ts'
import { suggestCommand } from './suggestions.ts'

/** Commander would take the next word as the optional value, and compares a word with `=` by its first part. */
class InlineValueOption extends Option {
  constructor(flag: string, value: string, description: string) {
    super(flag, description)
    this.flags = `${flag}[=${value}]`
  }

  is(word: string): boolean {
    if (word === this.long) return true
    this.optional = word.startsWith(`${this.long}=`)
    return false
  }
}

/** Only the commands that argv names are loaded. */
interface Words {
  has(word: string): boolean
}

const everything: Words = { has: () => true }

export async function describeCommands(): Promise<CommandInfo> {
  const { describe } = await import('./docs/describe.ts')
  const noContext = async () => ({}) as Context // used only when a command runs
  return describe(await buildProgram(everything, '', () => {}, noContext))
}

/** Nothing is printed: `onHelp` gets the command whose help is wanted. */
export async function buildProgram(
  words: Words,
  version: string,
  onHelp: (command: Command) => void,
  context: () => Promise<Context>,
): Promise<Command> {
  const program = new Command('consentctl')
    .summary('Administer consent records: who agreed to what, when, under which policy')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .usage('<command> [options]')
    .exitOverride()
    .configureHelp({
      formatHelp: command => {
        onHelp(command)
        return ''
      },
    })
    .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
    .addOption(new Option('-o, --output <format>', 'output format').choices(formatNames))
    .addOption(new InlineValueOption('--json', 'fields', 'same as -o json; with =id,accepted: only these fields'))
    .option('-q, --quiet', 'print only ids and warnings')
    .option('--header', 'start TSV with a header')
    .option('--columns <names>', 'columns of tables, TSV and CSV, comma-separated')
    .option('--no-truncate', 'do not cut tables to the width of the terminal')
    .option('--no-csv-guard', 'do not escape CSV cells that look like formulas')
    .option('--out <file>', 'write to a new file that only you can read')
    .option('--force', 'overwrite the file of --out')
    .option('--pager', 'show the records in a pager (PAGER, or less)')
    .option('-p, --profile <name>', 'stored instance to use')
    .option('--base-url <url>', 'address of the instance')
    .addOption(new Option('--color <when>', 'when to use colour').choices(colorChoices))
    .description(`
Start here:
  $ consentctl auth login --base-url https://consent.example.com
  $ consentctl list`)
  addRequestFlags(program)
  await addAll(program, [], tree, words, context)
  if (words !== everything && program.commands.some(hasOwnVersion)) leaveVersion(program)
  rejectRepeatedFlags(program)
  return program
}

function addRequestFlags(program: Command): void {
  program
    .option('--timeout <seconds>', 'timeout of a request, including retries')
    .option('--max-wait <seconds>', 'longest single wait before a retry (60)')
    .option('--ca-file <path>', 'additional certificate authorities to trust (PEM)')
    .option('--verbose', 'log settings, requests and retries to stderr')
    .option('--debug', 'also log headers and bodies, without personal data')
    .on('option:timeout', (text: string) => void parseSeconds(text, '--timeout', 0.001))
    .on('option:max-wait', (text: string) => void parseSeconds(text, '--max-wait', 0))
}

async function addAll(
  parent: Command,
  path: readonly string[],
  group: Group,
  words: Words,
  context: () => Promise<Context>,
): Promise<void> {
  parent.exitOverride(error => {
    if (error.code !== 'commander.unknownCommand') throw error
    const [word = ''] = parent.args
    const near = /\(Did you mean (?:one of )?(.+)\?\)$/.exec(error.message)?.[1]?.split(', ') ?? []
    const hint = word === 'help' ? ['consentctl help', ...path].join(' ') : suggestCommand(path, word, near)
    throw usageError(`unknown command "${[...path, word].join(' ')}"`, hint)
  })
  for (const [name, entry] of Object.entries(group)) {
    const names = [name, ...entry.aliases]
    const isWanted = names.some(word => words.has(word))
    const command = parent.command(name).summary(entry.summary).helpCommand(false)
    for (const alias of entry.aliases) command.alias(alias)
    if ('commands' in entry) {
      command.usage('<command> [options]')
      if (isWanted) await addAll(command, [...path, name], entry.commands, words, context)
    } else if (isWanted) {
      await define(command, entry, context)
    }
  }
}

async function define(command: Command, { load }: Leaf, context: () => Promise<Context>): Promise<void> {
  const [build, ctx] = await Promise.all([load(), context()])
  build(command, ctx)
  command.allowExcessArguments() // action() reports the unexpected argument
  nameChoices(command)
  rejectRepeatedFlags(command)
}

function hasOwnVersion({ options, commands }: Command): boolean {
  return options.some(({ long }) => long === '--version') || commands.some(hasOwnVersion)
}

/** A command's own --version takes precedence. -V remains available. */
function leaveVersion({ options }: Command): void {
  for (const option of options)
    if (option.long === '--version') Object.assign(option, { is: (word: string) => word === option.short })
}

/** Commander lists choices only for a wrong value, not for a missing one. */
function nameChoices(command: Command): void {
  command.exitOverride(error => {
    const missing = command.options.find(({ flags }) => error.message.includes(`option '${flags}' not specified`))
    if (!missing?.argChoices) throw error
    throw new CommanderError(error.exitCode, error.code, `${error.message}\n(Use ${missing.argChoices.join(', ')})`)
  })
}

/** Commander would silently use the last value. */
function rejectRepeatedFlags(command: Command): void {
  for (const option of command.options) {
    if (option.parseArg && !option.argChoices) continue // a repeatable flag
    let count = 0
    command.on(`option:${option.name()}`, () => {
      count += 1
      if (count > 1) throw new CommanderError(2, 'consentctl.repeated', `error: option ${option.flags} is repeated`)
    })
  }
}

/** Other processes can read argv, and the shell records it. @throws CliError (usage) */
export function rejectKeys(argv: readonly string[]): void {
  const index = argv.findIndex(word => /(^|[^\w-])sk-[\w-]{16,}/.test(word))
  if (index === -1) return
  throw usageError(
    `argument ${index + 1} is an API key, which others on this machine can read: revoke this key`,
    'consentctl auth login, or set CONSENTCTL_API_KEY or CONSENTCTL_API_KEY_FILE',
  )
}
