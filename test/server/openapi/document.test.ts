import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { describeApi } from '../../../server/openapi/document.ts'
import { errorResponses } from '../../../server/openapi/responses.ts'
import { api, type Endpoint } from '../../../src/contract/index.ts'
import { validateAt } from '../../support/response-schema.ts'

type Node = Readonly<Record<string, unknown>>

const document = JSON.parse(JSON.stringify(describeApi()))
const nodes = [...nodesOf(document, '')]
const endpoints = Object.entries(api).flatMap(([resource, group]) =>
  Object.entries(group).map(([name, endpoint]): [string, Endpoint] => [`${resource}.${name}`, endpoint]),
)

describe('describeApi › document', () => {
  it('is valid OpenAPI 3.1 with the version of the service', async () => {
    const validator = new Validator()
    const { valid, errors } = await validator.validate(structuredClone(document))
    expect(errors).toBeUndefined()
    expect([valid, validator.version]).toEqual([true, '3.1'])
    expect(document.info).toMatchObject({ version: packageJson.version, license: { identifier: 'MIT' } })
  })

  it('has no dangling references and no unused components', () => {
    const referred = nodes.flatMap(([, node]) => (typeof node['$ref'] === 'string' ? [node['$ref']] : []))
    const { securitySchemes: _, ...kinds } = document.components
    const there = Object.entries(kinds).flatMap(([kind, components]) =>
      Object.keys(components as Node).map(name => `#/components/${kind}/${name}`),
    )
    const ofEveryPath = '#/components/responses/MethodNotAllowed'
    expect([...new Set([...referred, ofEveryPath])].sort()).toEqual(there.sort())
  })

  it('contains examples that match their schemas', () => {
    const examples = nodes.filter(([, node]) => 'example' in node && 'schema' in node)
    expect(examples.length).toBeGreaterThan(60)
    const wrong = examples.map(([pointer, { example }]) => [pointer, ...validateAt(`${pointer}/schema`, example)])
    expect(wrong.filter(({ length }) => length > 1)).toEqual([])
  })

  it('has only parameters and headers of one scalar type', () => {
    const all = nodes.filter(([pointer, node]) => 'in' in node || /^\/components\/headers\/[^/]+$/.test(pointer))
    const schemas = all.flatMap(([, node]) => ('schema' in node ? [node['schema'] as Node] : []))
    expect(schemas.length).toBeGreaterThan(20)
    expect(schemas.filter(schema => typeof schema['type'] !== 'string' || 'anyOf' in schema)).toEqual([])
  })

  it('contains an example of every parameter, header and body', () => {
    const without = nodes.filter(([, node]) => 'schema' in node && !('example' in node))
    expect(without.map(([pointer]) => pointer)).toEqual([])
  })
})

describe.each(endpoints)('describeApi › %s', (id, { path, method, params, body, status, access, errors = [] }) => {
  const operation = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]

  it('has an operation id, a success response and errors', () => {
    expect(operation).toMatchObject({ operationId: id, summary: expect.any(String) })
    expect(operation.responses).toHaveProperty(String(status))
    const expected = [
      'invalid_request',
      'internal_error',
      ...errors,
      ...(access === 'anyone' ? [] : ['unauthorized', 'unavailable']),
      ...(params ? ['not_found'] : []),
      ...(body ? ['payload_too_large'] : []),
    ]
    expect(codesOf(operation)).toEqual(expect.arrayContaining(expected))
  })

  it('describes the parameters in its path', () => {
    const described = (operation.parameters ?? []).filter((one: Node) => one['in'] === 'path')
    expect(described.map((one: Node) => `:${one['name']}`)).toEqual(path.match(/:\w+/g) ?? [])
  })
})

/** The codes of the errorResponses that an operation refers to. */
function codesOf(operation: { responses: Record<string, { $ref?: string }> }): string[] {
  const names = Object.values(operation.responses).flatMap(({ $ref }) => $ref?.split('/').at(-1) ?? [])
  return names.map(name => errorResponses[name as keyof typeof errorResponses].code)
}

/** Every object of the document with its JSON pointer. */
function* nodesOf(value: unknown, pointer: string): Generator<[string, Node]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [pointer, value as Node]
  for (const [key, child] of Object.entries(value)) {
    if (key !== 'example') yield* nodesOf(child, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
}
