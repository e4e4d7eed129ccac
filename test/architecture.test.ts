import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

interface Import {
  /** A file's path from the root, or a package's name. */
  readonly target: string
  /** Whether anything of it exists at run time. */
  readonly isValue: boolean
}

interface Source {
  readonly file: string
  readonly text: string
  /** The text without comments and quoted strings; templates stay, for they hold code. */
  readonly code: string
  readonly imports: readonly Import[]
}

const sources = ['src', 'server'].flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => read(`${folder}/${name}`)),
)

/** A layer by its files, and what it may import: as values, and beyond that as types only. */
interface Rule {
  readonly layer: string
  readonly files: RegExp
  readonly values?: RegExp
  readonly types?: RegExp
  /** What it may not import in any form. */
  readonly never?: RegExp
}

const rules: Rule[] = [
  {
    layer: 'the evidence',
    files: /^src\/evidence\//,
    values: /^(node:crypto$|canonicalize$|src\/(contract|evidence)\/)/,
  },
  { layer: 'the contract', files: /^src\/contract\//, values: /^(zod$|src\/contract\/)/ },
  {
    layer: 'the client',
    files: /^src\/client\//,
    values: /^(node:|undici$|src\/(contract|client)\/)/,
    types: /^zod$/,
  },
  {
    layer: 'all but client/http.ts, because undici is large',
    files: /^src\/(?!client\/http\.ts)/,
    never: /^undici$/,
  },
  { layer: 'the views', files: /^src\/views\//, values: /^src\/views\//, types: /^src\/(contract|output)\// },
  {
    layer: 'the output',
    files: /^src\/output\//,
    values: /^(node:|(cli-table3|chalk|string-width)$|src\/output\/)/,
  },
  {
    layer: 'the jobs',
    files: /^src\/jobs\//,
    values: /^(node:|src\/(errors|io|jobs)\/)/,
    types: /^zod$/,
  },
  { layer: 'a command', files: /^src\/commands\//, never: /^(undici$|server\/)/ },
  {
    layer: 'a command, of the client',
    files: /^src\/commands\//,
    values: /^(?!src\/client\/)/,
    types: /^src\/client\//,
  },
  { layer: 'the program', files: /^src\//, never: /^server\// },
  { layer: 'the server, of src', files: /^server\//, values: /^(?!src\/)|^src\/(contract|evidence)\// },
  {
    layer: 'queries and rows',
    files: /^server\/.*(queries|rows)\.ts$/,
    never: /(service|routes|server\/app)\.ts$/,
  },
  { layer: 'a service', files: /^server\/.*service\.ts$/, never: /(routes|server\/app)\.ts$/ },
]

describe.each(rules)('$layer', ({ files, values = /./, types = /^$/, never = /^$/ }) => {
  it('imports only what its layer may', () => {
    const layer = sources.filter(({ file }) => files.test(file))
    expect(layer.length).toBeGreaterThan(0)
    const wrong = layer.flatMap(({ file, imports }) =>
      imports
        .filter(({ target, isValue }) => {
          const isAllowed = values.test(target) || (!isValue && types.test(target))
          return never.test(target) || !isAllowed
        })
        .map(({ target, isValue }) => `${file} imports ${isValue ? '' : 'types of '}${target}`),
    )
    expect(wrong).toEqual([])
  })
})

/** Words that code may have in few places or in none, by what they stand for. */
const words: [rule: string, pattern: RegExp, where: RegExp, except?: RegExp][] = [
  ['reads process in src', /(?<![\w$.])(globalThis\.)?process\b(?!\s*(\?:|:|\()|-)/, /^src\//],
  [
    'reads process.env in the server',
    /\bprocess\s*(\??\.\s*env\b|(\?\.\s*)?\[)|\}\s*=\s*process\b/,
    /^server\//,
    /^server\/config\.ts$/,
  ],
  ['sends SQL as a string', /\.unsafe\s*[(<`]/, /./, /^server\/db\/migrate\.ts$/],
  ['has an any', /[:<|,&=([]\s*any\b(?!\s*[(:])|\b(as|extends|is) any\b/, /./],
  ['has a default export', /export\s+default\b|\bas default\b/, /./, /\.d\.ts$/],
  ['has an enum', /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s/m, /./],
  ['has a namespace', /^\s*(export\s+)?(declare\s+)?namespace\s/m, /./],
]

describe('no file', () => {
  it.each(words)('%s', (_rule, pattern, where, except = /^$/) => {
    const wrong = sources.filter(
      ({ file, code }) => where.test(file) && !except.test(file) && pattern.test(code),
    )
    expect(wrong.map(({ file, code }) => `${file}: ${pattern.exec(code)?.[0].trim()}`)).toEqual([])
  })

  it('imports node:process in src', () => {
    const wrong = sources.filter(
      ({ file, imports }) =>
        file.startsWith('src/') && imports.some(({ target }) => target === 'node:process'),
    )
    expect(wrong.map(({ file }) => file)).toEqual([])
  })
})

it('client/http.ts loads undici only for a proxy', () => {
  const text = sources.find(({ file }) => file === 'src/client/http.ts')?.text ?? ''
  expect(text).toContain("await import('undici')")
  expect(text).not.toMatch(/^import (?!type\b).*'undici'/m)
})

describe('the words', () => {
  it.each([
    ['const a = process.argv', 'reads process in src'],
    ['const a = process?.argv', 'reads process in src'],
    ['run(globalThis.process)', 'reads process in src'],
    ['const { env } = process', 'reads process.env in the server'],
    ['const a = process?.env', 'reads process.env in the server'],
    ["const a = process['env']", 'reads process.env in the server'],
    ['const { process } = globalThis', 'reads process in src'],
    ['await tx.unsafe(text)', 'sends SQL as a string'],
    ['const a: any = 1', 'has an any'],
    ['const a = b as any', 'has an any'],
    ['const a: Record<string, any> = {}', 'has an any'],
    ['export default 1', 'has a default export'],
    ['export const enum A {}', 'has an enum'],
    ['  namespace A {}', 'has a namespace'],
  ])('find %j', (code, rule) => {
    expect(words.find(([name]) => name === rule)?.[1].test(code)).toBe(true)
  })
})

describe('the reader of imports', () => {
  it.each<[string, Import[]]>([
    ["import a from 'x'", [{ target: 'x', isValue: true }]],
    ["import type { A } from 'x'", [{ target: 'x', isValue: false }]],
    ["import { type A, type B } from 'x'", [{ target: 'x', isValue: false }]],
    ["import {\n  type A,\n  b,\n} from 'x'", [{ target: 'x', isValue: true }]],
    ["import a, { type B } from 'x'", [{ target: 'x', isValue: true }]],
    ["import type A from './x.ts'", [{ target: 'src/x.ts', isValue: false }]],
    ["import * as a from '../x.ts'", [{ target: 'x.ts', isValue: true }]],
    ["export * from './x.ts'", [{ target: 'src/x.ts', isValue: true }]],
    ["export type { A } from 'x'", [{ target: 'x', isValue: false }]],
    ["import 'x'", [{ target: 'x', isValue: true }]],
    ["const a = await import('x')", [{ target: 'x', isValue: true }]],
    ["type A = import('x').A", [{ target: 'x', isValue: true }]],
    [
      "import { a } from 'x/y'\nimport { b } from '@s/z/w'",
      [
        { target: 'x', isValue: true },
        { target: '@s/z', isValue: true },
      ],
    ],
    ["// import a from 'x'\n/* import b from 'y' */", []],
  ])('understands %j', (text, imports) => {
    expect(importsOf('src/file.ts', text)).toEqual(imports)
  })
})

function read(file: string): Source {
  const text = readFileSync(join(root, file), 'utf8')
  const code = withoutComments(text).replace(/'(\\.|[^'\\\n])*'|"(\\.|[^"\\\n])*"/g, "''")
  return { file, text, code, imports: importsOf(file, text) }
}

function importsOf(file: string, text: string): Import[] {
  const code = withoutComments(text)
  const clause = String.raw`(?<clause>[\w$*{][^'"\`;()=]*?)`
  const fromClause = new RegExp(String.raw`^(?:import|export)\s+${clause}\s+from\s+'(?<target>[^']+)'`, 'gm')
  const bare = /^import\s+'(?<target>[^']+)'|\bimport\(\s*'(?<target2>[^']+)'/gm
  const withClause = [...code.matchAll(fromClause)].map(({ groups }) => ({
    target: resolve(file, groups?.['target'] ?? ''),
    isValue: isValue(groups?.['clause'] ?? ''),
  }))
  const others = [...code.matchAll(bare)].map(({ groups }) => ({
    target: resolve(file, groups?.['target'] ?? groups?.['target2'] ?? ''),
    isValue: true,
  }))
  return [...withClause, ...others]
}

/** Whether an import clause names anything but types. */
function isValue(clause: string): boolean {
  if (clause.startsWith('type ')) return false
  const [, before = '', names] = /^([^{]*)\{([^}]*)\}$/.exec(clause) ?? []
  if (names === undefined || before.trim()) return true
  return names.split(',').some(name => name.trim() && !name.trim().startsWith('type '))
}

function resolve(file: string, specifier: string): string {
  if (specifier.startsWith('.')) return normalize(join(dirname(file), specifier))
  if (specifier.startsWith('node:')) return specifier
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Comments become nothing; a quoted string is passed over whole, for a URL in it is no comment. */
function withoutComments(text: string): string {
  const token = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?<!\\)\/\/.*|\/\*[\s\S]*?\*\//g
  return text.replace(token, match => (match.startsWith('/') ? '' : match))
}
