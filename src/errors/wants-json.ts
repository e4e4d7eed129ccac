import type { Host } from '../io/io.ts'

interface Wishes {
  readonly json?: string | true
  readonly output?: string
}

export function wantsJson({ json, output }: Wishes, { env }: Pick<Host, 'env'>): boolean {
  const format = json === undefined ? output : 'json'
  return format === 'json' || format === 'ndjson' || env['CONSENTCTL_ERROR_FORMAT'] === 'json'
}
