import type { JsonSchema } from './schemas.ts'

const ids: Readonly<Record<string, string>> = {
  id: '01a1fab9-776c-77a0-abca-b4d9098ded38',
  site_id: '01a1fab8-e7a4-7453-9945-22490eebdcbf',
  account_id: '01a1fab8-e7a3-70b5-8c04-6f3ad2b91e57',
  actor_id: '01a1fab8-e7a5-7d10-b6ce-0c91f4a7d283',
}

/** By field name. Undefined omits a rare field, or makes it null if required. */
const values: Readonly<Record<string, unknown>> = {
  given_at: undefined,
  origin: undefined,
  file_sha256: undefined,
  gpc: undefined,
  consent_id: 'analytics-2026-05',
  subject_id: 'maria@example.com',
  country: 'DE',
  region: 'BE',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  ip_address: '203.0.113.7',
  idempotency_key: '0b0c7a52-61f4-4bb1-a1f9-0b6a6b1a2c4e',
  replayed: false,
  preferences: { analytics: false, marketing: true },
  salt: '5f0c9a3be1d24780b6a1c07e94d5f238',
  record_hash: '9d5ab8f0c1b24b6cf2f7a9a5e0d13c48b1f2c6a7733fd0e9184a5c2b6d70e3f1',
  payload_hash: '3b1f7c0e2d4a58697786f5e4d3c2b1a00f1e2d3c4b5a69788796a5b4c3d2e1f0',
  hash: 'c4d1e2f3a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f',
  created_at: '2026-11-20T20:50:21.164Z',
  updated_at: '2026-11-20T20:50:21.164Z',
  deleted_at: null,
  purged_at: null,
  from: '2026-11-01T00:00:00Z',
  to: '2026-11-30T23:59:59.999Z',
  cursor: 'AQGh-rl3bHegq8q02QmN7Tg4',
  next_cursor: 'AQGh-rl3bHegq8q02QmN7Tg4',
  limit: 50,
  name: 'Web shop',
  hint: 'x7Qp',
  key: 'sk-EXAMPLE',
  token: 'st-EXAMPLE',
  consent_token: 'ct-AQGh-rl3bHegq8q02QmN7TgAAAABAAABqezpa2ycEYWlxen8VGEoCJd-6PVI',
  scopes: ['read', 'write'],
  expires_at: '2027-11-20T00:00:00.000Z',
  created_by: 'privacy@example.com',
  last_used_on: '2026-11-20',
  revoked_at: null,
  previous_valid_until: '2026-11-21T20:50:21.164Z',
  overlap_hours: 24,
  archived_at: null,
  archived: false,
  allow_duplicate: false,
  allowed_origins: ['https://www.example.com'],
  reason: 'Asked for by e-mail',
  ticket: 'PRIV-42',
  records: 2,
  email: 'privacy@example.com',
  password: 'correct horse battery staple',
  pii_principal_id: 'maria@example.com',
  privacy_notice: {
    site_id: '01a1fab8-e7a4-7453-9945-22490eebdcbf',
    policy_version: 1,
    locale: 'de',
    notice: 'not held',
  },
  issued_at: '2026-11-20T20:51:02.700Z',
  event_time: '2026-11-20T20:50:21.164Z',
  subject_hmac: '334cf900ee9d905ca3913e4b1328ac6dd168063e5ae497f414d1a1d94caa9c63',
  chain_head: '9c1185a5c5e9fc54612808977ee8f548b2258d31a1f5c0d0d6b8e1f0c2a7f3e4',
  key_id: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  actor_name: 'backend',
  ip_network: '203.0.113.0/24',
  notice_entry: 4,
  notice_locale: 'de',
  controller: 'Example Shop, privacy@example.com',
  effective_from: '2026-12-01T00:00:00.000Z',
  published_at: '2026-11-20T20:51:02.700Z',
  signature: `${'A'.repeat(86)}==`,
  kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  pem: '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n',
  statement: '{\n  "type": "signing_key",\n  "version": 1,\n  …\n"signature":"…"}\n',
  revocation: null,
  checkpoint: '{\n  "type": "checkpoint",\n  "version": 2,\n  …\n"signature":"…"}\n',
  timestamp: null,
  record_id: '01a1fab9-776c-77a0-abca-b4d9098ded38',
  tree_size: 3,
  leaf_index: 1,
  leaf_hash: '6bc98591504769a764dff47a8b4bf3eca1461b32863a1e98108806b219defb10',
  root_hash: 'c70b590625cbacc09672cd33911e5a2293f08512abfdc54abdef7053b0db6f87',
  path: ['18a03b4e23be23fe46d5ba364488c0b5d964a27750c88a3b7f77089c7a5a880e'],
  keys_root: '5f1b2ad0f0ac8d0dbb40fb9ab90b3b2c8a36bb7aefd2b4ca4d8aefc5c8fa1d3f',
  received_on: '2026-11-20',
  received_from: '2026-11-01',
  received_to: '2026-11-30',
  due_on: '2026-12-21',
  subject_ids: ['maria@example.com'],
  subject_hmacs: ['334cf900ee9d905ca3913e4b1328ac6dd168063e5ae497f414d1a1d94caa9c63'],
  assignee: 'privacy team',
  extension_reason: 'Several systems have to be searched',
  extended_at: null,
  outcome_reason: 'Answered by post',
  closed_at: null,
  added_at: '2026-11-20T20:51:02.700Z',
  sha256: '6bc98591504769a764dff47a8b4bf3eca1461b32863a1e98108806b219defb10',
  month: '2026-11',
  used: 1234,
  remaining: 8766,
  resets_at: '2026-12-01T00:00:00.000Z',
  as_of: '2026-11-20T20:50:21.164Z',
  group: '2026-11',
  site_name: null,
  persons: 1210,
  anonymous: 24,
  refused: 410,
  withdrawn: 17,
  deleted: 3,
  hidden: null,
}

type Components = Readonly<Record<string, JsonSchema>>

/** @throws Error if no example fits */
export function makeExample(schema: JsonSchema, components: Components, name = ''): unknown {
  const { $ref, examples, enum: choices, const: only, format, anyOf } = schema
  if ($ref) {
    const target = components[$ref.slice($ref.lastIndexOf('/') + 1)]
    return makeExample(target as JsonSchema, components, name)
  }
  if (examples) return examples[0]
  if (choices) return choices[0]
  if (only !== undefined) return only
  if (format === 'uuid' || anyOf?.some(one => (one as JsonSchema).format === 'uuid')) return ids[name] ?? ids['id']
  return makeTypedExample(schema, components, name)
}

function isNullable({ anyOf }: JsonSchema): boolean {
  return anyOf?.some(one => (one as JsonSchema).type === 'null') ?? false
}

function makeTypedExample(
  { properties, required, anyOf, type, items, minimum }: JsonSchema,
  components: Components,
  name: string,
): unknown {
  const recurse = (inner: unknown, innerName = name) => makeExample(inner as JsonSchema, components, innerName)
  if (properties) {
    const isRare = (key: string) => key in values && values[key] === undefined
    const fields = Object.entries(properties).filter(([key]) => !isRare(key) || required?.includes(key))
    return Object.fromEntries(
      fields.map(([key, field]) => [key, isRare(key) && isNullable(field as JsonSchema) ? null : recurse(field, key)]),
    )
  }
  if (anyOf && values[name] !== null) return recurse(anyOf[0])
  if (values[name] !== undefined && (type !== 'array' || Array.isArray(values[name]))) return values[name]
  if (type === 'array') return [recurse(items)]
  if (type === 'boolean') return true
  if (type === 'integer') return minimum
  throw new Error(`no example of ${name}`)
}
