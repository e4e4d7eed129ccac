import * as z from 'zod'
import { signed } from '../contract/documents/fields.ts'
import { documents } from '../contract/documents/index.ts'
import { fileNames, scripts } from './completion/scripts.ts'
import { shellNames } from './completion/shells.ts'
import { type CommandInfo, type FlagInfo, flatten, placeOf, usageOf } from './describe.ts'
import { manPages } from './man.ts'

/** The README's table of commands, in Markdown: how each is called, what it does, and its own flags. */
function readmeTable(tree: CommandInfo): string {
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

/** The JSON Schema (2020-12) of each kind of signed document, signature and all, by the name of its file. */
function schemaFiles(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(documents).map(([type, { title, version, schema }]) => {
      const name = type.replaceAll('_', '-')
      const { $schema, ...rest } = z.toJSONSchema(signed(schema), { io: 'input' })
      const file = { $schema, $id: `urn:consentctl:schema:${name}:${version}`, title, ...rest }
      return [`${name}.v${version}.schema.json`, `${JSON.stringify(file, null, 2)}\n`]
    }),
  )
}

/** What is made from the tree of commands and from the contract, by its file; `readme` is the part between its two marks. */
interface Generated {
  readonly completions: Readonly<Record<string, string>>
  readonly man: Readonly<Record<string, string>>
  readonly readme: string
  /** JSON Schemas of the signed documents. */
  readonly schemas: Readonly<Record<string, string>>
}

/** Everything that is generated, for a version of the program. */
export function generate(tree: CommandInfo, version: string): Generated {
  return {
    completions: Object.fromEntries(shellNames.map(shell => [fileNames[shell], scripts[shell](tree)])),
    man: manPages(tree, version),
    readme: readmeTable(tree),
    schemas: schemaFiles(),
  }
}
