import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { run } from '../../../../../support/cli.ts'
import { usePreparation } from './support.ts'

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
    expect((await prepare(file, map, { timezone: 'UTC' })).undecided).toBe(2)
    const decided = { ...map, accepted: { path: 'Status', values: { Open: 'no' } }, values: { yes: 'yes' } }
    const { rows: made, counts } = await prepare(file, decided, { timezone: 'UTC' })
    expect([counts.records, made[0]?.accepted, made[0]?.preferences]).toEqual([20, false, { Newsletter: true }])
    expect((await run(['import', file, '--from', 'csv', '--map-out', path])).code).toBe(2)
  })
})
