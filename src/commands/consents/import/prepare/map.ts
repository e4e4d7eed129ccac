import * as z from 'zod'
import { PolicyVersion, text } from '../../../../contract/values.ts'

/**
 * The name of a column, or the keys of JSON separated by dots. `[0]` takes an element of a list and `[name=text]` the
 * first one with that text: `legal_notices[identifier=privacy].version`.
 */
const Path = z.string().min(1, 'must not be empty')

/** A text of a row. One that is empty, null or not there is not given. */
const Source = z.union(
  [
    Path,
    /** A column that some files do not have. */
    z.strictObject({ path: Path, optional: z.literal(true) }),
    /** The first of them that is given. */
    z.strictObject({ first: z.array(Path).min(1) }),
    /** All of them, joined; not given if one is not. */
    z.strictObject({ join: z.array(Path).min(2), separator: z.string() }),
    z.strictObject({ constant: z.union([z.string(), z.number()]) }),
    /** `sha256:` and the hash, in hexadecimal, of a text, or of the canonical JSON (RFC 8785) of anything else. */
    z.strictObject({ sha256: Path }),
  ],
  'must be a path, or an object with path, first, join, constant or sha256',
)
export type Source = z.output<typeof Source>

/** `null` is not decided yet, as `--map-out` writes it: it stops the import. `left_out` is no answer of a person. */
const Answers = z.record(z.string(), z.enum(['yes', 'no', 'left_out'], 'must be yes, no or left_out').nullable())

/** Gzip and ZIP are recognised by their content. */
const Container = z.strictObject({
  kind: z.enum(['csv', 'ndjson', 'json']),
  /** `csv`: guessed from the header if not given. */
  delimiter: z.enum([',', ';', '\t']).optional(),
  /** `csv`: the names of the columns of a file without a header, in order. */
  columns: z.array(z.string().min(1)).min(1).optional(),
  /** `csv`: columns whose cells are JSON. */
  json_columns: z.array(z.string()).optional(),
  /** `json`: the keys, separated by dots, of the array that has the rows. Empty if the document is that array. */
  at: z.string().optional(),
  /**
   * `ndjson` and `json`: the path of an array. Its elements are rows, which have what is beside it too, unless they have
   * that key themselves. An object without the array is a row.
   */
  each: Path.optional(),
  /** Of a ZIP: the entries to read, with `*` for any text. All if not given. */
  entries: z.array(z.string()).optional(),
})
export type Container = z.output<typeof Container>

const Fields = z.strictObject({
  /** The person, device or form. All rows with the same one make one record, and its later answers are changes of it. */
  origin_id: Source,
  given_at: Source,
  subject_id: Source.optional(),
  consent_id: Source.optional(),
  policy_version: Source.optional(),
  user_agent: Source.optional(),
  ip_address: Source.optional(),
  notice_locale: Source.optional(),
  /** The reference or proof of the source. */
  evidence: Source.optional(),
})

/**
 * `rfc3339`, `epoch_s` and `epoch_ms` have a zone. Anything else is a pattern of YYYY MM M DD D HH H hh h mm ss A (AM or PM)
 * MMM (Jan) and Z (Z, UTC, GMT or an offset), with other characters as they are; `ss` also takes a fraction. A pattern
 * without Z is local time and needs a zone.
 */
const Time = z.strictObject({
  formats: z.array(z.string().min(1)).min(1),
  /** IANA, of local times, if the source documents it. `--timezone` gives it otherwise. */
  zone: z.string().optional(),
  /** A local time that a change of clocks makes happen twice. A time that it skips is always refused. */
  repeated_hour: z.enum(['refuse', 'earlier', 'later']).optional(),
})

/** `prefix` is put before each name, so that purposes and vendors do not meet. */
const prefix = z.string().optional()

const Purposes = z.discriminatedUnion('from', [
  /** A column, or a value, of one purpose; `name` is the path if not given. */
  z.strictObject({ from: z.literal('field'), path: Path, name: z.string().min(1).optional() }),
  /** All columns whose names begin with `columns`, which is not part of the purpose's name. CSV only. */
  z.strictObject({ from: z.literal('columns'), columns: z.string().min(1), prefix }),
  /** One purpose a row. */
  z.strictObject({ from: z.literal('row'), name: Path, value: Path, prefix }),
  /** `{"marketing": true}`, or with `value` `{"marketing": {"granted": true}}`. */
  z.strictObject({ from: z.literal('object'), path: Path, value: Path.optional(), prefix }),
  /** `[{"id": "marketing", "enabled": true}]` */
  z.strictObject({ from: z.literal('list'), path: Path, name: Path, value: Path, prefix }),
  /**
   * `["marketing"]`, or with `separator` a text. `all` are the names of every purpose that was asked: those that are not
   * in the list have the opposite answer; without `all` nothing is said of them.
   */
  z.strictObject({
    from: z.literal('names'),
    path: Path,
    answer: z.enum(['yes', 'no']),
    separator: z.string().min(1).optional(),
    all: z.array(z.string()).optional(),
    prefix,
  }),
])
export type Purposes = z.output<typeof Purposes>

/**
 * Of the purposes that are kept, after their names. `except` are those that everybody gets: if they counted, `any` would
 * make every answer an acceptance. A purpose without a yes or a no makes `all` false.
 */
const rule = z.enum(['any', 'all'])
const except = z.array(z.string()).default([])

const DerivedAcceptance = z.strictObject({ rule, except })

/** A value that says it. `derived`: this one does not, and the rule decides. */
const ExplicitAcceptance = z.strictObject({
  path: Source,
  values: z.record(
    z.string(),
    z.enum(['yes', 'no', 'left_out', 'derived'], 'must be yes, no, derived or left_out').nullable(),
  ),
  rule: rule.default('any'),
  except,
})

const Documentation = z.strictObject({ url: z.string(), read: z.iso.date() })

const Properties = z.strictObject({
  about: z.union([z.string(), z.array(z.string())]).optional(),
  /** Where the source describes its files, and when that was read. */
  documentation: z.array(Documentation).optional(),
  /** `origin.system` of the records. */
  system: text(1, 64),
  container: Container,
  /**
   * `answer`: a row is a person's whole answer. `part`: all rows of one person and time are one answer. `change`: as
   * `part`, and purposes that are not in it stay as they were.
   */
  rows: z.enum(['answer', 'part', 'change']),
  fields: Fields,
  time: Time,
  /** Which rows are answers of a person. All if not given. */
  event: z
    .strictObject({ path: Source, values: z.record(z.string(), z.enum(['answer', 'left_out']).nullable()) })
    .optional(),
  accepted: z.union([ExplicitAcceptance, DerivedAcceptance], 'must have path and values, or a rule'),
  purposes: z.array(Purposes).default([]),
  /** By the name of a purpose or service: the preference that it is kept as, or false to drop it. */
  names: z.record(z.string(), z.union([text(1, 255), z.literal(false)]).nullable()).default({}),
  /** `keep`: names that are not in `names` are kept as they are. */
  other_names: z.enum(['keep', 'stop']).default('stop'),
  /** By the value of a purpose. */
  values: Answers.default({}),
  /** By the source's version. Whole numbers that are not in it are kept. */
  policy_versions: z.record(z.string(), PolicyVersion.nullable()).default({}),
})

const silenceError = 'an empty value must not be yes: silence is no consent'

function isOfAnswers(values: Readonly<Record<string, string | null>>): boolean {
  return Object.entries(values).every(([value, answer]) => answer !== 'yes' || value.trim() !== '')
}

/**
 * Says, as data, what the rows of a foreign file mean. Values and names that nothing here decides stop an import.
 *
 * A format's own map is in `formats/`. The one of `--map` extends its tables (`fields`, `names`, `values`,
 * `policy_versions`, `event.values`, `accepted.values`) and replaces everything else that it has.
 */
export const ImportMap = Properties.refine(({ values }) => isOfAnswers(values), {
  path: ['values'],
  error: silenceError,
}).refine(({ accepted }) => !('values' in accepted) || isOfAnswers(accepted.values), {
  path: ['accepted', 'values'],
  error: silenceError,
})
export type ImportMap = z.output<typeof ImportMap>
/** As it is written, with or without defaults. */
export type ImportMapInput = z.input<typeof ImportMap>
