import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { csv } from '../../../src/output/csv.ts'
import { excelSeparator } from '../../../src/output/excel.ts'
import { consentView } from '../../../src/views/consent.ts'
import { useFolder } from '../../support/cli.ts'
import { answers, byId, consent, consentsPath, entry, listOf, screen, useCli, uuid } from '../support.ts'
import { readCsv } from './parse.ts'

const cli = useCli()
const folder = useFolder()
const columns = 'subject_id,preferences'

const withPreferences = (...each: readonly Record<string, unknown>[]) =>
  listOf(each.length, index => consent({ id: uuid(index), subject_id: `s${index}`, preferences: each[index] ?? {} }))

describe('--excel', () => {
  it('is CSV with a byte order mark, the separator of the locale and a column for each preference', async () => {
    cli.instance.use(withPreferences({ marketing: true, channel: 'e;mail' }, {}, { marketing: false, 'a b': 1 }))
    const env = { LC_ALL: 'de_DE.UTF-8' }
    const { stdout } = await cli.run(['list', '--excel', '--columns', columns], { env })
    expect(stdout).toBe(
      '\ufeffsubject_id;pref.marketing;pref.channel;pref.a b;preferences\r\n' +
        's0;true;"e;mail";;\r\ns1;;;;\r\ns2;false;;1;\r\n',
    )
    cli.instance.use(withPreferences({ a: 'x,y' }))
    const named = await cli.run(['list', '-o', 'csv', '--excel=comma', '--columns', columns], { env })
    expect(named.stdout).toBe('\ufeffsubject_id,pref.a,preferences\r\ns0,"x,y",\r\n')
  })

  it('without --columns has all other columns before those of preferences, and keeps their places', async () => {
    cli.instance.use(withPreferences({ a: 1 }))
    const { header } = readCsv((await cli.run(['list', '--excel=comma'])).stdout.slice(1))
    expect(header.slice(7, 11)).toEqual(['accepted', 'pref.a', 'preferences', 'policy_version'])
  })

  it('keeps preferences that only later pages have in the last column', async () => {
    cli.instance.use(
      listOf(101, index =>
        consent({ id: uuid(index), preferences: index < 100 ? { a: index } : { b: 'late', a: 100 } }),
      ),
    )
    const { stdout } = await cli.run(['list', '--excel=comma', '--columns', 'id,preferences,pref.c'])
    const { header, cells } = readCsv(stdout.slice(1))
    expect(header).toEqual(['id', 'pref.a', 'preferences', 'pref.c'])
    expect(cells).toHaveLength(101)
    expect(cells.at(-1)).toEqual([uuid(100), '100', '{"b":"late"}', null])
    expect(cells.at(0)).toEqual([uuid(0), '0', null, null])
  })

  it('has a header even if nothing is listed, no mark on a terminal, and only chosen columns', async () => {
    cli.instance.use(listOf(0))
    expect((await cli.run(['list', '--excel=comma', '--columns', columns])).stdout).toBe(`\ufeff${columns}\r\n`)
    cli.instance.use(withPreferences({ a: 1, b: 2 }))
    const { stdout } = await cli.run(['list', '--excel=semicolon', '--columns', 'pref.b,subject_id'], screen)
    expect(stdout.replaceAll('\r\n', '\n')).toBe('pref.b;subject_id\n2;s0\n')
  })

  it.each([
    [['list', '--excel=tab'], 'tab'],
    [['list', '--excel', '-o', 'tsv'], '--excel cannot be combined with -o tsv'],
    [['list', '--excel', '-q'], '--excel cannot be combined with -q'],
    [['completion', 'bash', '--excel'], 'remove --excel'],
  ])('%j is a usage error', async (args, problem) => {
    const { code, stderr } = await cli.run(args)
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
    expect(cli.sent()).toEqual([])
  })

  it('takes no word that follows it', async () => {
    cli.instance.use(answers('get', byId, consent({ id: '7' })))
    expect(await cli.run(['get', '--excel', '7', '--columns', 'id'])).toMatchObject({
      code: 0,
      stdout: '\ufeffid\r\n7\r\n',
    })
  })
})

it.each([
  [{ LANG: 'de_DE.UTF-8' }, 'semicolon'],
  [{ LANG: 'en_US.UTF-8', LC_NUMERIC: 'fr_FR' }, 'semicolon'],
  [{ LANG: 'de_DE.UTF-8', LC_NUMERIC: 'fr_FR', LC_ALL: 'en_GB.UTF-8' }, 'comma'],
  [{ LANG: 'de_CH.UTF-8' }, 'semicolon'],
  [{ LANG: 'pl_PL@euro' }, 'semicolon'],
  [{ LANG: 'es_MX' }, 'comma'],
  [{ LANG: 'C.UTF-8' }, 'comma'],
  [{ LANG: 'POSIX' }, 'comma'],
  [{ LANG: 'not a locale' }, 'comma'],
] as const)('the separator that Excel expects in %j is a %s', (env, separator) => {
  expect(excelSeparator(env)).toBe(separator)
})

describe('--columns pref.NAME', () => {
  it.each([
    ['tsv', 'mail\t\n\t{"b":1}\n'],
    ['csv', 'pref.channel,pref.a.b\r\nmail,\r\n,"{""b"":1}"\r\n'],
    ['table', 'PREF.CHANNEL  PREF.A.B\nmail\n              {"b":1}\n'],
  ])('is a preference: %s', async (format, expected) => {
    cli.instance.use(withPreferences({ channel: 'mail' }, { 'a.b': { b: 1 } }))
    expect((await cli.run(['list', '-o', format, '--columns', 'pref.channel,pref.a.b'])).stdout).toBe(expected)
  })

  it('is typed in JSON, and is there in get and history too', async () => {
    cli.instance.use(withPreferences({ a: false }))
    expect(JSON.parse((await cli.run(['list', '--json=pref.a,pref.b'])).stdout)).toEqual([
      { 'pref.a': false, 'pref.b': null },
    ])
    cli.instance.use(answers('get', byId, consent()))
    expect((await cli.run(['get', '7', '--columns', 'pref.marketing'])).stdout).toBe('true\n')
    cli.instance.use(answers('get', `${byId}/history`, { data: [entry({ preferences: { a: 'x' } })] }))
    expect((await cli.run(['history', '7', '--columns', 'pref.a'])).stdout).toBe('x\n')
  })

  it.each([
    [['--columns', 'pref.'], 'unknown field "pref."'],
    [['--columns', 'pref.a,pref.a'], 'a name is repeated'],
    [['--columns', 'prefs.a'], 'word or pref.NAME or origin.NAME'],
  ])('%j is a usage error', async (flags, problem) => {
    const { code, stderr } = await cli.run(['list', ...flags])
    expect(code).toBe(2)
    expect(stderr).toContain(problem)
  })
})

const text = fc.string({ maxLength: 5 })
const key = fc.oneof(fc.constantFrom('a', 'constructor', 'a.b', 'é,"', ' x', '', '=1'), text)
const value = fc.oneof(
  fc.constantFrom('true', '1e3', ' 1', '"', 'null', '', '-1', "'=", null, true, -2, 0.5),
  fc.string({ unit: 'grapheme' }),
  fc.array(fc.oneof(text, fc.integer()), { maxLength: 3 }),
)
const preferences = fc.dictionary(
  key.filter(each => each !== '__proto__'),
  value,
)

it('any preferences come back the same through --excel and create --file', async () => {
  const samples = fc.sample(preferences, { numRuns: 90, seed: 7 })
  const rows = samples.map((each, index) => ({ id: uuid(index), site_id: uuid(9), preferences: each }))
  const chosen = {
    ...consentView,
    columns: consentView.columns.filter(({ name }) => /^(site_id|preferences)$/.test(name)),
  }
  const written = csv(chosen, { single: false, columns: 80, color: false, header: false, spreadsheet: ';' })
  const file = join(folder.path, 'excel.csv')
  writeFileSync(file, written.rows(rows.slice(0, 50)) + written.rows(rows.slice(50)) + written.end())
  cli.instance.use(
    http.get('*/api/v1/usage', () => HttpResponse.json({ error: 'not_found', message: '' }, { status: 404 })),
    http.post(consentsPath, () => HttpResponse.json(consent(), { status: 201 })),
  )
  const { code, stderr } = await cli.run([
    'create',
    '--file',
    file,
    '--csv-unguard',
    '--concurrency',
    '1',
    '--no-batch',
  ])
  expect(code, stderr).toBe(0)
  const bodies = cli.sent().filter(({ method }) => method === 'POST')
  expect(bodies.map(({ body }) => (body as { preferences?: unknown }).preferences ?? {})).toEqual(samples)
})
