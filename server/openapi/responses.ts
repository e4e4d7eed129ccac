import { api, type Endpoint } from '../../src/contract/index.ts'
import { describeHeaders } from './headers.ts'
import { nameOf, type RefusalName, refusals, statusOf } from './refusals.ts'
import { refTo } from './schemas.ts'

/** Each refusal as a response, by its name: two fields, and the code that comes with that status. */
export function describeRefusals(): Record<string, object> {
  const responses = Object.entries(refusals).map(([name, { code, description, message, headers }]) => {
    const schema = { ...refTo('schemas', 'ErrorBody'), properties: { error: { const: code } } }
    const content = { 'application/json': { schema, example: { error: code, message } } }
    return [name, { description, headers: describeHeaders(headers), content }]
  })
  return Object.fromEntries(responses)
}

/** What answers without the database, and so whatever state it is in. */
const withoutDatabase: readonly Endpoint[] = [api.health.live, api.description.get]

/** What an endpoint may refuse, as references by status. */
export function refusalsOf(endpoint: Endpoint): Record<number, { $ref: string }> {
  const { access, neverRefused, params, body, errors = [] } = endpoint
  const isPrivate = access === 'account' || access === 'session'
  const names: RefusalName[] = [
    'BadRequest',
    ...(access === 'anyone' ? [] : (['Unauthorized'] as const)),
    ...(isPrivate ? (['Forbidden'] as const) : []),
    ...(isPrivate && !neverRefused ? (['QuotaExceeded'] as const) : []),
    ...(params ? (['NotFound', 'UriTooLong'] as const) : []),
    ...(body ? (['PayloadTooLarge', 'UnsupportedMediaType'] as const) : []),
    ...errors.map(nameOf),
    'RequestTimeout',
    'HeadersTooLarge',
    'InternalError',
    ...(withoutDatabase.includes(endpoint) ? [] : (['Unavailable'] as const)),
  ]
  return Object.fromEntries(names.map(name => [statusOf(refusals[name]), refTo('responses', name)]))
}
