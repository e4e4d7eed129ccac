import * as z from 'zod'
import { ImportMap } from '../commands/consents/import/prepare/map.ts'
import { signed } from '../contract/documents/fields.ts'
import { documents } from '../contract/documents/index.ts'
import { snippetParts } from '../domain/snippets.ts'
import { shellNames } from './completion/names.ts'
import { completionFile } from './completion/scripts.ts'
import { type CommandInfo, flatten } from './describe.ts'
import { manPages } from './man.ts'

function commandTable(tree: CommandInfo): string {
  const rows = flatten(tree)
    .filter(({ path, commands }) => path !== '' && (commands.length > 0 || !path.includes(' ')))
    .map(({ path, aliases, summary, commands }) => {
      const below = commands.filter(each => each.commands.length === 0).map(each => each.path.split(' ').at(-1))
      const also = aliases.length > 0 ? ` (also ${aliases.map(code).join(', ')})` : ''
      return `| ${code(path)} | ${summary}${also}${below.length > 0 ? `: ${below.join(', ')}` : ''} |`
    })
  return ['| command | what it does |', '|---|---|', ...rows].join('\n')
}

function code(text: string): string {
  return `\`${text}\``
}

/** `onRequest` is about descriptions of the API. */
const dropOnRequest = ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => void delete jsonSchema['onRequest']

function schemaFiles(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(documents).map(([type, { schema }]) => {
      const title = (type.slice(0, 1).toUpperCase() + type.slice(1)).replaceAll('_', ' ')
      const name = type.replaceAll('_', '-')
      const { $schema, ...rest } = z.toJSONSchema(signed(schema), { io: 'input', override: dropOnRequest })
      const file = { $schema, $id: `urn:consentctl:schema:${name}:1`, title, ...rest }
      return [`${name}.v1.schema.json`, `${JSON.stringify(file, null, 2)}\n`]
    }),
  )
}

/** For editors of `import --map`. */
function mapSchema(): string {
  // A map of another format than csv has only what differs from that.
  const { $schema, required: _, ...rest } = z.toJSONSchema(ImportMap, { io: 'input', reused: 'ref' })
  return `${JSON.stringify({ $schema, $id: 'urn:consentctl:schema:import-map', title: 'Map of an import', ...rest }, null, 2)}\n`
}

/** By file name. `manual` is for src/commands/README.md, `snippets` for server/banner/README.md. */
export function generate(tree: CommandInfo, version: string) {
  return {
    completions: Object.fromEntries(shellNames.map(shell => completionFile(shell, tree))),
    man: manPages(tree, version),
    manual: commandTable(tree),
    mapSchema: mapSchema(),
    schemas: schemaFiles(),
    snippets: Object.fromEntries(
      Object.entries(snippetParts).map(([name, code]) => [name, `\`\`\`js\n${code}\`\`\`\n`]),
    ),
  }
}
