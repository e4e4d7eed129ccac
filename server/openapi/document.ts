import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import packageJson from '../../package.json' with { type: 'json' }
import { api, type Endpoint } from '../../src/contract/index.ts'
import { exampleOf } from './examples.ts'
import {
  describeHeaders,
  type HeaderName,
  headers,
  nameOf,
  quotaHeaders,
  type RefusalName,
  refusals,
  statusOf,
} from './responses.ts'
import {
  describeInput,
  describeOutput,
  describeParameters,
  type JsonSchema,
  refTo,
  type Schemas,
} from './schemas.ts'
import { notesOn } from './words.ts'

/** What holds for the whole API. */
const introduction = `\
Proof of consent: who accepted or refused what, when, under which policy.

**Errors.** Every answer that is no success is \`{"error", "message"}\`: a code for programs and a sentence for people.
They are looked for in this order: the credential (401), the route (404), the quota (429), what the credential may do
(403), the request (400), the record (404). What belongs to others is answered exactly like what does not exist. A path
that exists answers 405 with \`Allow\` to a method it does not have.

**Requests.** Bodies are JSON in UTF-8. Nothing is guessed: an unknown field or parameter, a value of another type, null,
an empty or repeated parameter, a key given twice, a number that a double cannot hold are refused with 400. Text is
well-formed Unicode without NUL, counted in code points, and kept exactly as it was sent.

**Answers.** Every field is there, null where it has no value. Timestamps are RFC 3339 in UTC with milliseconds. Every
answer has an \`X-Request-Id\` and is for no cache to keep.

**Quota.** A calendar month in UTC; an API key takes one unit a request, whatever comes of it but 401, 429 and 5xx, and
one for each further page of a stream and each further row of a batch. The erasure of a subject is never refused for want of one: where none is left it takes none.`

/** What each resource is. */
const tags: Readonly<Record<keyof typeof api, string>> = {
  consents: 'Consent records and their audit trail.',
  banner: 'The public flow of browsers, with the token of a site.',
  session: 'Signing in and out.',
  keys: 'API keys, for users who signed in.',
  sites: 'Sites and their tokens, for users who signed in.',
  subjects: 'What an account holds on one person.',
  usage: 'The monthly quota.',
  signingKeys: 'What signed documents of the service are verified with.',
  health: 'For load balancers and supervisors.',
  description: 'This document.',
}

/** Each refusal as a response, by its name: two fields, and the code that comes with that status. */
function describeRefusals(): Record<string, object> {
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
function refusalsOf(endpoint: Endpoint): Record<number, { $ref: string }> {
  const { access, allowedOverQuota, params, body, errors = [] } = endpoint
  const isPrivate = access === 'account' || access === 'session'
  const names: RefusalName[] = [
    'BadRequest',
    ...(access === 'anyone' ? [] : (['Unauthorized'] as const)),
    ...(isPrivate ? (['Forbidden'] as const) : []),
    ...(isPrivate && !allowedOverQuota ? (['QuotaExceeded'] as const) : []),
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

/** The ways to say who one is. */
const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sk-…',
    description:
      'An API key, for programs. It takes a unit of the monthly quota a request, and needs the scope that the operation ' +
      'names. An Authorization header decides alone, even where its key is a bad one.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-consent_session',
    description:
      'The session of a user who signed in, for 8 hours. It takes nothing of the quota and has every scope. What is not ' +
      'a GET must come from a page of the service itself, by its Origin or its Sec-Fetch-Site: same-origin.',
  },
  sessionOnLocalhost: {
    type: 'apiKey',
    in: 'cookie',
    name: 'consent_session',
    description: 'The same, where the service is on localhost without TLS.',
  },
  siteToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Site-Token',
    description:
      'The token of a site, `st-…`, which its pages carry; it can write consents and read nothing.',
  },
} as const

/** Which of them an endpoint takes; a key with the scope that it needs. */
function securityOf({ access, scope }: Endpoint): Partial<Record<keyof typeof securitySchemes, string[]>>[] {
  const sessions = [{ session: [] }, { sessionOnLocalhost: [] }]
  switch (access) {
    case 'anyone':
      return []
    case 'account':
      return [{ apiKey: scope ? [scope] : [] }, ...sessions]
    case 'session':
      return sessions
    case 'site_token':
      return [{ siteToken: [] }]
  }
}

/** An endpoint with the resource it is of and its name there, such as `consents` and `create`. */
interface Operation {
  readonly resource: string
  readonly name: string
  readonly endpoint: Endpoint
}

interface Context {
  readonly input: Schemas
  readonly output: Schemas
}

/** An endpoint of the contract as an Operation Object of OpenAPI. */
function describeOperation({ resource, name, endpoint }: Operation, context: Context): object {
  const { summary, params, query, body } = endpoint
  const { description, parameters: more = [] } = notesOn(endpoint)
  const parameters = [...parametersIn('path', params), ...parametersIn('query', query), ...more]
  return {
    operationId: `${resource}.${name}`,
    tags: [resource],
    summary,
    ...(description && { description }),
    security: securityOf(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: json(context.input, body) } }),
    responses: { [endpoint.status]: success(endpoint, context), ...refusalsOf(endpoint) },
  }
}

function success(endpoint: Endpoint, { output }: Context): object {
  const { access, status, response, streams } = endpoint
  const { answer, headers = [], example } = notesOn(endpoint)
  const names: HeaderName[] = [
    ...(access === 'account' ? quotaHeaders : []),
    ...(streams ? (['Vary'] as const) : []),
    ...headers,
  ]
  const content = status === 204 ? null : json(output, response, example)
  return {
    description: answer ?? (status === 201 ? 'Made.' : 'Done.'),
    headers: describeHeaders(names),
    ...(content && { content: { ...content, ...(streams && { [ndjson]: content[plainJson] }) } }),
  }
}

const plainJson = 'application/json'
const ndjson = 'application/x-ndjson'

function json(schemas: Schemas, of: z.ZodType, more: object = {}): { [plainJson]: object } {
  const schema = schemas.of(of)
  const example = { ...(exampleOf(schema, schemas.named) as object), ...more }
  return { [plainJson]: { schema, example } }
}

function parametersIn(place: 'path' | 'query', schema: z.ZodType | undefined): object[] {
  if (!schema) return []
  const { properties = {}, required = [] } = describeParameters(schema)
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as JsonSchema
    const example = exampleOf(rest, {}, name)
    return {
      name,
      in: place,
      ...(description && { description }),
      required: required.includes(name),
      schema: rest,
      example,
    }
  })
}

/** The API as an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1), made of the contract. */
export function describeApi(): object {
  const operations = operationsOf(api)
  const input = describeInput(operations.flatMap(({ endpoint }) => endpoint.body ?? []))
  const output = describeOutput(operations.map(({ endpoint }) => endpoint.response))
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const { path, method } = operation.endpoint
    const template = path.replace(/:(\w+)/g, '{$1}')
    paths[template] = {
      ...paths[template],
      [method.toLowerCase()]: describeOperation(operation, { input, output }),
    }
  }
  const responses = describeRefusals()
  const schemas = usedOf({ ...output.named, ...input.named }, { paths, responses })
  return {
    openapi: '3.1.1',
    info: {
      title: 'Consent records',
      version: packageJson.version,
      description: introduction,
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas, responses, headers, securitySchemes },
  }
}

function operationsOf(resources: Readonly<Record<string, object>>): Operation[] {
  return Object.entries(resources).flatMap(([resource, endpoints]) =>
    Object.entries(endpoints).map(([name, endpoint]) => ({ resource, name, endpoint: endpoint as Endpoint })),
  )
}

/** The schemas that something refers to, here or among themselves. */
function usedOf<T>(schemas: Record<string, T>, root: object): Record<string, T> {
  const text = JSON.stringify([root, schemas])
  return Object.fromEntries(
    Object.entries(schemas).filter(([name]) => text.includes(`"#/components/schemas/${name}"`)),
  )
}

/** The description of the API, made when it is first asked for. */
export function openapiRoutes(app: FastifyInstance): void {
  let text: string | undefined
  app.get(api.description.get.path, { config: { access: 'anyone' } }, async (_request, reply) => {
    text ??= JSON.stringify(describeApi())
    return reply.type('application/json; charset=utf-8').send(text)
  })
}
