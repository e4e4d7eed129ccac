import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorStatus } from '../../../src/contract/errors.ts'
import { flatten } from '../../../src/docs/describe.ts'
import { generate } from '../../../src/docs/generate.ts'
import { describeCommands } from '../../../src/program.ts'
import { run } from '../../support/cli.ts'
import { jsonOf } from '../support.ts'

const root = new URL('../../../', import.meta.url)
const generated = generate(await describeCommands(), '1.2.3')

describe('generated files match the command tree and the contract (npm run generate)', () => {
  it('the completions match, and no others exist', () => {
    expect(readdirSync(new URL('completions', root)).sort()).toEqual(Object.keys(generated.completions).sort())
    for (const [name, script] of Object.entries(generated.completions))
      expect(readFileSync(new URL(`completions/${name}`, root), 'utf8')).toBe(script)
  })

  it('the JSON Schemas of signed documents match, and no others exist', () => {
    const folder = new URL('src/contract/documents/schemas/', root)
    expect(readdirSync(folder).sort()).toEqual(Object.keys(generated.schemas).sort())
    for (const [name, schema] of Object.entries(generated.schemas))
      expect(readFileSync(new URL(name, folder), 'utf8')).toBe(schema)
  })

  it('the JSON Schema of maps matches', () => {
    const file = new URL('src/commands/consents/import/map.schema.json', root)
    expect(readFileSync(file, 'utf8')).toBe(generated.mapSchema)
  })

  it('the manual’s table of commands matches', () => {
    const [, table] =
      /<!-- commands -->\n([\s\S]*)\n<!-- \/commands -->/.exec(
        readFileSync(new URL('src/commands/README.md', root), 'utf8'),
      ) ?? []
    expect(table).toBe(generated.manual)
  })

  it('the manual’s table of exit codes lists every code of an error', () => {
    const files = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' }).filter(name =>
      /\.ts$/.test(name),
    )
    const sources = files.map(name => readFileSync(new URL(`src/${name}`, root), 'utf8')).join('')
    const own = [...sources.matchAll(/new CliError\(\s*'(\w+)'/g)].map(([, code = '']) => code)
    const manual = readFileSync(new URL('src/commands/README.md', root), 'utf8').split('## Exit codes')[1] ?? ''
    expect([...own, ...Object.keys(errorStatus)].filter(code => !manual.includes(`\`${code}\``))).toEqual([])
  })

  it('the snippets of the banners match', () => {
    const page = readFileSync(new URL('server/banner/README.md', root), 'utf8')
    for (const [name, snippet] of Object.entries(generated.snippets))
      expect(page).toContain(`<!-- ${name} -->\n${snippet}<!-- /${name} -->\n`)
  })
})

describe('commands', () => {
  it('lists every command with its flags and examples as JSON, and the program first', async () => {
    const rows = jsonOf(await run(['commands', '--json']), 0, '')
    expect(rows[0]).toMatchObject({ command: '', usage: 'consentctl <command>' })
    const rm = rows.find(({ command }: { command: string }) => command === 'rm')
    expect(rm).toMatchObject({ aliases: ['delete'], usage: 'consentctl rm [id...]' })
    expect(rm.flags.map(({ names }: { names: string[] }) => names[0])).toContain('--yes')
    expect(rows.length).toBeGreaterThan(20)
  })
})

describe('the manual', () => {
  it('has a page for each command and group, with every flag in its help', async () => {
    for (const { path, flags } of flatten(await describeCommands())) {
      const page = generated.man[`${['consentctl', ...path.split(' ')].filter(Boolean).join('-')}.1`] ?? ''
      expect(page).toMatch(/^\.TH "CONSENTCTL/)
      for (const { names } of flags) expect(page).toContain(`.B ${names.join(', ').replaceAll('-', '\\-')}`)
    }
  })

  const hasGroff = spawnSync('groff', ['--version']).status === 0
  it.skipIf(!hasGroff)('is parsed by groff without a warning', () => {
    const pages = Object.values(generated.man).join('\n') // a process for each takes seconds
    const { status, stderr } = spawnSync('groff', ['-man', '-Kutf8', '-Tutf8', '-ww', '-z'], { input: pages })
    expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
  })
})
