import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { ImportMapInput } from '../../../../../../src/commands/consents/import/prepare/map.ts'
import { openSource } from '../../../../../../src/commands/consents/import/prepare/source.ts'
import { zip as zipBuffers } from '../formats/zip.ts'
import { parts, usePreparation, wholeAnswers } from './support.ts'

const { prepare, write, state } = usePreparation()

const csv = 'person,time,marketing,analytics\na,2024-01-01T00:00:00Z,yes,no\nb,2024-01-01T00:00:00Z,no,no\n'
/** Its lines are blank, and take no time. */
const bomb = Buffer.concat([Buffer.from(csv), Buffer.alloc(20 * 1024 * 1024, `${' '.repeat(999)}\n`)])
type Own = Partial<ImportMapInput>
const inJson: Own = { container: { kind: 'json' } }
const inNdjson: Own = { container: { kind: 'ndjson' } }
const listAt = (at: string): Own => ({ container: { kind: 'json', at } })
const csvEntries: Own = { container: { kind: 'csv', entries: ['*.csv'] } }
const json: ImportMapInput = { ...wholeAnswers, ...inJson }
const objects = [
  { person: 'a', time: '2024-01-01T00:00:00Z', marketing: 'yes', analytics: 'no' },
  { person: 'b', time: '2024-01-01T00:00:00Z', marketing: 'no', analytics: 'no' },
]
const ndjson = objects.map(each => JSON.stringify(each)).join('\n')

async function idsOf(content: string | Uint8Array, map: ImportMapInput = wholeAnswers) {
  const { rows, refusals } = await prepare(write(content), map)
  expect(refusals).toEqual([])
  return rows.map(({ origin, accepted }) => [origin.id, accepted])
}

const both = [
  ['a', true],
  ['b', false],
]

describe('import file formats', () => {
  it.each<[string, string | Uint8Array, Own]>([
    ['CSV', csv, {}],
    ['CSV with CRLF and a byte order mark', `\ufeff${csv.replaceAll('\n', '\r\n')}`, {}],
    ['CSV in UTF-16', Buffer.from(`\ufeff${csv}`, 'utf16le'), {}],
    ['CSV with semicolons', csv.replaceAll(',', ';'), {}],
    ['CSV with quotation marks', csv.replaceAll(/[a-z]+/g, '"$&"').replaceAll(/"(T|Z)"/g, '$1'), {}],
    [
      'CSV without a header',
      csv.slice(csv.indexOf('\n') + 1),
      { container: { kind: 'csv', columns: ['person', 'time', 'marketing', 'analytics'] } },
    ],
    ['gzip', gzipSync(csv), {}],
    ['gzip of two members', Buffer.concat([gzipSync(csv.slice(0, 50)), gzipSync(csv.slice(50))]), {}],
    ['NDJSON', ndjson, inNdjson],
    ['gzipped NDJSON', gzipSync(ndjson), inNdjson],
    ['a JSON list', JSON.stringify(objects, null, 2), inJson],
    [
      'a JSON list deep in a document',
      JSON.stringify({ data: { items: [1, ['x'], '"]'] }, result: { 'a"b': 1, data: { items: objects } }, next: null }),
      listAt('result.data.items'),
    ],
    ['an entry of a ZIP', zip({ 'x/export.csv': csv, 'readme.txt': 'no rows' }), csvEntries],
    ['a ZIP of gzip', zip({ 'export.csv.gz': gzipSync(csv) }), {}],
    ['a ZIP in a ZIP', zip({ 'day.zip': zip({ 'export.csv': csv }) }), {}],
  ])('reads %s', async (_, content, map) => {
    expect(await idsOf(content, { ...wholeAnswers, ...map })).toEqual(both)
  })

  it('can be split anywhere', async () => {
    const long = objects.map(each => ({ ...each, note: '\\"]}{[,\u00e9'.repeat(20_000) }))
    expect(await idsOf(JSON.stringify(long), json)).toEqual(both)
  })

  it('names rows by file, entry and line', async () => {
    const { refusals } = await prepare(
      write(zip({ 'a.csv': csv, 'b.csv': `${csv}c,never,yes,no\n` }), 'x.zip'),
      wholeAnswers,
    )
    expect(refusals.map(({ where }) => where.replace(/.*x\.zip/, ''))).toEqual(['/b.csv:4'])
  })

  it.each<[string, string | Uint8Array, Own, string | RegExp]>([
    ['a gzip that is cut off', gzipSync(csv).subarray(0, -12), {}, 'is damaged'],
    ['something after a gzip', Buffer.concat([gzipSync(csv), Buffer.from('more rows')]), {}, 'is damaged'],
    ['a gzip bomb', gzipSync(bomb), {}, 'over 250 times its size'],
    ['a ZIP bomb', zip({ 'a.csv': bomb }), {}, 'over 250 times its size'],
    ['a ZIP that is cut off', zip({ 'a.csv': csv }).subarray(0, -10), {}, 'not a readable ZIP file'],
    ['a ZIP with a wrong checksum', corrupted(zip({ 'a.csv': csv })), {}, 'checksum is wrong'],
    ['a ZIP without a wanted entry', zip({ 'a.txt': csv }), csvEntries, 'has no entry'],
    ['a ZIP whose entry leaves it', zip({ '../../a.csv': csv }), {}, 'not a readable ZIP file'],
    ['a line over 1 MiB', `${csv}${'x'.repeat(3 * 1024 * 1024)}`, {}, 'longer than 1 MiB'],
    ['a quotation mark that is never closed', `${csv}"${'x\n'.repeat(1024 * 1024)}`, {}, 'longer than 1 MiB: a quo'],
    ['a quotation mark in the last line', `${csv}"c,`, {}, 'export.csv: line 4 has an opening quotation mark'],
    [
      'a quotation mark too many, which swallows the rest',
      `${csv}c,2024-01-01T00:00:00Z "oops,yes,no\n${csv}`,
      {},
      /export.csv: line 4 has a quotation mark within .*lines 4 to 7 cannot be told apart/,
    ],
    [
      'a row of several lines with a wrong number of cells',
      `${csv}c,"2024-01-01T00:00:00Z,yes,no\n${csv}d",yes\n`,
      {},
      /export.csv: line 4 has 3 cells.*lines 4 to 8 cannot be told apart/,
    ],
    ['an element over 1 MiB', JSON.stringify([{ note: 'x'.repeat(3 * 1024 * 1024) }]), inJson, 'longer than 1 MiB'],
    ['a JSON that is cut off', JSON.stringify(objects).slice(0, -30), inJson, 'ends in the middle'],
    ['a JSON that is cut off after the list', '{"a":[]', listAt('a'), 'ends in the middle'],
    ['a JSON without the list', '{"a":[]}', listAt('b'), 'has no list at b'],
    ['a JSON with the list twice', '{"a":[],"a":[]}', listAt('a'), 'two lists at a'],
    ['a JSON that is nested deeply', '['.repeat(100_000), listAt('a'), 'nested too deeply'],
    ['a CSV with CR alone', csv.replaceAll('\n', '\r'), {}, 'end with CR only'],
    ['two JSON documents', '[][]', inJson, 'not valid JSON'],
    ['elements without text', '[{},,{}]', inJson, 'not valid JSON'],
    ['a missing column', 'person,time,marketing\n', {}, 'does not have the column "analytics"'],
    [
      'a column twice',
      'person,time,marketing,analytics,Person\nperson',
      { fields: { ...wholeAnswers.fields, origin_id: 'PERSON' } },
      '"PERSON" twice',
    ],
    ['UTF-16 that is cut off', Buffer.from(`\ufeff${csv}`, 'utf16le').subarray(0, -1), {}, 'not valid UTF-16'],
  ])('stops at %s, and leaves no files', async (_, content, map, problem) => {
    await expect(prepare(write(content), { ...wholeAnswers, ...map })).rejects.toThrow(problem)
    expect(readdirSync(state())).toEqual([])
  })

  it.each<[string, string, number?]>([
    ['is not JSON', '{"person":'],
    ['has a key twice', '{"person":"a","person":"b","time":"2024-01-01T00:00:00Z"}'],
    ['is deep', `{"person":"a","time":"2024-01-01T00:00:00Z","x":${'['.repeat(5000)}${']'.repeat(5000)}}`],
    ['is no object', '["a"]'],
    ['has a number that would change', '{"person":12345678901234567890,"time":"2024-01-01T00:00:00Z"}'],
    ['has a lone surrogate', '{"person":"\\ud800","time":"2024-01-01T00:00:00Z","marketing":"yes"}', 2],
    ['has an object as a text', '{"person":{"id":1},"time":"2024-01-01T00:00:00Z","marketing":"yes"}', 2],
  ])('rejects a row that %s, and stops if its person is unknown', async (_, line, made = 0) => {
    const { refusals, counts, rows } = await prepare(write(`${line}\n${ndjson}`), { ...wholeAnswers, ...inNdjson })
    expect([refusals.length, rows.length, counts.read]).toEqual([1, made, 3])
  })

  it('rejects elements without a comma between them', async () => {
    const { refusals } = await prepare(write(JSON.stringify(objects).replace('},{', '}{')), json)
    expect(refusals.map(({ reason }) => reason)).toEqual(['invalid'])
  })

  it('accepts "constructor" as the name of a purpose, and rejects "__proto__"', async () => {
    const rows =
      'person,time,purpose,value\na,2024-01-01T00:00:00Z,constructor,yes\nb,2024-01-01T00:00:00Z,__proto__,yes\n'
    const { rows: made, refusals } = await prepare(write(rows), { ...parts, other_names: 'keep' })
    expect([made[0]?.preferences, refusals[0]?.message]).toEqual([
      { constructor: true },
      'the name of a purpose in value is __proto__',
    ])
  })

  it('stops at a column with over 10,000 values', async () => {
    const rows = Array.from({ length: 10_001 }, (_, n) => `a,2024-01-01T00:00:00Z,yes,v${n}`)
    await expect(prepare(write(`${csv}${rows.join('\n')}\n`), wholeAnswers)).rejects.toThrow('over 10,000 values')
  })
})

describe('when another file replaces it after its digest was computed', () => {
  it.each([
    ['CSV', Buffer.from(csv), Buffer.from(csv.replace('a,', 'c,'))],
    ['ZIP', zip({ 'x.csv': csv }), zip({ 'x.csv': csv.replace('a,', 'c,') })],
  ])('reads the original: %s', async (_, content, other) => {
    const path = write(content)
    const source = await openSource(path, new AbortController().signal)
    renameSync(write(other, 'other'), path)
    try {
      const read: Buffer[] = []
      for await (const { chunks } of source.parts(undefined)) for await (const chunk of chunks) read.push(chunk)
      expect(Buffer.concat(read).toString()).toBe(csv)
      expect(source.sha256).toBe(createHash('sha256').update(content).digest('hex'))
    } finally {
      await source.close()
    }
  })
})

it('removes the folders of preparations whose process has exited', async () => {
  const folder = join(state(), 'others')
  const { identify } = await import('../../../../../../src/jobs/process.ts')
  const me = await identify(process.pid)
  const made = (name: string, owner: object) => {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, 'owner.json'), JSON.stringify({ ...me, ...owner }))
  }
  made('alive.work', {})
  made('dead.work', { started: '1' })
  made('elsewhere.work', { host: 'elsewhere' })
  made('gone-elsewhere.work', { host: 'elsewhere' })
  utimesSync(join(folder, 'gone-elsewhere.work'), 1, 1)
  const { path } = await prepare(write(csv), wholeAnswers, { folder })
  rmSync(dirname(path as string), { recursive: true })
  expect(readdirSync(folder).sort()).toEqual(['alive.work', 'elsewhere.work'])
})

function zip(entries: Readonly<Record<string, string | Uint8Array>>): Buffer {
  return zipBuffers(Object.fromEntries(Object.entries(entries).map(([name, content]) => [name, Buffer.from(content)])))
}

/** With another checksum in the directory. */
function corrupted(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  const at = copy.indexOf('PK\x01\x02') + 16
  copy[at] = (copy[at] as number) ^ 1
  return copy
}
