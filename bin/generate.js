// Writes the committed files that are generated; a test compares them.
import { readFileSync, writeFileSync } from 'node:fs'
import reference from '../dist/reference.cjs'

const { completions, man, manual, schemas } = await reference.generated('')
for (const [name, script] of Object.entries(completions)) {
  writeFileSync(new URL(`../completions/${name}`, import.meta.url), script)
}
for (const [name, schema] of Object.entries(schemas)) {
  writeFileSync(new URL(`../src/contract/documents/schemas/${name}`, import.meta.url), schema)
}
const file = new URL('../src/commands/README.md', import.meta.url)
const parts = readFileSync(file, 'utf8').split(/(?<=<!-- commands -->\n)[\s\S]*(?=<!-- \/commands -->)/)
if (parts.length !== 2) throw new Error('the manual has no place for the commands')
writeFileSync(file, parts.join(`${manual}\n`))
// npm installs only the pages that are named here.
const packageFile = new URL('../package.json', import.meta.url)
const description = JSON.parse(readFileSync(packageFile, 'utf8'))
description.man = Object.keys(man).map(name => `dist/man/${name}`)
writeFileSync(packageFile, `${JSON.stringify(description, null, 2)}\n`)
