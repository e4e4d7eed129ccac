import type { Fragment, Sql } from 'postgres'

/** Cached per pool: building a fragment costs as much as a statement. */
export function staticFragment(build: (sql: Sql) => Fragment): (sql: Sql) => Fragment {
  const built = new WeakMap<Sql, Fragment>()
  return sql => {
    const known = built.get(sql)
    if (known) return known
    const fragment = build(sql)
    built.set(sql, fragment)
    return fragment
  }
}

export const empty = staticFragment(sql => sql``)

/** Formats a time as `toISOString` does. */
export function instant(sql: Sql, time: Fragment): Fragment {
  return sql`coalesce(to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), ${time}::text)`
}

type Value = string | number | boolean | Date | Buffer | null

/** PostgreSQL manual, 8.15.2. The driver would query types (postgres-pool/README.md). */
export function toArrayLiteral(values: readonly Value[]): string {
  return `{${values.map(toElement).join(',')}}`
}

/** An all-null column becomes `{}`, which a multi-argument `unnest` pads with nulls. */
export function toColumn(values: readonly Value[]): string {
  return values.every(value => value === null) ? '{}' : toArrayLiteral(values)
}

function toElement(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`
  if (value instanceof Date) return value.toISOString()
  return Buffer.isBuffer(value) ? `"\\\\x${value.toString('hex')}"` : String(value)
}
