/**
 * What a trace may show, by name: everything else stands as `…`. A value is shown only where it also has the form of
 * one that says nothing of a person, for what comes under such a name is written by others.
 */
const plainFields = new Set(
  `id site_id accepted policy_version created_at updated_at deleted_at include_deleted from to limit actor_id
  account_id expires_at revoked_at last_used_on previous_valid_until overlap_hours used remaining reset data user
  openapi`.split(/\s+/),
)

/** Fields whose values are words of the service. */
const wordFields = new Set(['error', 'action', 'changed_by', 'scopes', 'plan', 'status'])

const plainHeaders = new Set(
  `accept accept-encoding cache-control connection content-encoding content-length content-type date host
  idempotency-key idempotent-replayed keep-alive origin retry-after server transfer-encoding user-agent vary via
  www-authenticate x-quota-limit x-quota-remaining x-quota-reset x-request-id`.split(/\s+/),
)

const hidden = '…'

/** How many entries of a list are shown. */
const shownEntries = 2

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i
const word = /^[a-z]+(_[a-z]+)*$/
const plainText = /^(true|false|\d{4}-\d\d-\d\d([T ][\d:.]+(Z|[+-]\d\d:?\d\d)?)?|\d\.\d\.\d|\d{1,4})$/

/** A body of JSON without what must not be seen; another body by its length. */
export function redactBody(text: string): string {
  if (text === '') return 'no body'
  try {
    return JSON.stringify(redact(JSON.parse(text)))
  } catch {
    return `${Buffer.byteLength(text)} bytes that are no JSON`
  }
}

function redact(value: unknown, isWord = false): unknown {
  if (Array.isArray(value)) {
    const rest = value.length - shownEntries
    const shown = value.slice(0, shownEntries).map(each => redact(each, isWord))
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

/** The path and the query of a URL, ids that are no UUID and personal filters left out. */
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

/** A header's value as it may be shown; a bearer's key by its ends. */
export function redactHeader(name: string, value: string, maskKey: (key: string) => string): string {
  const key = name === 'authorization' ? /^Bearer (.*)$/s.exec(value)?.[1] : undefined
  if (key !== undefined) return `Bearer ${maskKey(key)}`
  return plainHeaders.has(name) && !/@|\bs[kt]-/.test(value) ? value.slice(0, 200) : hidden
}

function shownId(id: string): string {
  return uuid.test(id) ? id : hidden
}

function isPlain(value: string): boolean {
  return uuid.test(value) || plainText.test(value)
}
