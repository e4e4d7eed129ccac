import type * as z from 'zod'
import type { Endpoint } from '../../src/contract/index.ts'
import { exampleOf } from './examples.ts'
import { describeHeaders, type HeaderName, quotaHeaders } from './headers.ts'
import { refusalsOf } from './responses.ts'
import { describeParameters, type JsonSchema, type Schemas } from './schemas.ts'
import { securityOf } from './security.ts'
import { notesOn } from './words.ts'

/** An endpoint with the resource it is of and its name there, such as `consents` and `create`. */
export interface Operation {
  readonly resource: string
  readonly name: string
  readonly endpoint: Endpoint
}

export interface Context {
  readonly input: Schemas
  readonly output: Schemas
}

/** An endpoint of the contract as an Operation Object of OpenAPI. */
export function describeOperation({ resource, name, endpoint }: Operation, context: Context): object {
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
  const { access, status, response } = endpoint
  const { answer, headers = [], example } = notesOn(endpoint)
  const names: HeaderName[] = [...(access === 'account' ? quotaHeaders : []), ...headers]
  return {
    description: answer ?? (status === 201 ? 'Made.' : 'Done.'),
    headers: describeHeaders(names),
    ...(status !== 204 && { content: json(output, response, example) }),
  }
}

function json(schemas: Schemas, of: z.ZodType, more: object = {}): object {
  const schema = schemas.of(of)
  const example = { ...(exampleOf(schema, schemas.named) as object), ...more }
  return { 'application/json': { schema, example } }
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
