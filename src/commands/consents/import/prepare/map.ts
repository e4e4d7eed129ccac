import * as z from 'zod'
import { type CircumstanceName, circumstanceNames } from '../../../../contract/circumstance-words.ts'
import { PolicyVersion, text } from '../../../../contract/values.ts'
import { isEncoding } from '../../../../io/encoding.ts'

// The descriptions are those of map.schema.json; map.md explains every word.

const Path = z.string('must be a path').min(1, 'must not be empty')

const Source = z
  .union(
    [
      Path,
      z.strictObject({ path: Path, optional: z.literal(true) }),
      z.strictObject({ first: z.array(Path).min(1) }),
      z.strictObject({ join: z.array(Path).min(2), separator: z.string() }),
      z.strictObject({ constant: z.union([z.string(), z.number()]) }),
      z.strictObject({ sha256: Path }),
    ],
    'must be a path, or an object with path and optional, first, join and separator, constant, or sha256',
  )
  .describe('A column, or the keys of JSON with dots: a.b, a[0], a[name=text]. Empty and missing values are not given.')
export type Source = z.output<typeof Source>

const oneOf = (words: string) => `must be ${words}, or null while it is not decided`

const Answers = z.record(
  z.string(),
  z.enum(['yes', 'no', 'left_out'], oneOf('yes, no or left_out')).nullable(),
  'must be an object: {"word in the file": "yes"}',
)

const Container = z.strictObject({
  kind: z.enum(['csv', 'ndjson', 'json'], 'must be csv, ndjson or json'),
  encoding: z
    .string()
    .refine(isEncoding, 'must be an encoding, such as windows-1252')
    .optional()
    .describe('Of a file without a byte order mark. Default: UTF-8.'),
  delimiter: z
    .enum([',', ';', '\t'], 'must be a comma, a semicolon or a tab')
    .optional()
    .describe('Of csv. Guessed by default.'),
  columns: z
    .array(z.string().min(1, 'must not be empty'))
    .min(1, 'must not be empty')
    .optional()
    .describe('Of csv without a header: names in order.'),
  json_columns: z.array(z.string()).optional().describe('Of csv: columns with JSON in their cells.'),
  at: z.string().optional().describe('Of json: keys of the array of rows with dots; empty for the document itself.'),
  each: Path.optional().describe('Of json and ndjson: path of an array whose elements are the rows.'),
  entries: z.array(z.string()).optional().describe('Of a ZIP: names of the files to read, with * for any text.'),
})
export type Container = z.output<typeof Container>

type CircumstanceField = `circumstances.${CircumstanceName}`

const Field = Source.nullable().optional()

const circumstances = Object.fromEntries(circumstanceNames.map(name => [`circumstances.${name}`, Field])) as Record<
  CircumstanceField,
  typeof Field
>

const known = {
  origin_id: Field.describe('Person, device or form. Rows with the same one become one record with its changes.'),
  given_at: Field.describe('When the answer was given.'),
  event: Field.describe('Decides with the table event if the row is an answer.'),
  accepted: Field.describe('Yes or no to the whole, by the tables accepted.values and values.'),
  subject_id: Field,
  consent_id: Field,
  policy_version: Field.describe('By the table policy_versions.'),
  user_agent: Field,
  ip_address: Field,
  notice_locale: Field,
  evidence: Field.describe('Reference or proof at the source.'),
  ...circumstances,
}

const fieldNames = Object.keys(known)
const preference = /^pref\.(?!__proto__$)(.+)$/s

/** The preference of a field such as `pref.newsletter`. */
export function preferenceOf(field: string): string | undefined {
  return preference.exec(field)?.[1]
}

const Fields = z
  .object(known)
  .catchall(Field)
  .superRefine((fields, context) => {
    for (const [name, source] of Object.entries(fields)) {
      const isKnown = fieldNames.includes(name) || preference.test(name)
      const message = `is not a field: use ${fieldNames.join(', ')} or pref.NAME`
      if (!isKnown) context.addIssue({ code: 'custom', path: [name], message })
      const isAnswer = name === 'accepted' || preference.test(name)
      if (isAnswer && isConstant(source) && source.constant !== 'yes' && source.constant !== 'no')
        context.addIssue({ code: 'custom', path: [name, 'constant'], message: 'must be yes or no' })
    }
  })
export type Fields = z.output<typeof Fields>

export function isConstant(source: Source | null | undefined): source is Extract<Source, { constant: unknown }> {
  return typeof source === 'object' && source !== null && 'constant' in source
}

const Time = z.strictObject({
  formats: z
    .array(z.string().min(1))
    .min(1)
    .describe('rfc3339, epoch_s, epoch_ms, epoch_s_local, or patterns such as DD.MM.YYYY HH:mm. The first that fits.'),
  zone: z.string().optional().describe('Of local times, if the source documents it: Europe/Berlin. Else --timezone.'),
  repeated_hour: z
    .enum(['refuse', 'earlier', 'later'], 'must be refuse, earlier or later')
    .optional()
    .describe('For a local time that occurs twice.'),
})

const prefix = z.string().optional().describe('Put before the names.')

const Purposes = z.discriminatedUnion(
  'from',
  [
    z.strictObject({ from: z.literal('columns'), columns: z.string().min(1), prefix }),
    z.strictObject({ from: z.literal('row'), name: Path, value: Path, prefix }),
    z.strictObject({ from: z.literal('object'), path: Path, value: Path.optional(), prefix }),
    z.strictObject({ from: z.literal('list'), path: Path, name: Path, value: Path, prefix }),
    z.strictObject({
      from: z.literal('names'),
      path: Path,
      answer: z.enum(['yes', 'no'], 'must be yes or no'),
      separator: z.string().min(1).optional(),
      all: z.array(z.string()).optional().describe('Those that are not in the list have the opposite answer.'),
      prefix,
    }),
  ],
  'must be columns, row, object, list or names',
)
export type Purposes = z.output<typeof Purposes>

const Accepted = z.strictObject({
  values: z
    .record(
      z.string(),
      z.enum(['yes', 'no', 'left_out', 'derived'], oneOf('yes, no, left_out or derived')).nullable(),
      'must be an object: {"word in the file": "yes"}',
    )
    .optional()
    .describe('Words of the field accepted, before those of values. derived: by the rule.'),
  rule: z
    .enum(['any', 'all'], 'must be any or all')
    .optional()
    .describe('Without the field accepted, or if it is derived: yes if any or all purposes are. Default: any.'),
  except: z.array(z.string()).optional().describe('Preferences that everyone gets, which the rule ignores.'),
})

const Documentation = z.strictObject({ url: z.string(), read: z.iso.date('must be a date such as 2026-01-31') })

const Text = z.union([z.string(), z.array(z.string())], 'must be text or a list of texts')

const Properties = z.strictObject({
  $schema: z.string().optional(),
  about: Text.optional(),
  documentation: z.array(Documentation).optional().describe('Where the columns and words are from.'),
  unchecked: Text.optional().describe('What no documentation confirms.'),
  system: text(1, 64).describe('Name of the tool that wrote the file.'),
  container: Container,
  rows: z
    .enum(['answer', 'part', 'change'], 'must be answer, part or change')
    .describe(
      'answer: a row is a whole answer. part: the rows of a person and time are one. change: as part, and other purposes keep their answers.',
    ),
  fields: Fields.describe('Where in a row each thing is; null if nowhere. pref.NAME is one purpose.'),
  answers: z
    .array(Fields)
    .min(1)
    .optional()
    .describe('For several answers in a row: fields of each, over those of fields. One without a time is not there.'),
  time: Time,
  event: z
    .strictObject({
      values: z.record(
        z.string(),
        z.enum(['answer', 'left_out'], oneOf('answer or left_out')).nullable(),
        'must be an object: {"word in the file": "answer"}',
      ),
    })
    .optional()
    .describe('Words of the field event.'),
  accepted: Accepted.optional(),
  purposes: z.array(Purposes).default([]).describe('Where purposes are whose names are in the file.'),
  names: z
    .record(z.string(), z.union([text(1, 255), z.literal(false)], 'must be a name, or false to drop it').nullable())
    .default({})
    .describe('Preference by name in the file; false drops it.'),
  other_names: z
    .enum(['keep', 'stop'], 'must be keep or stop')
    .default('stop')
    .describe('What to do with names that are not in names.'),
  values: Answers.default({}).describe('Words of purposes, and of accepted.'),
  policy_versions: z
    .record(z.string(), PolicyVersion.nullable())
    .default({})
    .describe('Number by version in the file. Whole numbers are kept.'),
})

/**
 * Maps a foreign file's rows to records. Undecided values and names stop an import.
 *
 * Each format's own map is in `formats/`. That of `--map` extends its tables (`fields`, `names`, `values`,
 * `policy_versions`, `event.values`, `accepted.values`) and replaces everything else that it has.
 */
export const ImportMap = Properties.superRefine((map, context) => {
  const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: path.split('.'), message })
  for (const [path, values] of [['values', map.values] as const, ['accepted.values', map.accepted?.values] as const])
    if (Object.entries(values ?? {}).some(([value, answer]) => answer === 'yes' && value.trim() === ''))
      refuse(path, 'must not have yes for an empty word: silence is not consent')
  const answers = answersOf(map)
  const isIn = (field: string) => answers.every(fields => fields[field] !== undefined)
  if (!isIn('origin_id')) refuse('fields.origin_id', 'is missing: name the column of the person')
  if (!isIn('given_at')) refuse('fields.given_at', 'is missing: name the column of the time')
  const areEvents = answers.some(({ event }) => event !== undefined)
  if (areEvents !== (map.event !== undefined))
    refuse(
      areEvents ? 'event' : 'fields.event',
      'is missing: a row is an answer by the field event and the table event',
    )
  if (!isIn('accepted') && map.accepted?.rule === undefined)
    refuse('accepted', 'is missing: name the column in fields, or a rule for all purposes: {"rule": "any"}')
  const hasPurpose = (fields: AnswerFields) =>
    map.purposes.length > 0 || Object.keys(fields).some(name => preferenceOf(name))
  if (!answers.every(fields => fields['accepted'] !== undefined || hasPurpose(fields)))
    refuse('purposes', 'is missing: the map names neither a purpose nor the field accepted')
})
export type ImportMap = z.output<typeof ImportMap>
export type ImportMapInput = z.input<typeof ImportMap>

export type AnswerFields = Readonly<Record<string, Source>>

/** Fields of each answer of a row, without those that the file does not have. */
export function answersOf({ fields, answers = [{}] }: Pick<ImportMap, 'fields' | 'answers'>): AnswerFields[] {
  const isSource = (entry: [string, Source | null | undefined]): entry is [string, Source] =>
    entry[1] !== null && entry[1] !== undefined
  return answers.map(own => Object.fromEntries(Object.entries({ ...fields, ...own }).filter(isSource)))
}
