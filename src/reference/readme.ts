import { type CommandInfo, type FlagInfo, flatten, placeOf, usageOf } from './describe.ts'

/** The README's table of commands, in Markdown: how each is called, what it does, and its own flags. */
export function readmeTable(tree: CommandInfo): string {
  const rows = flatten(tree)
    .filter(({ path, commands }) => path !== '' && commands.length === 0)
    .map(command => {
      const aliases = command.aliases.length ? ` (also ${command.aliases.map(code).join(', ')})` : ''
      return `| ${code(usageOf(command).replace(/^consentctl /, ''))} | ${command.summary}${aliases} | ${flagsOf(command.flags)} |`
    })
  const global = `Flags of every command: ${flagsOf(tree.flags)}.`
  return ['| command | what it does | its flags |', '|---|---|---|', ...rows, '', global].join('\n')
}

function flagsOf(flags: readonly FlagInfo[]): string {
  return flags.map(({ names, value }) => code(`${names.join(' ')}${placeOf(value)}`)).join(', ')
}

/** Code in a cell of a table, where a bar would end it. */
function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|')}\``
}
