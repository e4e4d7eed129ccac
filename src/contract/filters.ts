/** A query parameter, flags of the command line, and a dashboard field. */
interface Filter {
  readonly kind: 'site' | 'text' | 'boolean' | 'from' | 'to'
  /** Flag without `--` → help. Two for a boolean. */
  readonly flags: Readonly<Record<string, string>>
  readonly value?: string
  readonly label: string
  readonly choices?: readonly [string, string, string]
  readonly description?: string
  /** Listed after the common filters. */
  readonly isRare?: true
  /** For a filter beyond the service specification: the message for an instance without it. */
  readonly without?: string
}

/** Cursors are bound to these values. */
export const listFilters = {
  site_id: {
    kind: 'site',
    flags: { site: 'only records of this site, by its name or id' },
    value: '<site>',
    label: 'Site',
  },
  subject_id: {
    kind: 'text',
    flags: { subject: 'only records of this data subject' },
    value: '<id>',
    label: 'Subject (exact)',
  },
  accepted: {
    kind: 'boolean',
    flags: { accepted: 'only accepted records', refused: 'only records that are not accepted' },
    label: 'Accepted',
    choices: ['Yes or no', 'Yes', 'No'],
  },
  from: {
    kind: 'from',
    flags: { from: 'created at this time or later: RFC 3339, 2026-01-31 (UTC), 7d or 24h ago' },
    value: '<time>',
    label: 'Created from (UTC)',
    description: 'The earliest created_at, inclusive.',
  },
  to: {
    kind: 'to',
    flags: { to: 'created at this time or earlier; a date includes its whole day' },
    value: '<time>',
    label: 'Created until (UTC)',
    description: 'The latest created_at, inclusive.',
  },
  consent_id: {
    kind: 'text',
    flags: { 'consent-id': 'only records with this label' },
    value: '<label>',
    label: 'Label',
    isRare: true,
  },
  imported: {
    kind: 'boolean',
    flags: {
      imported: 'only imported records; tables show when and where their persons answered',
      witnessed: 'only records that were not imported',
    },
    label: 'Source',
    choices: ['All records', 'Imported', 'Not imported'],
    description: 'Only imported records, or with `false` only the others.',
    isRare: true,
    without: 'this instance cannot distinguish imported records',
  },
} as const satisfies Record<string, Filter>

type Table = typeof listFilters
export type FilterName = keyof Table
export type FilterKind = Filter['kind']
export type KindOf<Name extends FilterName> = Table[Name]['kind']

export type FilterValues = {
  readonly [Name in FilterName]?: (KindOf<Name> extends 'boolean' ? boolean : string) | undefined
}

type FlagsOf<Name extends FilterName> = keyof Table[Name]['flags'] & string

/** Flag names without `--`. */
export type FilterFlag = { [Name in FilterName]: FlagsOf<Name> }[FilterName]

/** Flags without a value. */
export type BareFlag = { [Name in FilterName]: KindOf<Name> extends 'boolean' ? FlagsOf<Name> : never }[FilterName]

export const filters = Object.entries(listFilters).map(([name, filter]: [string, Filter]) => {
  const [flag = '', negation] = Object.keys(filter.flags)
  return { ...filter, name: name as FilterName, flag: flag as FilterFlag, negation: negation as FilterFlag | undefined }
})
