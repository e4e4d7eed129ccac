import type * as z from 'zod'

const nouns: Readonly<Record<string, string>> = {
  string: 'text',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  boolean: 'true or false',
}

/** In the words of the map's page, instead of zod's. Undefined for an issue with words of its own. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined) return 'is missing'
  if (issue.code === 'unrecognized_keys') {
    const words = Object.keys(
      (issue.inst as { _zod?: { def?: { shape?: object } } } | undefined)?._zod?.def?.shape ?? {},
    )
    return `has an unknown word, ${issue.keys.map(key => JSON.stringify(key)).join(', ')}: use ${words.join(', ')}`
  }
  if (issue.code === 'invalid_type') return `must be ${nouns[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') return `must be ${issue.values.map(value => JSON.stringify(value)).join(' or ')}`
  if (issue.code === 'too_small') return 'must not be empty'
  return undefined
}

/** Such as `purposes[0].from must be columns or row, not "colums"`. */
export function explainIssue({ path, message }: z.core.$ZodIssue, map: unknown): string {
  const place = path.map(key => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  const value = path.reduce<unknown>((found, key) => (found as Record<PropertyKey, unknown> | undefined)?.[key], map)
  const isShown = message.startsWith('must be ') && value !== undefined
  return `${place.slice(1) || 'the map'} ${message}${isShown ? `, not ${shorten(JSON.stringify(value))}` : ''}`
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}
