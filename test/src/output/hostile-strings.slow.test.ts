import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import type { Consent } from '../../../src/contract/index.ts'
import { details } from '../../../src/output/details.ts'
import { widthOf } from '../../../src/output/graphemes.ts'
import { fromTsv } from '../../../src/output/index.ts'
import { consentView } from '../../../src/views/consent.ts'
import { acting, consent, consentsPath, screen, styles, useCli, uuid } from '../support.ts'
import { strangers } from './hostile-strings.ts'
import { linesOf, readCsv, readers, readTsv } from './parse.ts'

const cli = useCli()

/** Every text that a stranger may write, in every field of a record that holds text. */
function recordOf(text: string, fields: Partial<Consent> = {}) {
  return consent({
    id: `i${text}`,
    site_id: text,
    consent_id: text,
    subject_id: text,
    country: text,
    region: text,
    user_agent: text,
    preferences: { [`k${text}`]: text, nested: [{ [`k${text}`]: [text] }] },
    created_at: text,
    updated_at: text,
    deleted_at: text || 'at no time', // an empty one is read as none
    given_at: text,
    origin: { system: text, id: text, evidence: text },
    ...fields,
  })
}

/** A list of these records, a hundred a page. */
function serve(records: readonly Consent[]) {
  cli.instance.use(
    http.get(consentsPath, ({ request }) => {
      const start = Number(new URL(request.url).searchParams.get('cursor') ?? 0)
      const next_cursor = start + 100 < records.length ? String(start + 100) : null
      return HttpResponse.json({ data: records.slice(start, start + 100), next_cursor })
    }),
  )
}

async function listed(...args: string[]): Promise<string> {
  const { code, stdout } = await cli.run(['list', '--all', ...args])
  expect(code).toBe(0)
  return stdout
}

const records = strangers.map(text => recordOf(text))
const names = Object.keys(consent())
const cell = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value))
const cells = records.map(record => names.map(name => cell(record[name as keyof Consent])))
const escapes = new RegExp(acting.source, 'gu')

it('there are five hundred of them', () => {
  expect(new Set(strangers).size).toBeGreaterThanOrEqual(490)
  expect(strangers.length).toBeGreaterThanOrEqual(500)
})

describe('programs read the very same values', () => {
  it.each(['json', 'ndjson', 'yaml'] as const)('%s', async format => {
    serve(records)
    expect(readers[format](await listed('-o', format))).toEqual(records)
  })

  it('tsv', async () => {
    serve(records)
    expect(readTsv(await listed('-o', 'tsv', '--header'))).toEqual({ header: names, cells })
  })

  it('csv, with the guard and without it; half a character is shown', async () => {
    serve(records)
    const half = (text: string) => text.replace(/\p{Cs}/gu, point => `\\u{${point.charCodeAt(0).toString(16)}}`)
    const encodable = cells.map(row => row.map(half))
    expect(readCsv(await listed('-o', 'csv'))).toEqual({ header: names, cells: encodable })
    expect(readCsv(await listed('-o', 'csv', '--no-csv-guard'), { isGuarded: false }).cells).toEqual(encodable)
  })

  it('no cell of a guarded csv begins like a formula', async () => {
    serve(records)
    for (const row of readCsv(await listed('-o', 'csv'), { isGuarded: false }).cells)
      for (const text of row) expect(text).not.toMatch(/^[=+\-@\t\r]/)
  })

  it('id', async () => {
    serve(records)
    expect(linesOf(await listed('-q'), '\n').map(fromTsv)).toEqual(records.map(({ id }) => id))
  })
})

describe('nothing that acts reaches a terminal', () => {
  it.each(['table', 'wide', 'tsv', 'csv', 'json', 'ndjson', 'yaml', 'id'])('%s', async format => {
    serve(records)
    const args = ['list', '--all', '-o', format, '--color', 'always', '--no-truncate'].slice(
      0,
      ['table', 'wide'].includes(format) ? 7 : 6,
    )
    const { code, stdout, stderr } = await cli.run(args, screen)
    expect(code).toBe(0)
    // Our own: the titles in bold, the tabs of TSV and the line ends of CSV.
    const text = ['table', 'wide'].includes(format)
      ? stdout.replaceAll(styles, '')
      : stdout.replaceAll(/\t|\r(?=\n)/g, '')
    expect(text.match(escapes) ?? []).toEqual([])
    expect(stderr.match(escapes) ?? []).toEqual([])
  })

  it.each(['tsv', 'csv', 'table'])('what an importer reported, in %s', async format => {
    serve(records)
    const columns = ['--columns', 'given_at,origin.system,origin.id,origin.evidence,origin']
    const args = ['list', '--all', '-o', format, '--color', 'never', ...columns]
    const { code, stdout } = await cli.run(args, screen)
    expect(code).toBe(0)
    expect(stdout.replaceAll(/\t|\r(?=\n)/g, '').match(escapes) ?? []).toEqual([])
  })

  it('a single record, in whichever field', () => {
    const fields = [...Object.keys(consent()), 'origin', 'given_at'].filter(
      name => !['accepted', 'policy_version'].includes(name),
    )
    for (const [index, stranger] of records.entries()) {
      const field = fields[index % fields.length] as 'subject_id'
      const record = consent({ [field]: stranger[field] })
      const options = { single: true, columns: 80, color: true, header: false }
      const text = details(consentView, options).rows([record]).replaceAll(styles, '')
      expect(text.match(escapes) ?? []).toEqual([])
    }
  })
})

describe('columns stay in line', () => {
  it.each([60, 100, 160])('any text in them, at %i columns', async columns => {
    const created_at = '2026-01-31T09:30:00.000Z'
    serve(strangers.map((text, index) => recordOf(text, { id: uuid(index), site_id: uuid(1), created_at })))
    const { stdout } = await cli.run(['list', '--all', '--color', 'never'], { ...screen, columns })
    const [head = '', ...lines] = linesOf(stdout, '\n')
    expect(lines).toHaveLength(strangers.length)
    const place = head.indexOf('CREATED_AT')
    for (const line of lines) {
      expect(widthOf(line)).toBeLessThanOrEqual(columns)
      if (place >= 0) expect(widthOf(line.slice(0, line.indexOf('2026-01-31 09:30Z')))).toBe(place)
    }
  })
})
