// Writes what is made from the tree of commands: the completions, and the README's table of commands. A test compares them.
import { readFileSync, writeFileSync } from 'node:fs'
import reference from '../dist/reference.cjs'

const { completions, readme } = await reference.generate('')
for (const [name, script] of Object.entries(completions)) {
  writeFileSync(new URL(`../completions/${name}`, import.meta.url), script)
}
const file = new URL('../README.md', import.meta.url)
const parts = readFileSync(file, 'utf8').split(/(?<=<!-- commands -->\n)[\s\S]*(?=<!-- \/commands -->)/)
if (parts.length !== 2) throw new Error('README.md has no place for the commands')
writeFileSync(file, parts.join(`${readme}\n`))
