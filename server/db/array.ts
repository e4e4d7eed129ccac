type Value = string | number | boolean | Date | Buffer | null

/**
 * An array as PostgreSQL reads it (manual, 8.15.2). The driver would only write those whose types it had asked the database
 * for.
 */
export function arrayOf(values: readonly Value[]): string {
  return `{${values.map(textOf).join(',')}}`
}

function textOf(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return `"${value.replace(/["\\]/g, '\\$&')}"`
  if (value instanceof Date) return value.toISOString()
  return Buffer.isBuffer(value) ? `"\\\\x${value.toString('hex')}"` : String(value)
}
