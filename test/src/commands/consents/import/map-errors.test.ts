import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadMap } from '../../../../../src/commands/consents/import/prepare/formats.ts'
import type { Io } from '../../../../../src/io/io.ts'
import { useFolder } from '../../../../support/cli.ts'

const folder = useFolder()
const io = { host: { stdin: process.stdin } } as unknown as Io

const map = {
  system: 'acme-crm',
  container: { kind: 'csv' },
  rows: 'answer',
  fields: { origin_id: 'id', given_at: 'at', accepted: 'ok' },
  time: { formats: ['rfc3339'] },
  values: { ja: 'yes' },
}

it.each<[string, object, string]>([
  ['no name of the tool', { system: '' }, '"system" must name the tool that wrote the file'],
  ['an unknown word', { purpose: [] }, 'the map has an unknown word, "purpose": use $schema, about, '],
  ['a misspelt word', { container: { knd: 'csv' } }, 'container has an unknown word, "knd": use kind, encoding, '],
  ['another kind', { container: { kind: 'xlsx' } }, 'container.kind must be csv, ndjson or json, not "xlsx"'],
  [
    'an unknown encoding',
    { container: { kind: 'csv', encoding: 'ansi-x' } },
    'container.encoding must be an encoding, such as windows-1252, not "ansi-x"',
  ],
  [
    'another delimiter',
    { container: { kind: 'csv', delimiter: '|' } },
    'container.delimiter must be a comma, a semicolon or a tab, not "|"',
  ],
  ['other rows', { rows: 'rows' }, 'rows must be answer, part or change, not "rows"'],
  ['an unknown field', { fields: { ...map.fields, adress: 'x' } }, 'fields.adress is not a field: use origin_id, '],
  [
    'a number for a column',
    { fields: { ...map.fields, subject_id: 3 } },
    'fields.subject_id must be a path, or an object with ',
  ],
  [
    'no person',
    { fields: { ...map.fields, origin_id: null } },
    'fields.origin_id is missing: name the column of the person',
  ],
  ['no time', { fields: { ...map.fields, given_at: null } }, 'fields.given_at is missing: name the column of the time'],
  [
    'no time in an answer',
    { fields: { ...map.fields, given_at: null }, answers: [{ given_at: 'at' }, {}] },
    'fields.given_at is missing',
  ],
  [
    'a constant that is no answer',
    { fields: { ...map.fields, accepted: { constant: 'maybe' } } },
    'fields.accepted.constant must be yes or no, not "maybe"',
  ],
  [
    'a constant preference of a number',
    { fields: { ...map.fields, 'pref.news': { constant: 1 } } },
    'fields.pref.news.constant must be yes or no, not 1',
  ],
  [
    'no answer',
    { fields: { ...map.fields, accepted: null } },
    'accepted is missing: name the column in fields, or a rule',
  ],
  [
    'a rule without purposes',
    { fields: { ...map.fields, accepted: null }, accepted: { rule: 'any' } },
    'purposes is missing: ',
  ],
  ['a text for formats', { time: { formats: 'rfc3339' } }, 'time.formats must be a list, not "rfc3339"'],
  ['no format', { time: { formats: [] } }, 'time.formats must not be empty'],
  [
    'another hour',
    { time: { formats: ['rfc3339'], repeated_hour: 'both' } },
    'time.repeated_hour must be refuse, earlier or later, not "both"',
  ],
  [
    'another source of purposes',
    { purposes: [{ from: 'colums' }] },
    'purposes[0].from must be columns, row, object, list or names, not "colums"',
  ],
  ['purposes without a path', { purposes: [{ from: 'list', name: 'a', value: 'b' }] }, 'purposes[0].path '],
  [
    'another answer of names',
    { purposes: [{ from: 'names', path: 'a', answer: 'ja' }] },
    'purposes[0].answer must be yes or no, not "ja"',
  ],
  [
    'another meaning of a word',
    { values: { ja: 'true' } },
    'values.ja must be yes, no or left_out, or null while it is not decided, not "true"',
  ],
  [
    'a consent by silence',
    { values: { ' ': 'yes' } },
    'values must not have yes for an empty word: silence is not consent',
  ],
  ['a number for a preference', { names: { a: 1 } }, 'names.a must be a name, or false to drop it, not 1'],
  ['the table event without the field', { event: { values: {} } }, 'fields.event is missing'],
  ['the field event without the table', { fields: { ...map.fields, event: 'x' } }, 'event is missing'],
  [
    'another event',
    { fields: { ...map.fields, event: 'x' }, event: { values: { x: 'yes' } } },
    'event.values.x must be answer or left_out, or null while it is not decided, not "yes"',
  ],
  ['another rule', { accepted: { rule: 'most' } }, 'accepted.rule must be any or all, not "most"'],
  ['a version that is no number', { policy_versions: { a: 'b' } }, 'policy_versions.a '],
])('a map with %s is a usage error in the words of its page', async (_, change, message) => {
  const path = join(folder.path, 'map.json')
  writeFileSync(path, JSON.stringify({ ...map, ...change }))
  await expect(loadMap(io, 'csv', { map: path, encoding: undefined })).rejects.toThrow(`${path}: ${message}`)
})
