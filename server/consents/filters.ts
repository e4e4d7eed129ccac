import type { Fragment, Sql } from 'postgres'
import { type FilterName, type FilterValues, filters, parseInstant } from '../../src/contract/index.ts'
import { empty } from '../db/fragments.ts'
import { firstIdAt, lastIdAt } from '../ids.ts'

type Conditions = {
  readonly [Name in FilterName]: (sql: Sql, value: NonNullable<FilterValues[Name]>) => Fragment
}

/** Conditions on `consents`. `created_at` begins the id. */
const conditions: Conditions = {
  site_id: (sql, id) => sql`site_id = ${id}`,
  subject_id: (sql, id) => sql`subject_id = ${id}`,
  consent_id: (sql, label) => sql`consent_id = ${label}`,
  accepted: (sql, yes) => (yes ? sql`accepted` : sql`not accepted`),
  imported: (sql, yes) => (yes ? sql`given_at is not null` : sql`given_at is null`),
  from: (sql, instant) => sql`id >= ${firstIdAt(Math.ceil(milliseconds(instant)))}`,
  to: (sql, instant) => sql`id <= ${lastIdAt(Math.floor(milliseconds(instant)))}`,
}

export function andFilters(sql: Sql, values: FilterValues): Fragment {
  return filters.reduce((all, { name }) => {
    const value = values[name]
    const condition = conditions[name] as (sql: Sql, value: unknown) => Fragment
    return value === undefined ? all : sql`${all} and ${condition(sql, value)}`
  }, empty(sql))
}

export function milliseconds(instant: string): number {
  return parseInstant(instant) as number
}
