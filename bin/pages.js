// npm installs only the manual pages that package.json names: `list` names them before it packs, `clear` removes them after.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package.json', import.meta.url)
const pages = readdirSync(new URL('../dist/man', import.meta.url)).map(name => `dist/man/${name}`)
const description = { ...JSON.parse(readFileSync(file, 'utf8')), man: process.argv[2] === 'list' ? pages : undefined }
writeFileSync(file, `${JSON.stringify(description, null, 2)}\n`)
