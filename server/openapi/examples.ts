import type { JsonSchema } from './schemas.ts'

const instant = '2026-11-20T20:50:21.164Z'
const cursor = 'AQGh-rl3bHegq8q02QmN7Tg4'
const email = 'privacy@example.com'

const ids: Readonly<Record<string, string>> = {
  site_id: '01a1fab8-e7a4-7453-9945-22490eebdcbf',
  account_id: '01a1fab8-e7a3-70b5-8c04-6f3ad2b91e57',
}

/** By field name, where the type alone makes a poor example. */
const values: Readonly<Record<string, unknown>> = {
  consent_id: 'analytics-2026-05',
  subject_id: 'maria@example.com',
  subject_ids: ['maria@example.com'],
  pii_principal_id: 'maria@example.com',
  country: 'DE',
  region: 'BE',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  ip_address: '203.0.113.7',
  preferences: { analytics: false, marketing: true },
  cursor,
  next_cursor: cursor,
  limit: 50,
  replayed: false,
  complete: true,
  name: 'Web shop',
  hint: 'x7Qp',
  email,
  created_by: email,
  password: 'correct horse battery staple',
  idempotency_key: '0b0c7a52-61f4-4bb1-a1f9-0b6a6b1a2c4e',
  consent_token: `ct-${cursor}${'A'.repeat(36)}`,
  allowed_origins: ['https://www.example.com'],
  reason: 'Asked for by e-mail',
  ticket: 'PRIV-42',
  month: '2026-11',
  group: '2026-11',
  hidden: null,
  signature: `${'A'.repeat(86)}==`,
  pem: '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n',
}

const byFormat: Readonly<Record<string, unknown>> = {
  uuid: '01a1fab9-776c-77a0-abca-b4d9098ded38',
  'date-time': instant,
  date: instant.slice(0, 10),
}

type Components = Readonly<Record<string, JsonSchema>>

/**
 * A response has its required fields, null where it may be and nothing says more; a request has all fields.
 * @throws Error if no example fits
 */
export function makeExample(schema: JsonSchema, components: Components, name = '', isResponse = false): unknown {
  const recurse = (inner: unknown, innerName = name) =>
    makeExample(inner as JsonSchema, components, innerName, isResponse)
  const { $ref, examples, enum: choices, const: only, anyOf, oneOf = anyOf ?? [], items, format } = schema
  const types: readonly unknown[] = [schema.type].flat()
  const value = format === 'uuid' ? ids[name] : values[name]
  if ($ref) return recurse(components[$ref.slice($ref.lastIndexOf('/') + 1)])
  if (examples) return examples[0]
  if (only !== undefined) return only
  if (choices) return choices[0]
  if (value === null || types.includes(typeOf(value))) return value
  if (schema.properties) return exampleOfObject(schema, isResponse, recurse)
  if (types.includes('array')) return [recurse(items)]
  const [first, ...others] = oneOf as readonly JsonSchema[]
  const isNullable = types.includes('null') || others.some(one => one.type === 'null')
  if (isNullable && isResponse && value === undefined && first?.type !== 'integer') return null
  return first ? recurse(first) : exampleOfScalar(schema, name)
}

function exampleOfScalar({ type, minimum = 1, format = '', pattern }: JsonSchema, name: string): unknown {
  const types: readonly unknown[] = [type].flat()
  if (types.includes('boolean')) return true
  if (types.includes('integer')) return Math.max(minimum, 1)
  if (types.includes('string')) return byFormat[format] ?? fromPattern(pattern) ?? name
  throw new Error(`no example of ${name}`)
}

function exampleOfObject(
  { properties = {}, required = [] }: JsonSchema,
  isResponse: boolean,
  recurse: (inner: unknown, name: string) => unknown,
): object {
  const fields = Object.entries(properties).filter(([key]) => !isResponse || required.includes(key))
  return Object.fromEntries(fields.map(([key, field]) => [key, recurse(field, key)]))
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' ? 'integer' : typeof value
}

/** Fills `^[class]{length}$`, and completes a pattern that is a prefix. */
function fromPattern(pattern = ''): string | undefined {
  const [, characters, length] = /^\^\[(.+)\]\{(\d+)\}\$$/.exec(pattern) ?? []
  if (characters !== undefined) return '6bc98591504769a7'.repeat(Number(length)).slice(0, Number(length))
  const [, prefix] = /^\^(\w+-)$/.exec(pattern) ?? []
  return prefix && `${prefix}EXAMPLE`
}
