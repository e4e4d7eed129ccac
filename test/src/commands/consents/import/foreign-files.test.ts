import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadMap } from '../../../../../src/commands/consents/import/prepare/formats.ts'
import { prepare } from '../../../../../src/commands/consents/import/prepare/prepare.ts'
import type { Refused } from '../../../../../src/commands/consents/import/prepare/prepared.ts'
import type { Io } from '../../../../../src/io/io.ts'
import { useFolder } from '../../../../support/cli.ts'
import { type Change, type ForeignFile, foreignFiles, page, toBytes } from './foreign-files.ts'
import type { PreparedRow } from './prepare/support.ts'

const folder = useFolder()
const io = { host: { stdin: process.stdin } } as unknown as Io
let runs = 0

async function read(file: ForeignFile, change?: Change) {
  const run = String(++runs)
  const [path, map] = [join(folder.path, `${run}.csv`), join(folder.path, `${run}.json`)]
  writeFileSync(path, toBytes(file, change))
  writeFileSync(map, JSON.stringify(file.map ?? {}))
  const refused: Refused[] = []
  const loaded = await loadMap(io, file.format, { map, encoding: file.encoding })
  const isVersioned = loaded.fields.policy_version !== undefined
  const prepared = await prepare([path], loaded, {
    folder: join(folder.path, `work-${run}`),
    policyVersion: isVersioned ? undefined : 3,
    timezone: file.timezone,
    unguard: false,
    now: new Date('2026-11-29T00:00:00Z'),
    host: process,
    signal: AbortSignal.timeout(60_000),
    onRefused: each => void refused.push(each),
  })
  return { prepared, refused, path }
}

describe('a file as its tool writes it', () => {
  it.each(foreignFiles)('$name becomes its persons and answers', async file => {
    const { prepared, refused } = await read(file)
    expect([refused, prepared.undecided]).toEqual([[], 0])
    const { records, changes } = prepared.counts
    expect([records, records + changes]).toEqual([file.records, file.answers])
    const rows = readFileSync(prepared.path as string, 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as PreparedRow)
    const last = rows.map(row => row.changes?.at(-1)?.accepted ?? row.accepted)
    expect(last.filter(Boolean).length).toBe(file.accepted)
  })
})

/** What is wrong with the second row, line 3 of the file, and what is said of it. */
interface Fault extends Change {
  readonly name: string
  readonly says: readonly string[]
}

function faultsOf(file: ForeignFile): readonly Fault[] {
  const [header = [], ...rows] = file.cells
  const separator = file.separator ?? ','
  const set =
    (column: string, value: string): NonNullable<Fault['change']> =>
    ([first = [], ...others]) => [
      first,
      ...others.map((row, at) =>
        at === 1 ? row.map((cell, index) => (header[index] === column ? value : cell)) : row,
      ),
    ]
  const inLine3 = (edit: (line: string) => string) => (text: string) =>
    text
      .split('\n')
      .map((line, index) => (index === 2 ? edit(line) : line))
      .join('\n')
  const rename = (from: string, to: string) => (text: string) => text.replace(from, to)
  const time = `("${file.time}")`
  const faults: (Fault | false | undefined)[] = [
    { name: 'a time that is none', change: set(file.time, 'soon'), says: ['csv:3', time, '"soon" is not a time'] },
    {
      name: 'a day that is none',
      change: set(
        file.time,
        (rows[1]?.[header.indexOf(file.time)] ?? '').replace(
          /\d{4}-\d\d-\d\d|\d\d\.\d\d\.\d{4}|^\d{10}$/,
          '31/31/2024',
        ),
      ),
      says: ['csv:3', time, 'is not a time'],
    },
    { name: 'a time in words', change: set(file.time, 'yesterday at noon'), says: ['csv:3', time] },
    file.word !== undefined && { name: 'no time', change: set(file.time, ''), says: ['csv:3', time, 'is not there'] },
    file.word !== undefined && {
      name: 'a word that the map does not have',
      change: set(file.word, 'perhaps'),
      says: ['csv:3', file.word, 'NOT DECIDED', 'perhaps'],
    },
    file.word !== undefined && {
      name: 'a word in other case',
      change: set(file.word, 'aCtIvE'),
      says: ['csv:3', file.word, 'NOT DECIDED', 'aCtIvE'],
    },
    file.format !== 'klaviyo' && {
      name: 'no key',
      change: set(file.key, ''),
      says: ['csv:3', `("${file.key}")`, 'is not there'],
    },
    { name: 'a long key', change: set(file.key, 'x'.repeat(256)), says: ['csv:3', file.key, 'at most 255 characters'] },
    { name: 'a key with NUL', change: set(file.key, 'a\0b'), says: ['csv:3', file.key, 'NUL'] },
    {
      name: 'a cell too few',
      edit: inLine3(line => line.slice(0, line.lastIndexOf(separator))),
      says: ['csv:3', `has ${header.length - 1} cells`, `header ${header.length}`],
    },
    {
      name: 'a cell too many',
      edit: inLine3(line => `${line}${separator}x`),
      says: ['csv:3', `has ${header.length + 1} cells`],
    },
    {
      name: 'a quotation mark that is not closed',
      edit: inLine3(line => `"${line}`),
      says: ['csv', 'line 3', 'never closed'],
    },
    {
      name: 'text after a closing quotation mark',
      edit: inLine3(line => `"a"b${line}`),
      says: ['csv', '3', 'after a closing quotation mark'],
    },
    file.format !== 'klaviyo' && {
      name: 'no column of the key',
      edit: rename(file.key, 'Nothing'),
      says: ['csv: the header', `"${file.key}"`, 'it has'],
    },
    {
      name: 'a column twice',
      edit: text =>
        text
          .replaceAll(/\n(?!$)/g, `${separator}x\n`)
          .replace(`${separator}x\n`, `${separator}${file.key}\n`)
          .replace(/\n$/, `${separator}x\n`),
      says: ['csv: the header', `"${file.key}" twice`],
    },
    !file.encoding && {
      name: 'a letter of Windows-1252',
      isLatin1: true,
      edit: inLine3(line => `${line}ü`),
      says: ['csv:3', 'is not UTF-8', '--encoding windows-1252'],
    },
  ]
  return faults.filter(fault => typeof fault === 'object')
}

const faults = foreignFiles.flatMap(file => faultsOf(file).map(fault => ({ ...fault, file, tool: file.name })))

describe('a malformed file', () => {
  it('is tried in 140 ways or more', () => {
    expect(faults.length).toBeGreaterThanOrEqual(140)
  })

  it.each(faults)('$tool › $name: says line, column and cause', async ({ file, says, ...change }) => {
    const said = await read(file, change).then(
      ({ prepared, refused }) => [
        ...refused.map(({ where, message }) => `${where} ${message}`),
        ...prepared.values
          .filter(({ becomes }) => becomes === null)
          .map(({ first, column, value }) => `${first} ${column} NOT DECIDED ${value}`),
      ],
      (error: Error & { hint?: string }) => [`${error.message} ${error.hint ?? ''}`],
    )
    expect(
      said.filter(line => says.every(text => line.includes(text))),
      said.join('\n'),
    ).not.toEqual([])
  })
})

describe('the page of the map language', () => {
  const words = (schema: unknown): string[] => {
    if (typeof schema !== 'object' || schema === null) return []
    const { properties = {} } = schema as { properties?: object }
    return [...Object.keys(properties), ...Object.values(schema).flatMap(words)]
  }

  it('has every word of the JSON Schema for editors', () => {
    const file = new URL('../../../../../src/commands/consents/import/map.schema.json', import.meta.url)
    const found = new Set(words(JSON.parse(readFileSync(file, 'utf8'))))
    expect(found.size).toBeGreaterThan(50)
    expect([...found].filter(word => !new RegExp(`[\`"]${word.replace(/[$.]/g, '\\$&')}[\`"]`).test(page))).toEqual([])
  })
})
