import { Command, CommanderError, Option } from 'commander'
import { type Group, type Leaf, tree } from './command-tree.ts'
import type { Context } from './context.ts'
import type { CommandInfo } from './docs/describe.ts'
import { usageError } from './errors/errors.ts'
import type { ColorChoice } from './io/io.ts'
import { formatNames } from './output/format.ts'
import { parseSeconds } from './settings/settings.ts'

/**
 * `--json`, and `--json=fields` in one word. Commander's own optional values would take the word that follows: an id.
 * It looks for every word among the options, and for one with `=` a second time by the part before that.
 */
class JsonOption extends Option {
  constructor() {
    super('--json', 'the same as -o json; with names of fields, separated by commas, these alone')
    this.flags = '--json[=fields]'
  }

  is(word: string): boolean {
    if (word === this.long) return true
    this.optional = word.startsWith(`${this.long}=`)
    return false
  }
}

/** The names of the commands to load; of the others the name and the summary are enough for help and suggestions. */
interface Words {
  /** 0 where there is no word at all: the help is then short. */
  readonly size?: number
  has(word: string): boolean
}

/** What makes every command be loaded. */
export const everything: Words = { has: () => true }

/** Describes the program, every command and every flag as plain data. Loads every command and runs none. */
export async function describeCommands(): Promise<CommandInfo> {
  const { describe } = await import('./docs/describe.ts')
  const noContext = async () => ({}) as Context // a command uses it only when it runs
  return describe(await buildProgram(everything, '', () => {}, noContext))
}

/** The command line as commander has it, with the commands that are wanted. */
export async function buildProgram(
  words: Words,
  version: string,
  print: (help: string) => void,
  context: () => Promise<Context>,
): Promise<Command> {
  const program = new Command('consentctl')
    .description('Administers consent records: who accepted or refused what, when, under which policy.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .usage('<command> [options]')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, ...(words.size === 0 && { visibleOptions: () => [] }) })
    .configureOutput({ writeOut: print, writeErr: print, outputError: () => {} })
    .addOption(new Option('-o, --output <format>', 'how to print records').choices([...formatNames]))
    .addOption(new JsonOption())
    .option('-q, --quiet', 'print ids alone, and no talk but warnings')
    .option('--header', 'begin TSV with the names of its columns')
    .option('--columns <names>', 'in tables, TSV and CSV: these columns, in this order, separated by commas')
    .option('--no-truncate', 'do not cut tables to the width of the terminal')
    .option('--no-csv-guard', 'in CSV: no apostrophe before cells that a spreadsheet takes for a formula')
    .option('--out <file>', 'print the records into a new file, which only you can read')
    .option('--pager', 'show the records in your pager (PAGER, else less), on a terminal')
    .option('-p, --profile <name>', 'the stored instance to use')
    .option('--base-url <url>', 'the address of the instance')
    .addOption(
      new Option('--color <when>', 'whether to colour').choices([
        'auto',
        'always',
        'never',
      ] satisfies ColorChoice[]),
    )
    .addHelpText(
      'after',
      `${words.size === 0 ? '\nconsentctl --help has the flags too.\n' : ''}
Start here:
  $ consentctl auth login --base-url https://consent.example.com
  $ consentctl list
`,
    )
  requestFlags(program)
  await addAll(program, tree, words, context)
  refuseRepeats(program)
  return program
}

/** How requests are sent, and whether they are told of. */
function requestFlags(program: Command): void {
  program
    .option('--timeout <seconds>', 'how long a request may take, to the end of its answer')
    .option('--max-wait <seconds>', 'how long to wait at most before a request is sent again (60)')
    .option('--ca-file <path>', 'certificate authorities to trust beside the usual ones, in PEM')
    .option('--verbose', 'tell on stderr what is decided: settings, requests, waits')
    .option('--debug', 'tell what is sent and answered too, without secrets and personal data')
    .on('option:timeout', (text: string) => void parseSeconds(text, '--timeout', 0.001))
    .on('option:max-wait', (text: string) => void parseSeconds(text, '--max-wait', 0))
}

async function addAll(
  parent: Command,
  group: Group,
  words: Words,
  context: () => Promise<Context>,
): Promise<void> {
  for (const [name, entry] of Object.entries(group)) {
    const names = [name, ...(entry.aliases ?? [])]
    const isWanted = names.some(word => words.has(word))
    const command = parent
      .command(name)
      .summary(entry.summary)
      .description(`${entry.summary}.`)
      .helpCommand(false)
    for (const alias of entry.aliases ?? []) command.alias(alias)
    if ('commands' in entry) {
      command.usage('<command> [options]')
      if (isWanted) await addAll(command, entry.commands, words, context)
    } else if (isWanted) {
      await define(command, entry, context)
    }
  }
}

async function define(command: Command, { load }: Leaf, context: () => Promise<Context>): Promise<void> {
  const [build, ctx] = await Promise.all([load(), context()])
  build(command, ctx)
  command.allowExcessArguments() // action() names the argument that is too many
  refuseRepeats(command)
}

/** A scalar flag given twice is an error: commander would quietly take the last one. */
function refuseRepeats(command: Command): void {
  for (const option of command.options) {
    if (option.parseArg && !option.argChoices) continue // it collects
    let count = 0
    command.on(`option:${option.name()}`, () => {
      count += 1
      if (count > 1)
        throw new CommanderError(2, 'consentctl.repeated', `error: option ${option.flags} is given twice`)
    })
  }
}

/**
 * Refuses a key among the arguments, whatever it is given for: everybody on the machine can read them, and the shell
 * keeps them. The key is not told again. Throws a usage error.
 */
export function refuseKeys(argv: readonly string[]): void {
  const index = argv.findIndex(word => /(^|[^\w-])sk-[\w-]{16,}/.test(word))
  if (index === -1) return
  throw usageError(
    `argument ${index + 1} holds an API key, which others can see there: take it as stolen, and revoke it`,
    'consentctl auth login, or set CONSENTCTL_API_KEY or CONSENTCTL_API_KEY_FILE',
  )
}
