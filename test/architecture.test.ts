import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { useFolder } from './support/cli.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = useFolder()

/** A file for each case, in a copy of the tree that has the configuration alone. */
const cases = [
  ['src/contract/a.ts', "import { a } from '../evidence/bytes.ts'\na()", 'noRestrictedImports'],
  ['src/contract/documents/b.ts', "import { a } from '../../cli/output.ts'\na()", 'noRestrictedImports'],
  ['src/client/c.ts', "import { a } from '../cli/output.ts'\na()", 'noRestrictedImports'],
  ['src/client/d.ts', "import { a } from 'undici'\na()", 'noRestrictedImports'],
  ['src/evidence/e.ts', "import { a } from '../cli/output.ts'\na()", 'noRestrictedImports'],
  ['src/output/f.ts', "import { a } from '../contract/index.ts'\na()", 'noRestrictedImports'],
  ['src/erasure/g.ts', "import { a } from '../commands/usage.ts'\na()", 'noRestrictedImports'],
  ['src/domain/s.ts', "import { a } from '../cli/output.ts'\na()", 'noRestrictedImports'],
  ['src/commands/h.ts', "import type { A } from '../../server/ids.ts'\nexport const a: A = 1", 'noRestrictedImports'],
  ['src/commands/a/i.ts', "const a = await import('../../command-tree.ts')\na()", 'noRestrictedImports'],
  ['server/a/j.ts', "import { a } from '../../src/client/client.ts'\na()", 'noRestrictedImports'],
  ['server/a/service.ts', "import { a } from '../http/route.ts'\na()", 'noRestrictedImports'],
  ['server/a/queries.ts', "import { a } from './service.ts'\na()", 'noRestrictedImports'],
  ['src/io/k.ts', 'export const a = process.argv', 'noRestrictedGlobals'],
  ['server/a/l.ts', "export const a = process.env['A']", 'noProcessEnv'],
  ['server/a/m.ts', 'export const a = (sql: { unsafe(text: string): void }) => sql.unsafe("select")', 'plugin'],
  ['src/io/n.ts', 'export const a: any = 1', 'noExplicitAny'],
  ['src/io/o.ts', 'export default 1', 'noDefaultExport'],
  ['src/io/p.ts', 'export enum A {\n  b,\n}', 'noEnum'],
  ['src/io/q.ts', "import { a } from './r.ts'\nexport type B = typeof a", 'noImportCycles'],
  ['src/io/r.ts', "import type { B } from './q.ts'\nexport const a: B | 1 = 1", 'noImportCycles'],
] as const

const allowed = [
  'server/b/queries.ts',
  "import { Consent } from '../../src/contract/index.ts'\nexport const a = Consent",
] as const

let findings: { readonly file: string; readonly rule: string }[]

beforeAll(() => {
  cpSync(join(root, '.biome.json'), join(folder.path, 'biome.json'))
  for (const [file, code] of [...cases, allowed]) {
    mkdirSync(dirname(join(folder.path, file)), { recursive: true })
    writeFileSync(join(folder.path, file), `${code}\n`)
  }
  mkdirSync(join(folder.path, 'server/db'), { recursive: true })
  cpSync(join(root, 'server/db/no-unsafe-sql.grit'), join(folder.path, 'server/db/no-unsafe-sql.grit'))
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
  const args = [biome, 'lint', '--vcs-enabled=false', '--colors=off', '--max-diagnostics=200', '.']
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder.path, encoding: 'utf8' })
  findings = [...`${stdout}${stderr}`.matchAll(/^(\S+):\d+:\d+ (?:lint\/\w+\/)?(\w+) /gm)].map(
    ([, file = '', rule = '']) => ({ file, rule }),
  )
})

describe('the lint configuration', () => {
  it.each(cases)('rejects imports in %s: %j', (file, _code, rule) => {
    expect(findings).toContainEqual({ file, rule })
  })

  it('accepts the imports that the layers allow', () => {
    expect(findings.filter(({ file }) => file === allowed[0])).toEqual([])
  })
})

describe('a command', () => {
  const commands = 'src/commands/'
  const tree = join(root, 'src/command-tree.ts')
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => join(root, 'src', file))
  const arrows = sources.flatMap(from =>
    [...readFileSync(from, 'utf8').matchAll(/(?:from |import\()'(\.{1,2}\/[^']+)'/g)].map(([, path = '']) => ({
      from: relative(root, from),
      to: relative(root, join(dirname(from), path)),
    })),
  )
  const isVerb = ({ from, to }: (typeof arrows)[number]) => from === relative(root, tree) && to.startsWith(commands)
  const verbs = new Set(arrows.filter(isVerb).map(({ to }) => to))
  const nounOf = (file: string) => file.slice(commands.length).split('/')[0]

  it('is imported only by the command tree', () => {
    expect(verbs.size).toBeGreaterThan(70)
    expect(arrows.filter(({ from, to }) => verbs.has(to) && from !== relative(root, tree))).toEqual([])
  })

  it('imports from another noun only document verification, resumable imports and the purge by a receipt', () => {
    const shared = /^src\/commands\/(verify\/(keys|log|pack-files)|consents\/bulk\/job|subject\/purging)\.ts$/
    const foreign = arrows.filter(
      ({ from, to }) => from.startsWith(commands) && to.startsWith(commands) && nounOf(from) !== nounOf(to),
    )
    expect(foreign.filter(({ to }) => !shared.test(to))).toEqual([])
  })
})
