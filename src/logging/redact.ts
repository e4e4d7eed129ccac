import { isUuid } from '../contract/uuid.ts'

/** Shown if the values look impersonal too; others become `…`. */
const plainFields = new Set(
  `id site_id accepted policy_version created_at updated_at deleted_at include_deleted from to limit actor_id
  account_id expires_at revoked_at last_used_on previous_valid_until overlap_hours used remaining reset data user
  openapi`.split(/\s+/),
)

const wordFields = new Set(['error', 'action', 'changed_by', 'scopes', 'plan', 'status'])

const plainHeaders = new Set(
  `accept accept-encoding cache-control connection content-encoding content-length content-type date host
  idempotency-key idempotent-replayed keep-alive origin retry-after server transfer-encoding user-agent vary via
  www-authenticate x-quota-limit x-quota-remaining x-quota-reset x-request-id`.split(/\s+/),
)

const hidden = '…'

const maxEntries = 2

const word = /^[a-z]+(_[a-z]+)*$/
const plainText = /^(true|false|\d{4}-\d\d-\d\d([T ][\d:.]+(Z|[+-]\d\d:?\d\d)?)?|\d\.\d\.\d|\d{1,4})$/

export function redactBody(text: string): string {
  if (text === '') return 'no body'
  try {
    return JSON.stringify(redact(JSON.parse(text)))
  } catch {
    return `${Buffer.byteLength(text)} bytes, not JSON`
  }
}

function redact(value: unknown, isWord = false): unknown {
  if (Array.isArray(value)) {
    const rest = value.length - maxEntries
    const shown = value.slice(0, maxEntries).map(each => redact(each, isWord))
    return rest > 0 ? [...shown, `${rest} more`] : shown
  }
  if (typeof value === 'string') return isPlain(value) || (isWord && word.test(value)) ? value : hidden
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const isShown = plainFields.has(name) || wordFields.has(name)
      return [word.test(name) ? name : hidden, isShown ? redact(field, wordFields.has(name)) : hidden]
    }),
  )
}

/** Omits personal filters and ids that are not UUIDs. */
export function redactUrl(url: string, path: string): string {
  const { pathname, searchParams } = new URL(url)
  const ids = pathname.split('/').slice(-path.split('/').length)
  const shown = path
    .split('/')
    .map((part, index) => (part.startsWith(':') ? shownId(ids[index] ?? '') : part))
    .join('/')
  const query = [...searchParams].map(
    ([name, value]) => `${name}=${plainFields.has(name) && isPlain(value) ? value : hidden}`,
  )
  return shown + (query.length > 0 ? `?${query.join('&')}` : '')
}

export function redactHeader(name: string, value: string, maskKey: (key: string) => string): string {
  const key = name === 'authorization' ? /^Bearer (.*)$/s.exec(value)?.[1] : undefined
  if (key !== undefined) return `Bearer ${maskKey(key)}`
  return plainHeaders.has(name) && !/@|\b(sk|st|ct)-/.test(value) ? value.slice(0, 200) : hidden
}

function shownId(id: string): string {
  return isUuid(id) ? id : hidden
}

function isPlain(value: string): boolean {
  return isUuid(value) || plainText.test(value)
}
