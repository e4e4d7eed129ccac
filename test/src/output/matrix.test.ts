import { describe, expect, it } from 'vitest'
import { type Group, tree } from '../../../src/command-tree.ts'
import { type FormatName, formatNames } from '../../../src/output/index.ts'
import { dangerous, noCaller, useCli } from '../support.ts'
import { type Case, cases } from './cases.ts'
import { linesOf, readCsv, readers, readTsv } from './parse.ts'

const cli = useCli()

/** Commands that show settings: what they print depends on the format, and is compared with their JSON. */
const aboutSettings: [name: string, id: string][] = [
  ['auth status', 'setting'],
  ['config list', 'setting'],
]

/** Commands that print no records. */
const silent = [
  ...[
    'auth login',
    'auth logout',
    'subject export',
    'config set',
    'config unset',
    'config remove',
    'serve',
    'receipt',
    'admin grants',
  ],
  ...['bash', 'zsh', 'fish', 'powershell', 'install'].map(name => `completion ${name}`),
]

/** Commands whose rows their own tests read. */
const elsewhere = [
  ...['add', 'list', 'next', 'show', 'update', 'extend', 'close', 'report'].map(name => `requests ${name}`),
  'audit list',
  'audit reads',
  'admin checkpoint',
  'admin export',
  'admin import',
  ...['revoke', 'restart'].map(name => `admin signing-key ${name}`),
  'admin verify',
  'auth token',
  'check',
  'watch',
  ...['add', 'list', 'remove'].map(name => `hold ${name}`),
  ...['test', 'listen'].map(name => `webhooks ${name}`),
  'evidence',
  'help',
  'import',
  ...['list', 'show', 'publish', 'diff'].map(name => `notices ${name}`),
  ...['snippet', 'update'].map(name => `sites ${name}`),
  'keys revoke',
  ...['purge', 'resume', 'verify', 'receipts', 'keys show'].map(name => `subject ${name}`),
  'config get',
  'config path',
  'config profiles',
  'completion values',
  'commands',
  'doctor',
  'stats',
]

const places = [
  ['a pipe', {}],
  ['a terminal', { stdout: true, stderr: true }],
] as const

/** A value as one cell of text; null apart from an empty text. */
const cell = (value: unknown) =>
  value === null || value === undefined ? null : typeof value === 'object' ? JSON.stringify(value) : String(value)

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Holds a format's bytes against the rows, as a program reads them. */
type Check = (text: string, expected: Pick<Case, 'id' | 'shown' | 'single'> & { rows: Rows; cells: Rows }) => void

const table: Check = (text, { cells, single, id, shown = id }) => {
  expect(text).not.toMatch(dangerous)
  if (!single) expect(linesOf(text, '\n')).toHaveLength(1 + cells.length)
  for (const row of cells) expect(text).toContain(String(row[shown ?? Object.keys(row)[0] ?? '']))
}

const check: Record<FormatName, Check> = {
  json: (text, { rows, single }) => expect(JSON.parse(text)).toEqual(single ? rows[0] : rows),
  ndjson: (text, { rows }) => expect(readers.ndjson(text)).toEqual(rows),
  yaml: (text, { rows }) => expect(readers.yaml(text)).toEqual(rows),
  csv: (text, { cells }) => {
    const { header, cells: read } = readCsv(text)
    expect(new Set(header)).toEqual(new Set([...header, ...Object.keys(cells[0] ?? {})]))
    expect(read).toEqual(cells.map(row => header.map(name => cell(row[name]))))
  },
  tsv: (text, { cells }) => {
    const { header, cells: read } = readTsv(text)
    expect(new Set(header)).toEqual(new Set([...header, ...Object.keys(cells[0] ?? {})]))
    expect(read).toEqual(cells.map(row => header.map(name => cell(row[name]) ?? '')))
  },
  id: (text, { rows, id }) => expect(linesOf(text, '\n')).toEqual(rows.map(row => row[id ?? ''])),
  table,
  wide: table,
}

const flagsOf = (format: FormatName) => ['-o', format, '--color', 'never', ...(format === 'tsv' ? ['--header'] : [])]

describe.each(places)('on %s', (_place, tty) => {
  describe.each(formatNames)('in the format %s', format => {
    it.each(cases.map(each => [each.args.slice(0, 4).join(' '), each] as const))(
      '%s prints the response of the instance',
      async (_, { args, handlers, stdin, loadServer, cells, ...expected }) => {
        cli.instance.use(...handlers)
        const options = { tty, columns: 240, ...(stdin && { stdin }), ...(loadServer && { loadServer }) }
        const { code, stdout, stderr } = await cli.run([...args, ...flagsOf(format)], options)
        if (format === 'id' && expected.id === null) {
          expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
          expect(cli.sent()).toEqual([])
          return
        }
        expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
        if (format !== 'table') expect(stderr).not.toContain('not shown')
        check[format](stdout, { ...expected, cells: cells ?? expected.rows })
      },
    )

    it.each(aboutSettings)('%s prints the same as its JSON', async (name, id) => {
      cli.instance.use(noCaller, ...(cases[0]?.handlers ?? []))
      const args = name.split(' ')
      const isSame = ({ setting }: { setting: string }) => setting !== 'output'
      const told = JSON.parse((await cli.run([...args, '--json'])).stdout).filter(isSame)
      const { code, stdout } = await cli.run([...args, ...flagsOf(format)], { tty, columns: 240 })
      expect(code).toBe(0)
      // The one setting that is about the format itself.
      const text = stdout.replace(/^.*output.*(?:\n|\r\n|$)/gim, line =>
        format === 'json' || format === 'yaml' ? line : '',
      )
      if (format === 'json') expect(JSON.parse(stdout).filter(isSame)).toEqual(told)
      else if (format === 'yaml') expect((readers.yaml(text) as { setting: string }[]).filter(isSame)).toEqual(told)
      else check[format](text, { rows: told, cells: told, id })
    })
  })
})

it('covers every command of the tree that prints records', () => {
  const known = new Set([
    ...cases.map(({ name }) => name),
    ...aboutSettings.map(([name]) => name),
    ...silent,
    ...elsewhere,
  ])
  expect(leaves(tree).filter(name => !known.has(name))).toEqual([])
  expect([...known].filter(name => !leaves(tree).includes(name))).toEqual([])
})

function leaves(group: Group): string[] {
  return Object.entries(group).flatMap(([name, entry]) =>
    'commands' in entry ? leaves(entry.commands).map(leaf => `${name} ${leaf}`) : [name],
  )
}
