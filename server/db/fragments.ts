import type { Fragment, Sql } from 'postgres'

/** Caches a fragment without parameters for each pool, because building one costs as much as building a statement. */
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

type Value = string | number | boolean | Date | Buffer | null

/**
 * Formats an array literal (PostgreSQL manual, 8.15.2), to be cast in the statement. The driver formats arrays itself only
 * if it may first query the database for their types (`fetch_types`, see db/connect.ts).
 */
export function toArrayLiteral(values: readonly Value[]): string {
  return `{${values.map(toElement).join(',')}}`
}

function toElement(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`
  if (value instanceof Date) return value.toISOString()
  return Buffer.isBuffer(value) ? `"\\\\x${value.toString('hex')}"` : String(value)
}
