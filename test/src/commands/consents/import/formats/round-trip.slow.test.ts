import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  type FormatName,
  formatNames,
  loadMap,
} from '../../../../../../src/commands/consents/import/prepare/formats.ts'
import { prepare } from '../../../../../../src/commands/consents/import/prepare/prepare.ts'
import type { Refused } from '../../../../../../src/commands/consents/import/prepare/prepared.ts'
import { ImportRow } from '../../../../../../src/contract/imports.ts'
import type { Io } from '../../../../../../src/io/io.ts'
import { useFolder } from '../../../../../support/cli.ts'
import { exampleMap, makers } from './fixtures.ts'
import type { Fixture, Person } from './truth.ts'
import { sha256 } from './truth.ts'

const rows = Number(process.env['CONSENTCTL_TEST_IMPORT_ROWS'] ?? 1000)
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? 20_261_123)

const site_id = '01890000-0000-7000-8000-000000000000'

const folder = useFolder()
const io = { host: { stdin: process.stdin } } as unknown as Io
let runs = 0

/** Prepares the files of a fixture, with the map that the README has for its format. */
async function prepareFixture(format: FormatName, fixture: Fixture, edit = (map: string) => map) {
  const path = (name: string) => join(folder.path, name)
  for (const [name, bytes] of Object.entries(fixture.files)) writeFileSync(path(name), bytes)
  writeFileSync(path('map.json'), edit(exampleMap(format)))
  const refused: Refused[] = []
  const map = await loadMap(io, format, {
    map: path('map.json'),
    encoding: format === 'hubspot' ? 'windows-1252' : undefined,
  })
  const prepared = await prepare(Object.keys(fixture.files).map(path), map, {
    folder: path(`work-${++runs}`),
    policyVersion: fixture.policyVersion,
    timezone: fixture.timezone,
    unguard: false,
    now: new Date('2026-11-23T00:00:00Z'),
    host: process,
    signal: AbortSignal.timeout(60_000),
    onRefused: each => void refused.push(each),
  })
  const text = prepared.path ? readFileSync(prepared.path, 'utf8') : ''
  return { map, prepared, refused, text }
}

interface PreparedRow {
  readonly [field: string]: unknown
  readonly origin: { readonly system: string; readonly id: string; readonly evidence?: string }
  readonly changes?: readonly Readonly<Record<string, unknown>>[]
}

/** Rows by the id of their origin, each with all of its answers in full. */
function readPrepared(text: string, fixture: Fixture): Map<string, Person> {
  const names = new Map(Object.entries(fixture.files).map(([name, bytes]) => [sha256(bytes), name]))
  const lines = text.split('\n').filter(line => line !== '')
  const read = lines.map((line): [string, Person] => {
    const { origin, changes = [], ...first } = JSON.parse(line) as PreparedRow
    const { given_at, accepted, preferences, policy_version, file_sha256, ...fields } = first
    let state = { given_at, accepted, preferences, policy_version, file_sha256 }
    const answers = [{}, ...changes].map(change => {
      state = { ...state, ...change }
      return {
        at: Date.parse(state.given_at as string),
        accepted: state.accepted as boolean,
        preferences: (state.preferences ?? {}) as Record<string, boolean>,
        policyVersion: state.policy_version as number,
        files: [names.get(state.file_sha256 as string) ?? 'another file'],
      }
    })
    const record = { ...(fields as Record<string, string>), id: origin.id }
    return [origin.id, { record: origin.evidence ? { ...record, evidence: origin.evidence } : record, answers }]
  })
  expect(new Set(read.map(([id]) => id)).size).toBe(read.length)
  return new Map(read)
}

/** An answer that is in two files may be told to be from either. */
function fromEither(expected: Person, actual: Person | undefined): Person {
  const answers = expected.answers.map((answer, index) => ({
    ...answer,
    files: answer.files.filter((file, place) => place === 0 || actual?.answers[index]?.files.includes(file)).slice(-1),
  }))
  return { ...expected, answers }
}

describe('a file of each format', () => {
  describe.each(formatNames)('format %s', format => {
    it(`converts ${rows} rows into rows that the service accepts, with their meaning, and counts each outcome`, async () => {
      const fixture = makers[format](seed, rows)
      const { prepared, refused, text } = await prepareFixture(format, fixture)
      expect(prepared.values.filter(({ becomes }) => becomes === null)).toEqual([])
      expect(prepared.refused).toEqual(fixture.refused)
      expect(refused.reduce((sum, each) => sum + each.rows, 0)).toBe(fixture.counts.refused)
      expect(prepared.counts).toEqual(fixture.counts)
      expect(fixture.spoiled.length).toBeGreaterThan(rows / 200)
      expect(refused.map(({ origin_id }) => origin_id)).toEqual(expect.arrayContaining([...fixture.spoiled]))
      expect(prepared.leftOut.reduce((sum, { count }) => sum + count, 0)).toBe(fixture.counts.left_out)
      expect(prepared.files.map(({ sha256 }) => sha256)).toEqual(Object.values(fixture.files).map(sha256))

      const read = readPrepared(text, fixture)
      for (const line of text.split('\n').filter(Boolean))
        expect(ImportRow.safeParse({ site_id, ...JSON.parse(line) }).error).toBeUndefined()
      expect(read.size).toBe(fixture.persons.length)
      for (const person of fixture.persons) {
        const actual = read.get(person.record.id)
        const expected = fromEither(person, actual)
        if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected) // slow, and explains
      }
      const times = fixture.persons.flatMap(({ answers }) => answers.map(({ at }) => at))
      expect(prepared.given).toEqual({
        first: new Date(Math.min(...times)).toISOString(),
        last: new Date(Math.max(...times)).toISOString(),
      })
    })

    it.skipIf(format === 'mailchimp')('stops at a value that the format alone does not decide', async () => {
      const { prepared, text } = await prepareFixture(format, makers[format](seed, 100), map =>
        format === 'csv' || format === 'mailchimp'
          ? map.replace('"PENDING": "left_out"', '"PENDING": null')
          : essentials[format],
      )
      expect(prepared.undecided).toBeGreaterThan(0)
      expect(prepared.path).toBeNull()
      expect(text).toBe('')
    })
  })
})

/** What a format cannot do without. */
const essentials: Readonly<Record<Exclude<FormatName, 'csv' | 'mailchimp'>, string>> = {
  usercentrics: '{}',
  iubenda: '{}',
  didomi: '{}',
  'cookie-script': '{}',
  'commanders-act': '{}',
  consenti: '{"accepted": {"rule": "any"}}',
  c15t: '{}',
  klaro: '{}',
  onetrust: '{}',
  cookiebot: '{"values": {"true": null}}',
  cookieyes: '{"values": {"yes": null}}',
  complianz: '{}',
  hubspot: '{"event": {"values": {"WAHR": null}}}',
  klaviyo: '{"values": {"SUBSCRIBED": null}}',
  brevo: '{"event": {"values": {"Yes": null}}}',
}
