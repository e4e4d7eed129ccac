import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { run } from '../../../../../support/cli.ts'
import { usePreparation, wholeAnswers } from './support.ts'

const { prepare, write, state } = usePreparation()

describe('import --from csv --map-out', () => {
  it('writes a map that only lacks the decisions', async () => {
    const rows = Array.from({ length: 20 }, (_, n) => `p${n}@example.com;2024-01-${10 + n} 10:00:00;Open;yes;x`)
    const file = write(`E-Mail;Date;Status;Newsletter;Note\n${rows.join('\n')}\n`)
    const path = join(state(), '..', 'map.json')
    const { code, stderr } = await run(['import', file, '--from', 'csv', '--map-out', path])
    expect([code, stderr]).toEqual([0, expect.stringContaining(`--from csv --map ${path} --dry-run`)])
    const map = JSON.parse(readFileSync(path, 'utf8'))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(map).toMatchObject({
      fields: { origin_id: 'E-Mail', subject_id: 'E-Mail', given_at: 'Date' },
      time: { formats: ['YYYY-MM-DD HH:mm:ss'] },
      accepted: { path: 'Status', values: { Open: null } },
      purposes: [{ from: 'field', path: 'Newsletter' }],
      values: { yes: null },
    })
    expect(map.about.at(-1)).toBe('Not used: Note.')
    const named = { ...map, system: 'acme-crm' }
    expect((await prepare(file, named, { timezone: 'UTC' })).undecided).toBe(2)
    const decided = { ...named, accepted: { path: 'Status', values: { Open: 'no' } }, values: { yes: 'yes' } }
    const { rows: made, counts } = await prepare(file, decided, { timezone: 'UTC' })
    expect([counts.records, made[0]?.accepted, made[0]?.preferences]).toEqual([20, false, { Newsletter: true }])
    expect((await run(['import', file, '--from', 'csv', '--map-out', path])).code).toBe(2)
  })

  it('drops no purpose because of a word that it does not know', async () => {
    const file = write('E-Mail;Purpose: News;Purpose: Ads;Page\na@x.example;Yes;No;/\nb@x.example;No;Maybe;/b\n')
    const path = join(state(), '..', 'purposes.json')
    expect((await run(['import', file, '--from', 'csv', '--map-out', path])).code).toBe(0)
    const map = JSON.parse(readFileSync(path, 'utf8'))
    expect(map.about.filter((line: string) => line.startsWith('The name of'))).toEqual([
      'The name of Purpose: Ads is null, because it has "Maybe", which is neither yes nor no: it may not be a purpose.',
    ])
    expect(map).toMatchObject({
      names: { 'Purpose: News': 'News', 'Purpose: Ads': null },
      values: { Yes: null, No: null, Maybe: null },
    })
  })

  it('is not needed to know how an import with refused rows would end', async () => {
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
    'and its map is refused if its system is %j, which could be of any tool',
    async system => {
      const map = write(JSON.stringify({ ...wholeAnswers, system }), 'unnamed.json')
      const { code, stderr } = await run(['import', write('a\n'), '--from', 'csv', '--map', map, '--dry-run'])
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('"system" does not name the tool that wrote the file'),
      ])
      expect(stderr).toContain('such as {"system": "acme-crm"}')
    },
  )

  it.each([
    [['--from', 'csv'], 'no map says what the columns of the CSV mean'],
    [['--from', 'consenti'], '"accepted" has to be in a map of yours'],
    [['--from', 'klaro', '--policy-version', '3000000000'], 'must be from 1 to 2147483647'],
  ])('without it import %s is an error in plain words', async (flags, message) => {
    const { code, stderr } = await run(['import', write('a\n'), ...flags, '--dry-run'])
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  })
})
