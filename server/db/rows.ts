/** Database row of an API type T, with times as dates. */
export type Row<T> = {
  -readonly [Name in keyof T]: Name extends `${string}_at` | 'effective_from' ? Date | Extract<T[Name], null> : T[Name]
}

/** Writes times in UTC with milliseconds. */
export function toJson<T>(row: Row<T>): T {
  const fields = Object.entries(row).map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value])
  return Object.fromEntries(fields) as T
}
