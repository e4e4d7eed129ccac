import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadMap } from '../../../../../../src/commands/consents/import/prepare/formats.ts'
import type { Io } from '../../../../../../src/io/io.ts'
import { run } from '../../../../../support/cli.ts'
import { expectExit } from '../../../../support.ts'
import { usePreparation, wholeAnswers } from './support.ts'

const { write, state } = usePreparation()

it('when a map for a built-in format names a preference, keeps the purposes of the format', async () => {
  const io = { host: { stdin: process.stdin } } as unknown as Io
  const load = (map: string | undefined) => loadMap(io, 'klaro', { map, encoding: undefined })
  const { purposes } = await load(undefined)
  const named = await load(write('{"fields":{"pref.news":"newsletter"}}', 'news.json'))
  expect([named.purposes, named.fields['pref.news']]).toEqual([purposes, 'newsletter'])
  const replaced = write(JSON.stringify({ fields: { 'pref.news': 'newsletter' }, purposes: [] }), 'none.json')
  expect((await load(replaced)).purposes).toEqual([])
})

describe('import --from csv --map-out', () => {
  it('writes a map that lacks only the decisions', async () => {
    const rows = Array.from({ length: 20 }, (_, n) => `p${n}@example.com;2024-01-${10 + n} 10:00:00;Open;yes;x`)
    const file = write(`E-Mail;Date;Status;Newsletter;Note\n${rows.join('\n')}\n`)
    const path = join(state(), '..', 'map.json')
    const { code, stderr } = await run(['import', file, '--from', 'csv', '--map-out', path])
    expect([code, stderr]).toEqual([0, expect.stringContaining(`--from csv --map ${path} --dry-run`)])
    const map = JSON.parse(readFileSync(path, 'utf8'))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(map).toMatchObject({
      fields: {
        origin_id: 'E-Mail',
        subject_id: 'E-Mail',
        given_at: 'Date',
        accepted: 'Status',
        'pref.Newsletter': 'Newsletter',
      },
      time: { formats: ['YYYY-MM-DD HH:mm:ss'] },
      values: { Open: null, yes: null },
    })
    expect(map.about.at(-1)).toBe('Not used: Note.')
    const again = await run(['import', file, '--from', 'csv', '--map-out', path])
    expect([again.code, readFileSync(path, 'utf8')]).toEqual([2, `${JSON.stringify(map, null, 2)}\n`])

    const preview = async (edited: object) => {
      const named = write(JSON.stringify({ ...map, system: 'acme-crm', ...edited }), 'named.json')
      const flags = ['--from', 'csv', '--map', named, '--policy-version', '3', '--timezone', 'UTC', '--dry-run']
      const dry = await run(['import', file, ...flags, '--json'], { env: { CONSENTCTL_STATE_DIR: state() } })
      const told = JSON.parse(dry.stdout).map(({ column, first, ...value }: object & Record<string, unknown>) => value)
      return [dry.code, told.map(Object.values)]
    }
    const rows20 = (open: string | null, yes: string | null) => [
      ['accepted', 'Open', 20, open],
      ['values', 'yes', 20, yes],
    ]
    expect(await preview({})).toEqual([5, rows20(null, null)])
    expect(await preview({ values: { Open: 'no', yes: 'yes' } })).toEqual([0, rows20('no', 'yes')])
    expect(await preview({ values: { yes: 'yes' }, accepted: { values: { Open: 'no' } } })).toEqual([
      0,
      rows20('no', 'yes'),
    ])
  })

  it('keeps a purpose column that has unknown values', async () => {
    const file = write('E-Mail;Purpose: News;Purpose: Ads;Page\na@x.example;Yes;No;/\nb@x.example;No;Maybe;/b\n')
    const path = join(state(), '..', 'purposes.json')
    const { code, stderr } = await run(['import', file, '--from', 'csv', '--map-out', path])
    expect([code, stderr]).toEqual([0, expect.stringContaining('neither yes nor no: Yes, No, Maybe')])
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      fields: { 'pref.News': 'Purpose: News', 'pref.Ads': 'Purpose: Ads' },
      values: { Yes: null, No: null, Maybe: null },
    })
  })

  it('with --dry-run instead, predicts the exit code of an import with rejected rows', async () => {
    const map = write(JSON.stringify(wholeAnswers), 'whole.json')
    const end = async (rows: string) => {
      const file = write(`person,time,marketing,analytics\n${rows}`)
      const flags = ['--from', 'csv', '--map', map, '--policy-version', '3', '--dry-run']
      const { code, stderr } = await run(['import', file, ...flags], { env: { CONSENTCTL_STATE_DIR: state() } })
      return [code, /exit code \d/.exec(stderr)?.[0]]
    }
    expect(await end('a,2024-01-01T00:00:00Z,yes,no\nb,never,yes,no\n')).toEqual([8, 'exit code 8'])
    expect(await end('b,never,yes,no\n')).toEqual([5, 'exit code 5'])
    expect(await end('a,2024-01-01T00:00:00Z,yes,no\n')).toEqual([0, undefined])
  })

  it.each([undefined, '', ' ', 'csv'])(
    'rejects the edited map if its system is %j, which could be any tool',
    async system => {
      const map = write(JSON.stringify({ ...wholeAnswers, system }), 'unnamed.json')
      const ran = await run(['import', write('a\n'), '--from', 'csv', '--map', map, '--dry-run'])
      expectExit(ran, 2, '"system" must name the tool that wrote the file', 'for example to {"system": "acme-crm"}')
    },
  )

  it.each([
    [['--from', 'csv'], 'a CSV requires a map of its columns'],
    [['--from', 'consenti'], 'do not contain "accepted"'],
    [['--from', 'klaro', '--policy-version', '3000000000'], 'must be from 1 to 2147483647'],
  ])('without it, import %s is a usage error', async (flags, message) => {
    expectExit(await run(['import', write('a\n'), ...flags, '--dry-run']), 2, message)
  })
})
