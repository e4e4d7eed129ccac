import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import packageJson from '../../package.json' with { type: 'json' }
import { apiDocs } from '../../src/contract/docs.ts'
import { api, type Endpoint, type EndpointDocs, type HeaderDocs } from '../../src/contract/index.ts'
import { createStaticFile, type StaticFile, sendFile } from '../http/static-file.ts'
import { makeExample } from './examples.ts'
import { type ApiDocument, pagePolicy, renderPage } from './page.ts'
import {
  commonHeaders,
  describeErrorResponses,
  describeHeaders,
  type ErrorResponseName,
  errorResponses,
  findErrorResponse,
  quotaHeaders,
  statusOf,
} from './responses.ts'
import { describeInput, describeOutput, describeParameters, type JsonSchema, refTo, type Schemas } from './schemas.ts'

const introduction = `\
Proof of consent: who accepted or refused what, when, under which policy.

**Errors.** Every response other than a success is \`{"error", "message"}\`: a code for programs and a sentence for people.
Errors are checked in this order: the credential (401), the route (404), the quota (429), what the credential may do (403), the
request (400), the record (404). What belongs to others gets the same response as what does not exist. A known path responds 405
with \`Allow\` to a method that it does not have.

**Requests.** Bodies are JSON in UTF-8. Nothing is guessed: an unknown field or parameter, a value of another type, null, an empty
or repeated parameter, a repeated key and a number that a double cannot hold are rejected with 400. Text is well-formed Unicode
without NUL, counted in code points, and stored exactly as it was sent.

**Responses.** Every field is present, null if it has no value. Timestamps are RFC 3339 in UTC with milliseconds. Every response
has an \`X-Request-Id\` and must not be cached, except this document, which has an \`ETag\`.

**Read-only.** While the database accepts no writes, or the clock of the service is wrong, requests other than GET get 503
\`read_only\`; \`/ready\` says so, and \`/writable\` is 503. Reads go on; with a monthly quota, as long as units of it are held.

**Quota.** Counted by calendar month in UTC. A request with an API key takes one unit, unless it gets 401, 429 or 5xx, and one more
for each further page of a stream and each further row of a batch (of imports and of ids to certify each further hundred). The
usage and the list of sites take none. The erasure of a subject, the check of a consent and the register of requests are never
rejected for quota: if no unit is left they take none.`

export function openapiRoutes(app: FastifyInstance): void {
  const serve = ({ path }: Endpoint, render: (document: object) => string, type: string, headers = {}) => {
    let file: StaticFile | undefined
    app.get(path, { config: { access: 'anyone' } }, async (request, reply) => {
      file ??= createStaticFile(render(describeApi()), `${type}; charset=utf-8`)
      reply.headers({ ...headers, 'cache-control': 'no-cache', vary: 'Accept-Encoding' })
      return sendFile(request, reply, file)
    })
  }
  serve(api.description.get, JSON.stringify, json)
  serve(api.description.page, document => renderPage(document as ApiDocument), 'text/html', {
    'content-security-policy': pagePolicy,
  })
}

/** Builds the OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.1). */
export function describeApi(): object {
  const operations = listOperations()
  const input = describeInput(operations.flatMap(({ endpoint }) => endpoint.body ?? []))
  const output = describeOutput(operations.map(({ endpoint }) => endpoint.response))
  const paths: Record<string, Record<string, object>> = {}
  const headers: Record<string, HeaderDocs> = { ...commonHeaders }
  for (const operation of operations) {
    const { path, method } = operation.endpoint
    const template = path.replace(/:(\w+)/g, '{$1}')
    paths[template] = {
      ...paths[template],
      [method.toLowerCase()]: describeOperation(operation, { input, output }),
    }
    Object.assign(headers, operation.docs.responseHeaders)
  }
  const responses = describeErrorResponses()
  const schemas = selectReferenced({ ...output.named, ...input.named }, { paths, responses })
  return {
    openapi: '3.1.1',
    info: {
      title: 'Consent records',
      version: packageJson.version,
      description: introduction,
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(apiDocs).map(([name, { description }]) => ({ name, description })),
    paths,
    components: { schemas, responses, headers, securitySchemes },
  }
}

interface Operation {
  readonly resource: string
  readonly name: string
  readonly endpoint: Endpoint
  readonly docs: EndpointDocs
}

function listOperations(): Operation[] {
  return Object.entries(api).flatMap(([resource, endpoints]) => {
    const docs: Readonly<Record<string, EndpointDocs>> = apiDocs[resource as keyof typeof api].endpoints ?? {}
    return Object.entries(endpoints).map(([name, endpoint]) => ({
      resource,
      name,
      endpoint: endpoint as Endpoint,
      docs: docs[name] ?? {},
    }))
  })
}

interface Context {
  readonly input: Schemas
  readonly output: Schemas
}

function describeOperation(operation: Operation, context: Context): object {
  const { resource, name, endpoint, docs } = operation
  const { summary, params, query } = endpoint
  const parameters = [
    ...describeParametersIn('path', params),
    ...describeParametersIn('query', query),
    ...Object.entries(docs.requestHeaders ?? {}).map(([name, header]) => ({
      name,
      in: 'header',
      required: false,
      ...header,
    })),
  ]
  return {
    operationId: `${resource}.${name}`,
    tags: [resource],
    summary,
    ...(docs.description && { description: docs.description }),
    security: describeSecurity(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...describeBody(endpoint, docs, context),
    responses: { [endpoint.status]: describeSuccess(operation, context), ...describeErrors(endpoint) },
  }
}

function describeBody({ body, bodyMedia }: Endpoint, { text }: EndpointDocs, { input }: Context): object {
  if (!body && !bodyMedia) return {}
  const content = bodyMedia ? describeMedia(bodyMedia, text) : body && describeJson(input, body)
  return { requestBody: { required: true, content } }
}

function describeParametersIn(place: 'path' | 'query', schema: z.ZodType | undefined): object[] {
  if (!schema) return []
  const { properties = {}, required = [] } = describeParameters(schema)
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = property as JsonSchema
    const example = makeExample(rest, {}, name)
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

const json = 'application/json'
const ndjson = 'application/x-ndjson'

function describeJson(schemas: Schemas, type: z.ZodType, particulars?: object): Record<string, object> {
  const schema = schemas.of(type)
  const example = { ...(makeExample(schema, schemas.named, '', schemas.isOutput) as object), ...particulars }
  return { [json]: { schema, example } }
}

/** Binary data has no schema (https://spec.openapis.org/oas/v3.1.1#working-with-binary-data). */
function describeMedia(media: readonly string[], example = ''): Record<string, object> {
  return Object.fromEntries(
    media.map(type => [type, type.startsWith('text/') ? { schema: { type: 'string' }, example } : {}]),
  )
}

function describeSuccess({ endpoint, docs }: Operation, { output }: Context): object {
  const { access, status, response, media, streams } = endpoint
  const varies = streams || access === 'site_token' || Object.values<Endpoint>(api.description).includes(endpoint)
  const headers = [
    ...(access === 'account' ? quotaHeaders : []),
    ...(varies ? ['Vary'] : []),
    ...Object.keys(docs.responseHeaders ?? {}),
  ]
  const content = media
    ? describeMedia(media, docs.text)
    : status === 204
      ? null
      : describeJson(output, response, docs.example)
  return {
    description: docs.success ?? (status === 201 ? 'Created.' : 'Done.'),
    headers: describeHeaders(headers),
    ...(content && { content: { ...content, ...(streams && { [ndjson]: content[json] }) } }),
  }
}

const withoutDatabase: readonly Endpoint[] = [api.health.live, ...Object.values(api.description)]

function describeErrors(endpoint: Endpoint): Record<number, { $ref: string }> {
  const { access, unit, params, body, bodyMedia, errors = [] } = endpoint
  const isPrivate = access === 'account' || access === 'session'
  const names: ErrorResponseName[] = [
    'BadRequest',
    ...(access === 'anyone' ? [] : (['Unauthorized'] as const)),
    ...(isPrivate ? (['Forbidden'] as const) : []),
    ...(isPrivate && unit === undefined ? (['QuotaExceeded'] as const) : []),
    ...(params ? (['NotFound', 'UriTooLong'] as const) : []),
    ...(body || bodyMedia ? (['PayloadTooLarge', 'UnsupportedMediaType'] as const) : []),
    ...errors.map(findErrorResponse),
    'RequestTimeout',
    'HeadersTooLarge',
    'InternalError',
    ...(withoutDatabase.includes(endpoint) ? [] : (['Unavailable'] as const)),
  ]
  return Object.fromEntries(names.map(name => [statusOf(errorResponses[name]), refTo('responses', name)]))
}

const securitySchemes = {
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'sk-…',
    description:
      'An API key, for programs. Each request takes a unit of the monthly quota, and the key needs the scope that the ' +
      'operation names. If there is an Authorization header, it alone decides, even with an invalid key.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-consent_session',
    description:
      'The session of a user who signed in, for 8 hours. It takes nothing of the quota and has every scope. Requests other ' +
      'than GET must come from a page of the service itself, by their Origin or by Sec-Fetch-Site: same-origin.',
  },
  sessionOnLocalhost: {
    type: 'apiKey',
    in: 'cookie',
    name: 'consent_session',
    description: 'The same, if the service is on localhost without TLS.',
  },
  siteToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Site-Token',
    description: 'The token of a site, `st-…`, which its pages carry. It can write consents and read nothing.',
  },
} as const

/** Lists an API key once for each sufficient scope. */
function describeSecurity({ access, scope }: Endpoint): Partial<Record<keyof typeof securitySchemes, string[]>>[] {
  const sessions = [{ session: [] }, { sessionOnLocalhost: [] }]
  switch (access) {
    case 'anyone':
      return []
    case 'account':
      return [...[scope ?? []].flat().map(one => ({ apiKey: [one] })), ...sessions]
    case 'session':
      return sessions
    case 'site_token':
      return [{ siteToken: [] }]
  }
}

function selectReferenced<T>(schemas: Record<string, T>, root: object): Record<string, T> {
  const text = JSON.stringify([root, schemas])
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => text.includes(`"#/components/schemas/${name}"`)))
}
