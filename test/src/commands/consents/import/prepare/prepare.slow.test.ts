import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ImportMap, type ImportMapInput } from '../../../../../../src/commands/consents/import/prepare/map.ts'
import { ImportRow } from '../../../../../../src/contract/imports.ts'
import { parts, usePreparation, wholeAnswers } from './support.ts'

const { prepare, write, left } = usePreparation()

const header = 'person,time,marketing,analytics\n'

function sum({ records, changes, merged, duplicates, left_out, refused }: Record<string, number>) {
  return [records, changes, merged, duplicates, left_out, refused].reduce((a = 0, b = 0) => a + b)
}

describe('prepare', () => {
  it('creates one row per person, with later answers as changes in chronological order', async () => {
    const csv = `${header}b,2024-03-01T00:00:00Z,no,no\na,2024-02-01T00:00:00+01:00,yes,no\nb,2024-01-01T00:00:00Z,yes,yes\n`
    const { rows, path, counts, given, withoutSubject } = await prepare(write(csv), wholeAnswers)
    const sha256 = createHash('sha256').update(csv).digest('hex')
    expect(rows).toEqual([
      {
        policy_version: 3,
        origin: { system: 'test', id: 'a' },
        file_sha256: sha256,
        given_at: '2024-01-31T23:00:00.000Z',
        accepted: true,
        preferences: { analytics: false, marketing: true },
      },
      {
        policy_version: 3,
        origin: { system: 'test', id: 'b' },
        file_sha256: sha256,
        given_at: '2024-01-01T00:00:00.000Z',
        accepted: true,
        preferences: { analytics: true, marketing: true },
        changes: [
          {
            given_at: '2024-03-01T00:00:00.000Z',
            accepted: false,
            preferences: { analytics: false, marketing: false },
          },
        ],
      },
    ])
    expect(counts).toEqual({ read: 3, records: 2, changes: 1, merged: 0, duplicates: 0, left_out: 0, refused: 0 })
    expect(given).toEqual({ first: '2024-01-01T00:00:00.000Z', last: '2024-03-01T00:00:00.000Z' })
    expect(withoutSubject).toBe(2)
    expect(statSync(path as string).mode & 0o777).toBe(0o600)
    expect(left().length).toBe(3) // its folder, with its owner
    const site_id = '01890000-0000-7000-8000-000000000000'
    for (const row of rows) expect(ImportRow.safeParse({ site_id, ...row }).error).toBeUndefined()
  })

  describe('with circumstances in the fields', () => {
    const map: ImportMapInput = {
      ...wholeAnswers,
      fields: {
        ...wholeAnswers.fields,
        'circumstances.method': { constant: 'paper' },
        'circumstances.form': 'form',
        'circumstances.given_by': 'by',
        'circumstances.relation': 'relation',
        'circumstances.confirmed_at': 'confirmed',
      },
    }
    const columns = 'person,time,marketing,analytics,form,by,relation,confirmed\n'
    const at = (day: number) => `2024-01-0${day}T00:00:00Z`

    it('keeps those of each answer', async () => {
      const csv = `${columns}a,${at(1)},yes,yes,F-12,guardian,mother,${at(3)}\na,${at(2)},no,no,,,,\n`
      const { rows } = await prepare(write(csv), map)
      const told = { form: 'F-12', given_by: 'guardian', relation: 'mother', confirmed_at: '2024-01-03T00:00:00.000Z' }
      expect(rows).toMatchObject([
        { circumstances: { method: 'paper', ...told }, changes: [{ circumstances: { method: 'paper' } }] },
      ])
      const site_id = '01890000-0000-7000-8000-000000000000'
      for (const row of rows) expect(ImportRow.safeParse({ site_id, ...row }).error).toBeUndefined()
    })

    it.each([
      ['guard,,', 'circumstances.given_by ("by") '],
      [',mother,', 'circumstances.relation ("relation") needs given_by guardian or agent'],
      [',,yesterday', 'circumstances.confirmed_at ("confirmed") '],
    ])('refuses a person with %s', async (cells, message) => {
      const { refusals, counts } = await prepare(write(`${columns}a,${at(1)},yes,yes,F-12,${cells}\n`), map)
      expect(refusals).toMatchObject([{ reason: 'field', message: expect.stringContaining(message) }])
      expect(counts).toMatchObject({ records: 0, refused: 1 })
    })

    it('refuses a person whose answers at one time have different ones', async () => {
      const csv = `${columns}a,${at(1)},yes,yes,F-12,,,\na,${at(1)},yes,yes,F-13,,,\n`
      const { refusals } = await prepare(write(csv), map)
      expect(refusals).toMatchObject([{ reason: 'contradiction', message: expect.stringContaining('circumstances') }])
    })
  })

  it('writes the same bytes for the same rows in any order', async () => {
    const lines = Array.from({ length: 300 }, (_, n) => `p${n % 70},2024-01-01T00:00:${10 + (n % 50)}Z,yes,no`)
    const one = await prepare(write(`${header}${lines.join('\n')}\n`), wholeAnswers)
    const again = await prepare(write(`${header}${lines.join('\n')}\n`), wholeAnswers)
    const other = await prepare(write(`${header}${lines.toReversed().join('\n')}\n`), wholeAnswers)
    expect(again.text).toBe(one.text)
    const withoutDigest = (text: string) => text.replaceAll(/[\da-f]{64}/g, '')
    expect(withoutDigest(other.text)).toBe(withoutDigest(one.text))
  })

  it('stops at undecided values, and reports each value with its count and meaning', async () => {
    const csv = `${header}a,2024-01-01T00:00:00Z,yes,IMPLICIT\nb,2024-01-01T00:00:00Z,IMPLICIT,pending\n`
    const { values, undecided, path } = await prepare(write(csv), wholeAnswers)
    expect([path, undecided, left()]).toEqual([null, 1, []])
    const [marketing, analytics] = ['pref.marketing ("marketing")', 'pref.analytics ("analytics")']
    const first = (line: number) => expect.stringMatching(new RegExp(`export\\.csv:${line}$`))
    expect(values).toEqual([
      { table: 'values', value: 'IMPLICIT', count: 2, column: analytics, first: first(2), becomes: null },
      { table: 'values', value: 'pending', count: 1, column: analytics, first: first(3), becomes: 'left_out' },
      { table: 'values', value: 'yes', count: 1, column: marketing, first: first(2), becomes: 'yes' },
    ])
  })

  it('stops at an undecided purpose, and drops one that the map sets to false', async () => {
    const csv = 'person,time,purpose,value\na,2024-01-01T00:00:00Z,marketing,yes\na,2024-01-01T00:00:00Z,video,yes\n'
    const undecided = await prepare(write(csv), parts)
    expect(undecided.values).toContainEqual(
      expect.objectContaining({ table: 'names', value: 'video', count: 1, column: 'value', becomes: null }),
    )
    const map: ImportMapInput = { ...parts, names: { marketing: 'ads', video: false } }
    const { rows, leftOut, counts } = await prepare(write(csv), map)
    expect(rows[0]?.preferences).toEqual({ ads: true })
    expect([leftOut, sum({ ...counts })]).toEqual([[{ table: 'names', value: 'video', count: 1 }], counts.read])
  })

  it('when a value is mapped to left_out, creates no answer for it', async () => {
    const csv = `${header}a,2024-01-01T00:00:00Z,pending,\nb,2024-01-01T00:00:00Z,pending,yes\n`
    const { rows, leftOut } = await prepare(write(csv), wholeAnswers)
    expect(rows.map(({ origin, preferences }) => [origin.id, preferences])).toEqual([['b', { analytics: true }]])
    expect(leftOut).toEqual([{ table: 'values', value: 'pending', count: 1 }])
  })

  it.each<[string, (answer: unknown) => object]>([
    ['values', answer => ({ values: { '': answer } })],
    ['accepted.values', answer => ({ accepted: { rule: 'any', values: { '': answer } } })],
    ['accepted.values', answer => ({ accepted: { rule: 'any', values: { ok: 'yes', ' ': answer } } })],
  ])('rejects a map whose %s turn an empty value into a consent', (table, own) => {
    const issuesOf = (answer: unknown) => ImportMap.safeParse({ ...wholeAnswers, ...own(answer) }).error?.issues ?? []
    expect(issuesOf('yes').map(({ path, message }) => [path.join('.'), message])).toEqual([
      [table, expect.stringContaining('silence is not consent')],
    ])
    for (const answer of ['no', 'left_out', null]) expect(issuesOf(answer)).toEqual([])
  })

  it('with the rule "all", when a purpose has no answer, records a refusal', async () => {
    const csv = `${header}a,2024-01-01T00:00:00Z,yes,pending\nb,2024-01-01T00:00:00Z,yes,yes\n`
    const { rows } = await prepare(write(csv), { ...wholeAnswers, accepted: { rule: 'all' } })
    expect(rows.map(({ accepted }) => accepted)).toEqual([false, true])
  })

  it('ignores the purposes of accepted.except in the rule', async () => {
    const map: ImportMapInput = { ...wholeAnswers, accepted: { rule: 'any', except: ['analytics'] } }
    const { rows } = await prepare(write(`${header}a,2024-01-01T00:00:00Z,no,yes\n`), map)
    expect(rows[0]?.accepted).toBe(false)
  })

  it('leaves out rows whose event is not an answer', async () => {
    const map: ImportMapInput = {
      ...wholeAnswers,
      fields: { ...wholeAnswers.fields, event: 'marketing' },
      event: { values: { yes: 'answer', V: 'left_out' } },
    }
    const { rows, counts, leftOut } = await prepare(
      write(`${header}a,no time at all,V,x\nb,2024-01-01T00:00:00Z,yes,no\n`),
      map,
    )
    expect([rows.length, counts.left_out, leftOut[0]?.table]).toEqual([1, 1, 'event'])
  })

  it('merges the rows of a person with the same time into one answer, across files', async () => {
    const start = 'person,time,purpose,value\n'
    const one = write(`${start}a,2024-01-01T00:00:00Z,marketing,yes\n`, 'one.csv')
    const two = write(`${start}a,2024-01-01T00:00:00Z,analytics,no\na,2024-01-01T00:00:00Z,marketing,yes\n`, 'two.csv')
    const { rows, counts } = await prepare([one, two], parts)
    expect(rows[0]?.preferences).toEqual({ analytics: false, marketing: true })
    expect(counts).toEqual({ read: 3, records: 1, changes: 0, merged: 1, duplicates: 1, left_out: 0, refused: 0 })
  })

  it('with rows "change", keeps the purposes that a row does not mention', async () => {
    const csv =
      'person,time,purpose,value\na,2024-01-02T00:00:00Z,analytics,no\na,2024-01-01T00:00:00Z,marketing,yes\na,2024-01-03T00:00:00Z,marketing,no\n'
    const { rows } = await prepare(write(csv), { ...parts, rows: 'change' })
    expect([
      rows[0]?.preferences,
      rows[0]?.changes?.map(({ preferences, accepted }) => [preferences, accepted]),
    ]).toEqual([
      { marketing: true },
      [
        [{ analytics: false, marketing: true }, true],
        [{ analytics: false, marketing: false }, false],
      ],
    ])
  })

  it('renames purposes of the file, and not a field pref.NAME that is called as one of them', async () => {
    const csv = 'person,time,purpose,value,letter\na,2024-01-01T00:00:00Z,news,no,yes\n'
    const fields = { ...parts.fields, 'pref.news': 'letter' }
    const { rows, refusals } = await prepare(write(csv), { ...parts, fields, names: { news: 'press' } })
    expect(refusals).toEqual([])
    expect(rows.map(({ preferences }) => preferences)).toEqual([{ news: true, press: false }])
  })

  it('counts each answer of a row, and refuses a row without a person once', async () => {
    const { given_at, ...fields } = wholeAnswers.fields
    const map = { ...wholeAnswers, fields, answers: [{ given_at: 'time' }, { given_at: 'later' }] }
    const both = '2024-01-01T00:00:00Z,yes,no,2024-02-01T00:00:00Z'
    const csv = `person,time,marketing,analytics,later\na,${both}\n,${both}\nb,soon,yes,no,soon\n`
    const { refusals, counts } = await prepare(write(csv), map)
    expect(refusals.map(({ origin_id, rows }) => [origin_id, rows])).toEqual([
      [null, 1],
      ['b', 2],
    ])
    expect(counts).toEqual({ read: 5, records: 1, changes: 1, merged: 0, duplicates: 0, left_out: 0, refused: 3 })
  })

  it('when several purposes map to one preference, requires a yes for all', async () => {
    const csv =
      'person,time,purpose,value\na,2024-01-01T00:00:00Z,s1,yes\na,2024-01-01T00:00:00Z,s2,no\nb,2024-01-01T00:00:00Z,s1,yes\nb,2024-01-01T00:00:00Z,s2,pending\n'
    const { rows, counts } = await prepare(write(csv), { ...parts, names: { s1: 'ads', s2: 'ads' } })
    expect(rows.map(({ preferences }) => preferences)).toEqual([{ ads: false }, {}])
    expect(sum({ ...counts })).toBe(counts.read)
  })

  it('rejects a person with different answers at one time, and lists the rows', async () => {
    const csv = `${header}a,2024-01-01T00:00:00Z,yes,no\na,2024-01-01T00:00:00Z,no,no\nb,2024-01-01T00:00:00Z,yes,no\n`
    const { rows, refusals, counts, refused } = await prepare(write(csv), wholeAnswers)
    expect([rows.map(({ origin }) => origin.id), counts.refused, refused]).toEqual([['b'], 2, { contradiction: 2 }])
    expect(refusals[0]).toMatchObject({ rows: 2, origin_id: 'a', reason: 'contradiction' })
    expect(refusals[0]?.where).toMatch(/export\.csv:2$/)
    expect(refusals[0]?.others).toEqual([expect.stringMatching(/export\.csv:3$/)])
  })

  it('lists the rejected rows of a person without those that are left out', async () => {
    const map: ImportMapInput = { ...parts, fields: { ...parts.fields, subject_id: 'subject' } }
    const row = (person: string, subject: string, value: string) =>
      `${person},2024-01-01T00:00:0${subject}Z,marketing,${value},${subject}\n`
    const silent = row('b', '1', 'pending') + row('b', '2', 'pending')
    const rows = row('a', '1', 'pending') + row('a', '2', 'yes') + row('a', '3', 'no') + silent
    const { refusals, counts } = await prepare(write(`person,time,purpose,value,subject\n${rows}`), map)
    const lines = refusals.map(({ where, others, ...refused }) => ({
      lines: [where, ...others].map(each => Number(each.replace(/.*:/, ''))),
      ...refused,
    }))
    expect(lines).toEqual([
      {
        ...{ lines: [3, 4], rows: 2, origin_id: 'a', reason: 'contradiction' },
        message: 'it has several subjects: "1" and "2"',
      },
    ])
    expect([counts.left_out, counts.refused]).toEqual([3, 2])
  })

  const asLines = (rows: readonly object[]) => rows.map(row => `${JSON.stringify(row)}\n`).join('')
  const given = (person: string, time: string, marketing: string) => ({ person, time, marketing, analytics: 'no' })
  const [yes, other] = [given('a', '2024-01-01T00:00:00Z', 'yes'), given('b', '2024-01-01T00:00:00Z', 'yes')]
  const withdrawn = given('a', '2024-03-01T00:00:00Z', 'no')
  const asCsv = (...rows: readonly object[]) =>
    [Object.keys(rows[0] ?? {}), ...rows.map(row => Object.values(row))].map(cells => `${cells.join(',')}\n`).join('')
  const local = { formats: ['rfc3339', 'YYYY-MM-DD HH:mm:ss'], zone: 'Europe/Paris' }
  it.each<[string, string, Partial<ImportMapInput>]>([
    ['31 June', asCsv(yes, { ...withdrawn, time: '2024-06-31T00:00:00Z' }, other), {}],
    ['an hour that was twice', asCsv(yes, other, { ...withdrawn, time: '2024-10-27 02:30:00' }), { time: local }],
    ['an hour that was not', asCsv({ ...withdrawn, time: '2024-03-31 02:30:00' }, other, yes), { time: local }],
    ['no time', asCsv(other, { ...withdrawn, time: '' }, yes), {}],
    ['a value that is too long', asCsv(yes, { ...withdrawn, marketing: 'x'.repeat(256) }, other), {}],
    [
      'a cell that is not JSON',
      asCsv({ ...yes, more: '' }, { ...other, more: '{}' }, { ...withdrawn, more: '{' }),
      { container: { kind: 'csv', json_columns: ['more'] } },
    ],
    [
      'an element that is not an object',
      asLines([{ person: 'a', events: [yes, 1] }, other]),
      { container: { kind: 'ndjson', each: 'events' } },
    ],
  ])('when one row of a person has %s, rejects all of them', async (_, file, own) => {
    const { rows, refusals, counts } = await prepare(write(file), { ...wholeAnswers, ...own })
    expect(rows.map(({ origin }) => origin.id)).toEqual(['b'])
    expect(refusals.map(({ origin_id, rows, others }) => [origin_id, rows, others.length])).toEqual([['a', 2, 1]])
    expect([counts.refused, sum({ ...counts })]).toEqual([2, counts.read])
  })

  it.each([
    ['45322', 'as a date of Excel it is 2024-01-31'],
    ['45322.5', 'as a date of Excel it is 2024-01-31'],
    ['1706691600', '"epoch_s" in time.formats'],
    ['1706691600000', '"epoch_ms" in time.formats'],
    ['2024-01-31T09:00:00+0000', 'its offset has no colon'],
    ['yesterday', '"yesterday" is not a time as in the map: rfc3339'],
  ])('when the time is %s, names its column and the likely cause', async (time, told) => {
    const { refusals } = await prepare(write(asCsv({ ...yes, time })), wholeAnswers)
    expect(refusals.map(({ message }) => message)).toEqual([expect.stringMatching(/^given_at \("time"\)/)])
    expect(refusals[0]?.message).toContain(told)
  })

  it('distinguishes seconds and Excel dates from the milliseconds that the map expects', async () => {
    const map: ImportMapInput = { ...wholeAnswers, time: { formats: ['epoch_ms'] } }
    const { refusals } = await prepare(write(asCsv({ ...yes, time: '1706691600' }, { ...other, time: '45322' })), map)
    expect(refusals.map(({ message }) => message)).toEqual([
      expect.stringContaining('is before 1990: 1706691600; 10 digits'),
      expect.stringContaining('is before 1990: 45322; as a date of Excel'),
    ])
  })

  it('names the column of an invalid value', async () => {
    const map: ImportMapInput = { ...wholeAnswers, fields: { ...wholeAnswers.fields, subject_id: 'E-Mail' } }
    const long = asCsv({ ...yes, 'E-Mail': 'x'.repeat(256) }, { ...other, 'E-Mail': 'b', marketing: 'y'.repeat(256) })
    const { refusals } = await prepare(write(long), map)
    expect(refusals.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^subject_id \("E-Mail"\) /),
      'pref.marketing ("marketing") has over 255 characters',
    ])
  })

  it('while values are undecided, lists rejected rows but checks no person', async () => {
    const csv = asCsv(yes, { ...withdrawn, time: 'soon' }, { ...other, marketing: 'seen' })
    const { refusals, undecided, counts } = await prepare(write(csv), wholeAnswers)
    expect([undecided, counts.refused, refusals.map(({ origin_id, rows }) => [origin_id, rows])]).toEqual([
      ...[1, 1],
      [['a', 1]],
    ])
  })

  it('rejects a person with more changes than fit into a record', async () => {
    const day = (n: number) => new Date(Date.UTC(2020, 0, 1) + n * 60_000).toISOString()
    const rows = Array.from({ length: 12_000 }, (_, n) => `a,${day(n)},${n % 2 ? 'yes' : 'no'},no`)
    const { refusals, path, counts } = await prepare(write(`${header}${rows.join('\n')}\n`), wholeAnswers)
    expect([path, counts.refused, refusals[0]?.reason, refusals[0]?.rows]).toEqual([null, 12_000, 'too_large', 12_000])
    expect(refusals[0]?.others.length).toBe(1000)
  })

  it.each([
    ['no time', 'a,soon,yes,no', 'time'],
    ['a time in the future', 'a,2027-01-01T00:00:00Z,yes,no', 'time'],
    ['a time before 1990', 'a,1989-12-31T23:59:59Z,yes,no', 'time'],
    ['no origin', ',2024-01-01T00:00:00Z,yes,no', 'field'],
    ['an origin that is too long', `${'a'.repeat(256)},2024-01-01T00:00:00Z,yes,no`, 'field'],
    ['NUL', 'a\0,2024-01-01T00:00:00Z,yes,no', 'field'],
    ['too few cells', 'a,2024-01-01T00:00:00Z,yes', 'invalid'],
    ['a quotation mark within a cell', 'a,2024-01-01T00:00:00Z,y"es",no', 'invalid'],
    ['bytes that are not UTF-8', Buffer.from('a\xff,2024-01-01T00:00:00Z,yes,no', 'latin1'), 'invalid'],
  ])('rejects a row with %s by line number, and stops if its person is unknown', async (_, row, reason) => {
    const csv = Buffer.concat([
      Buffer.from(`${header}x,2024-01-01T00:00:00Z,no,no\n`),
      Buffer.from(row),
      Buffer.from('\n'),
    ])
    const { refusals, rows, unreadable } = await prepare(write(csv), wholeAnswers)
    expect(refusals.map(({ where, reason }) => [where.replace(/.*:/, ''), reason])).toEqual([['3', reason]])
    expect([rows.length, unreadable]).toEqual(reason === 'invalid' ? [0, 1] : [1, 0])
  })
})
