// A record's text is made in two parts, which take a third of the time of PostgreSQL's row_to_json and to_char:
// PostgreSQL writes the fields between separators, which JSON escapes, and `toRecord` puts the times in their form.

import type { Fragment, Sql } from 'postgres'
import { staticFragment } from '../db/fragments.ts'

/** Of PostgreSQL, or the id alone. */
export interface WithParts {
  readonly parts: string
}

export type WithJson<Row extends WithParts> = Omit<Row, 'parts'> & { json: string }

const [record, part] = ['\u001e', '\u001f']

const idStart = '{"id":"'

export const plainColumns = staticFragment(
  sql => sql`id, site_id, consent_id, subject_id, country, region, user_agent, accepted, preferences, policy_version`,
)

export const rareColumns = staticFragment(
  sql => sql`notice_locale, given_at, origin_system, origin_id, origin_evidence, gpc`,
)

/** The parts of a row with the plain and the rare columns and the times of a record. `concat` leaves out nulls. */
export const recordParts = staticFragment(sql => partsOf(sql, []))

/** With the expiry too. */
export const expiringParts = staticFragment(sql => partsOf(sql, [sql`expires_at`]))

/** Of rows with `parts`, in their order. */
export const joinedParts = staticFragment(sql => sql`string_agg(parts, chr(30))`)

function partsOf(sql: Sql, more: readonly Fragment[]): Fragment {
  const text = (column: Fragment) => sql`coalesce(to_json(${column}), 'null')`
  const times = [sql`created_at`, sql`updated_at`, sql`deleted_at`, sql`given_at`, ...more]
  return sql`concat(
    '{"id":"', id, '","site_id":"', site_id, '","consent_id":', ${text(sql`consent_id`)},
    ',"subject_id":', ${text(sql`subject_id`)}, ',"country":', ${text(sql`country`)}, ',"region":', ${text(sql`region`)},
    ',"user_agent":', ${text(sql`user_agent`)}, ',"accepted":', case when accepted then 'true' else 'false' end,
    ',"preferences":', preferences, ',"policy_version":', policy_version,
    chr(31), ',"notice_locale":' || to_json(notice_locale)::text,
    chr(31), case when origin_system is not null then concat(',"origin":{"system":', to_json(origin_system), ',"id":',
      ${text(sql`origin_id`)}, ',"evidence":', ${text(sql`origin_evidence`)}, '}') end,
      case when gpc then ',"gpc":true' end,
    ${times.map(time => sql`chr(31), to_json(${time})`).reduce((all, each) => sql`${all}, ${each}`)})`
}

interface Page {
  /** Separated by commas. */
  readonly records: string
  /** Of the last record, if there are more. */
  readonly last: { readonly id: string; readonly expiresAt: Date } | null
}

export function toPage(joined: string | null, limit: number): Page {
  const all = joined === null ? [] : joined.split(record)
  const shown = all.slice(0, limit)
  const last = all.length > limit ? shown.at(-1) : undefined
  return { records: shown.map(toRecord).join(','), last: last === undefined ? null : readPlace(last) }
}

/** `expiresAt` is valid of expiring parts alone. */
function readPlace(parts: string): { id: string; expiresAt: Date } {
  const expires = parts.split(part)[7]
  return { id: parts.slice(idStart.length, idStart.length + 36), expiresAt: new Date(JSON.parse(expires || '0')) }
}

/** Service specification, section 2.1. Of an id alone, that. */
export function toRecord(parts: string): string {
  const [fields = '', locale, more, created = '', updated = '', deleted = '', given = '', expires] = parts.split(part)
  if (locale === undefined) return fields
  const times = `,"created_at":${toTime(created)},"updated_at":${toTime(updated)},"deleted_at":${toTime(deleted)}`
  const givenAt = given === '' ? '' : `,"given_at":${toTime(given)}`
  const expiresAt = expires === undefined ? '' : `,"expires_at":${toTime(expires)}`
  return `${fields}${times}${locale}${givenAt}${more}${expiresAt}}`
}

/** As `toISOString` has it. `json`: PostgreSQL's, in the time zone of the session; empty for null. */
function toTime(json: string): string {
  if (json === '') return 'null'
  if (!json.endsWith('+00:00"')) return JSON.stringify(new Date(JSON.parse(json)))
  const local = json.slice(0, -7)
  return `${local.length === 20 ? `${local}.000` : local.padEnd(24, '0')}Z"`
}

export function withJson<Row extends WithParts>({ parts, ...row }: Row): WithJson<Row> {
  return { ...row, json: toRecord(parts) }
}
