// Writes the generated files that are committed; a test compares them.
import { readFileSync, writeFileSync } from 'node:fs'
import reference from '../dist/reference.cjs'

const { completions, manual, mapSchema, schemas, snippets } = await reference.generated('')
for (const [name, script] of Object.entries(completions)) {
  writeFileSync(new URL(`../completions/${name}`, import.meta.url), script)
}
for (const [name, schema] of Object.entries(schemas)) {
  writeFileSync(new URL(`../src/contract/documents/schemas/${name}`, import.meta.url), schema)
}
writeFileSync(new URL('../src/commands/consents/import/map.schema.json', import.meta.url), mapSchema)
fill('../src/commands/README.md', 'commands', `${manual}\n`)
for (const [name, snippet] of Object.entries(snippets)) fill('../server/banner/README.md', name, snippet)

function fill(path, name, text) {
  const file = new URL(path, import.meta.url)
  const place = new RegExp(`(?<=<!-- ${name} -->\\n)[\\s\\S]*(?=<!-- /${name} -->)`)
  const parts = readFileSync(file, 'utf8').split(place)
  if (parts.length !== 2) throw new Error(`${path} has no marker for ${name}`)
  writeFileSync(file, parts.join(text))
}
