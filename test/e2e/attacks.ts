import { api, type Endpoint, type NewAccount } from '../../src/contract/index.ts'

/** What a hostile page knows: more than it could ever learn. */
export interface Attack {
  readonly url: string
  readonly account: NewAccount
  readonly keyId: string
  readonly recordId: string
}

/** A request as fetch takes it. */
interface Request {
  readonly url: string
  readonly options: {
    readonly method: string
    readonly mode?: 'no-cors'
    readonly credentials: 'include' | 'omit'
    readonly headers?: Record<string, string>
    readonly body?: string
  }
}

/** A form and its fields; as text/plain it says `text`. */
interface Form {
  readonly url: string
  readonly enctype: string
  readonly fields: object
  readonly text: string
}

const endpoints = Object.entries(api as Record<string, Record<string, Endpoint>>).flatMap(([resource, all]) =>
  Object.values(all).map(endpoint => ({ resource, ...endpoint })),
)
/** Every endpoint that is for an account, and the one that begins a session. */
const targets = endpoints.filter(
  ({ access, resource }) => access === 'account' || access === 'session' || resource === 'session',
)

/** Every private endpoint with a good body, by fetch in every mode and with every credential. */
export function attacksOn(attack: Attack): Request[] {
  const key = { authorization: `Bearer ${attack.account.api_key}` }
  const token = { 'x-site-token': attack.account.site.token }
  const json = { 'content-type': 'application/json' }
  return targets.flatMap(target => {
    const { method } = target
    const [url, body] = [urlOf(target, attack), target.body && JSON.stringify(bodyOf(target, attack))]
    const request = (options: Omit<Request['options'], 'method' | 'body'>): Request => ({
      url,
      options: { method, ...options, ...(body && { body }) },
    })
    const simple = method === 'GET' || method === 'POST'
    return [
      request({ credentials: 'include' }),
      request({ credentials: 'include', headers: json }),
      request({ credentials: 'include', headers: { ...json, ...key } }),
      request({ credentials: 'include', headers: { ...json, ...token } }),
      request({ credentials: 'omit', headers: { ...json, ...key } }),
      ...(simple ? [request({ credentials: 'include', mode: 'no-cors' })] : []),
    ]
  })
}

/** The URLs of what is to be read. */
export function readable(attack: Attack): string[] {
  return targets.filter(({ method }) => method === 'GET').map(target => urlOf(target, attack))
}

/** Every endpoint that takes a POST, by a form of every type. */
export function formsOn(attack: Attack): Form[] {
  return endpoints
    .filter(({ method }) => method === 'POST')
    .flatMap(target => {
      const fields = bodyOf(target, attack)
      const url = urlOf(target, attack)
      // A text/plain form sends `name=value`: the sign is put where it does no harm to the JSON.
      const text = JSON.stringify({ ...fields, consent_id: '=' })
      return ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain'].map(enctype => ({
        url,
        enctype,
        fields,
        text,
      }))
    })
}

type Target = (typeof endpoints)[number]

function urlOf({ resource, path }: Target, { url, account, keyId, recordId }: Attack): string {
  const ids: Record<string, string> = { consents: recordId, keys: keyId, sites: account.site.id }
  return url + path.replace(':id', ids[resource] ?? '')
}

function bodyOf({ resource, path }: Target, { account }: Attack): object {
  if (path.endsWith('/token')) return { overlap_hours: 0 }
  const { email, password } = account.user
  const bodies: Record<string, object> = {
    consents: path.includes(':id') ? { accepted: true } : { site_id: account.site.id },
    banner: { accepted: true },
    session: { email, password },
  }
  return bodies[resource] ?? { name: 'stolen' }
}
