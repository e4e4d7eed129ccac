/**
 * An array as PostgreSQL reads it (manual, 8.15.2), of values that hold neither commas nor quotes. The driver would only
 * write those whose types it had asked the database for.
 */
export function arrayOf(values: readonly (string | number | Date | Buffer)[]): string {
  return `{${values.map(textOf).join(',')}}`
}

function textOf(value: string | number | Date | Buffer): string {
  if (value instanceof Date) return value.toISOString()
  return Buffer.isBuffer(value) ? `"\\\\x${value.toString('hex')}"` : String(value)
}
