import * as z from 'zod'
import { type CircumstanceName, circumstanceNames } from '../../../../contract/circumstance-words.ts'
import { PolicyVersion, text } from '../../../../contract/values.ts'

/**
 * Column name, or JSON keys separated by dots. `[0]` selects a list's element, `[name=text]` the first one with that
 * text: `legal_notices[identifier=privacy].version`.
 */
const Path = z.string().min(1, 'must not be empty')

/** Empty, null and missing values count as not given. */
const Source = z.union(
  [
    Path,
    z.strictObject({ path: Path, optional: z.literal(true) }),
    /** The first path that has a value. */
    z.strictObject({ first: z.array(Path).min(1) }),
    /** Values are joined; not given if any of them is missing. */
    z.strictObject({ join: z.array(Path).min(2), separator: z.string() }),
    z.strictObject({ constant: z.union([z.string(), z.number()]) }),
    /** `sha256:` and the hexadecimal hash of a text, or of another value's canonical JSON (RFC 8785). */
    z.strictObject({ sha256: Path }),
  ],
  'must be a path, or an object with path, first, join, constant or sha256',
)
export type Source = z.output<typeof Source>

/** `null` is undecided and stops the import. `left_out` means that it is no answer. */
const Answers = z.record(z.string(), z.enum(['yes', 'no', 'left_out'], 'must be yes, no or left_out').nullable())

/** Gzip and ZIP are detected by content. */
const Container = z.strictObject({
  kind: z.enum(['csv', 'ndjson', 'json']),
  /** `csv`: guessed by default. */
  delimiter: z.enum([',', ';', '\t']).optional(),
  /** `csv` without a header: column names, in order. */
  columns: z.array(z.string().min(1)).min(1).optional(),
  /** `csv`: columns with JSON cells. */
  json_columns: z.array(z.string()).optional(),
  /** `json`: dot-separated keys of the array of rows; empty for the document itself. */
  at: z.string().optional(),
  /**
   * `ndjson` and `json`: path of an array whose elements are the rows and inherit the keys next to it. An object without
   * the array is a row itself.
   */
  each: Path.optional(),
  /** ZIP entries, with `*` for any text. Default: all. */
  entries: z.array(z.string()).optional(),
})
export type Container = z.output<typeof Container>

type CircumstanceField = `circumstances.${CircumstanceName}`

/** How the answer of the row was given. */
const circumstances = Object.fromEntries(
  circumstanceNames.map(name => [`circumstances.${name}`, Source.optional()]),
) as Record<CircumstanceField, z.ZodOptional<typeof Source>>

const Fields = z.strictObject({
  /** Person, device or form. Rows with the same one become one record with changes. */
  origin_id: Source,
  given_at: Source,
  subject_id: Source.optional(),
  consent_id: Source.optional(),
  policy_version: Source.optional(),
  user_agent: Source.optional(),
  ip_address: Source.optional(),
  notice_locale: Source.optional(),
  /** Reference or proof from the source. */
  evidence: Source.optional(),
  ...circumstances,
})

/**
 * `rfc3339`, `epoch_s` and `epoch_ms` have a zone. Anything else is a pattern of YYYY MM M D DD HH H hh h mm ss A (AM
 * or PM) MMM (Jan) and Z (Z, UTC, GMT or an offset); other characters match themselves, `ss` accepts a fraction.
 * Without Z it is local time and needs a zone.
 */
const Time = z.strictObject({
  formats: z.array(z.string().min(1)).min(1),
  /** IANA zone that the source documents; default: `--timezone`. */
  zone: z.string().optional(),
  /** For a local time that occurs twice. Skipped ones are always rejected. */
  repeated_hour: z.enum(['refuse', 'earlier', 'later']).optional(),
})

/** Prevents purposes and vendors from colliding. */
const prefix = z.string().optional()

const Purposes = z.discriminatedUnion('from', [
  /** One purpose. `name` defaults to the path. */
  z.strictObject({ from: z.literal('field'), path: Path, name: z.string().min(1).optional() }),
  /** Columns that begin with `columns`, which is removed. CSV only. */
  z.strictObject({ from: z.literal('columns'), columns: z.string().min(1), prefix }),
  /** One purpose per row. */
  z.strictObject({ from: z.literal('row'), name: Path, value: Path, prefix }),
  /** `{"marketing": true}`, or with `value` `{"marketing": {"granted": true}}`. */
  z.strictObject({ from: z.literal('object'), path: Path, value: Path.optional(), prefix }),
  /** `[{"id": "marketing", "enabled": true}]` */
  z.strictObject({ from: z.literal('list'), path: Path, name: Path, value: Path, prefix }),
  /**
   * `["marketing"]`, or a text with `separator`. With `all`, the purposes not in the list have the opposite answer,
   * otherwise none.
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
 * For the purposes kept, after renaming. `except` names those that everyone gets: under `any` they would make every
 * answer an acceptance. A purpose without yes or no makes `all` false.
 */
const rule = z.enum(['any', 'all'])
const except = z.array(z.string()).default([])

const DerivedAcceptance = z.strictObject({ rule, except })

/** `derived`: by the rule. */
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
  documentation: z.array(Documentation).optional(),
  system: text(1, 64),
  container: Container,
  /**
   * `answer`: a row is a complete answer. `part`: all rows of a person and time are one answer. `change`: like `part`,
   * but other purposes keep their answers.
   */
  rows: z.enum(['answer', 'part', 'change']),
  fields: Fields,
  time: Time,
  /** Default: all rows are answers. */
  event: z
    .strictObject({ path: Source, values: z.record(z.string(), z.enum(['answer', 'left_out']).nullable()) })
    .optional(),
  accepted: z.union([ExplicitAcceptance, DerivedAcceptance], 'must have path and values, or a rule'),
  purposes: z.array(Purposes).default([]),
  /** Preference by source name; false drops it. */
  names: z.record(z.string(), z.union([text(1, 255), z.literal(false)]).nullable()).default({}),
  /** `keep`: names that are not in `names` stay unchanged. */
  other_names: z.enum(['keep', 'stop']).default('stop'),
  values: Answers.default({}),
  /** By the source's versions. Whole numbers that are not listed are kept. */
  policy_versions: z.record(z.string(), PolicyVersion.nullable()).default({}),
})

const silenceError = 'an empty value must not be yes: silence is not consent'

function isOfAnswers(values: Readonly<Record<string, string | null>>): boolean {
  return Object.entries(values).every(([value, answer]) => answer !== 'yes' || value.trim() !== '')
}

/**
 * Maps a foreign file's rows to records. Undecided values and names stop an import.
 *
 * Each format's own map is in `formats/`. That of `--map` extends its tables (`fields`, `names`, `values`,
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
export type ImportMapInput = z.input<typeof ImportMap>
