import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type * as z from 'zod'
import { describeApi } from '../../../server/openapi/document.ts'
import * as contract from '../../../src/contract/index.ts'
import { validateAt } from '../../support/response-schema.ts'
import { edgeFields, fieldsBeyondLimits, noAddresses, oddTexts } from '../consents/bodies.ts'

const { paths } = describeApi() as { paths: Record<string, Record<string, Operation>> }

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly example: unknown }[]
  readonly requestBody?: { readonly content: Record<string, { readonly example: unknown }> }
}

const {
  ConsentDraft,
  BatchRow,
  ConsentChange,
  BannerDraft,
  KeyDraft,
  SiteDraft,
  SiteChange,
  TokenRotation,
  SubjectErasure,
  RequestDraft,
  RequestChange,
  Credentials,
} = contract
const bodies = Object.entries({
  ConsentDraft,
  BatchRow,
  ConsentChange,
  BannerDraft,
  KeyDraft,
  SiteDraft,
  SiteChange,
  TokenRotation,
  SubjectErasure,
  RequestDraft,
  RequestChange,
  Credentials,
})

/** Messages of the contract about what JSON Schema cannot express. */
const unsaid =
  /well-formed Unicode|levels deep|at most 256 keys|bytes of JSON|finite numbers|must be an origin|RFC 3339|before 1990|guardian or agent|address/

const id = '01939d2c-7b1a-7c3e-9a51-2f6a1f0d9b11'
const texts = [
  '',
  'x',
  'x'.repeat(100),
  'x'.repeat(101),
  'x'.repeat(255),
  'x'.repeat(256),
  'x'.repeat(1025),
  '🙂'.repeat(255),
]
const uuids = [id, id.toUpperCase(), `urn:uuid:${id}`, id.replaceAll('-', ''), `${id}\n`]
const instants = [
  ...[
    '2026-01-31T09:30:00Z',
    '2026-01-31t09:30:00.123456789+02:00',
    '0001-01-01T00:00:00Z',
    '2026-01-31T09:30:00-00:00',
  ],
  ...['2026-02-30T00:00:00Z', '2026-01-31', '2026-01-31T09:30:00', '2016-12-31T23:59:60Z'],
]
const origins = [
  'https://www.example.com',
  'http://localhost:3000',
  'https://xn--e1afmkfd.example',
  'https://a.example/',
  'a.example',
  'null',
]
const lists = [[], ['read'], ['read', 'read'], ['read', 'write', 'erase'], ['all'], ...origins.map(origin => [origin])]
const circumstances = [
  { method: 'paper', channel: 'x', form: 'x', given_by: 'agent', relation: 'x', reference: 'x', note: 'x' },
  ...[{ method: 'fax' }, { form_sha256: 'f2'.repeat(32) }, { relation: 'x' }, { relation: 'x', given_by: 'self' }],
  ...instants.map(confirmed_at => ({ confirmed_at })),
  ...texts.flatMap(text => [{ channel: text }, { form: text }, { reference: text }, { note: text }]),
]
const values = [
  ...circumstances,
  ...[null, true, false, 0, 1, -1, 1.5, 720, 721, 2 ** 31 - 1, 2 ** 31, {}, { a: null }, 'true', '1'],
  ...[...texts, ...uuids, ...instants, ...noAddresses, ...lists, '203.0.113.7', '::1', '2001:db8::7', 'a\0b', '\ud83d'],
  ...oddTexts.map(([, text]) => text),
  ...edgeFields.flatMap(([, fields]) => Object.values(fields)),
  ...fieldsBeyondLimits.map(([, value]) => value),
]

describe.each(bodies)('request schemas › %s', (name, schema: z.ZodObject) => {
  const fields = [...Object.keys(schema.shape), 'acepted']

  it('accepts exactly what the contract accepts, field by field', () => {
    let taken = 0
    for (const field of fields) {
      for (const value of values) taken += Number(compare(name, schema, { ...exampleOf(schema), [field]: value }))
    }
    expect(taken).toBeGreaterThan(0)
  })

  it('accepts exactly what the contract accepts, with any subset of fields', () => {
    const value = fc.constantFrom(...values)
    const shape = Object.fromEntries(fields.map(field => [field, value]))
    const body = fc.oneof(fc.record(shape, { requiredKeys: [], noNullPrototype: true }), value)
    fc.assert(fc.property(body, candidate => void compare(name, schema, candidate)))
  })
})

describe('request schemas › record', () => {
  const keys = Array.from({ length: 257 }, (_, index): [string, number] => [`k${index}`, index])

  it.each([
    ['subject_id', 'a\0b'],
    ['preferences', Object.fromEntries(keys)],
    ['ip_address', 'localhost'],
  ])('rejects an invalid %s', (field, value) => {
    expect(validateAt('/components/schemas/ConsentDraft', { site_id: id, [field]: value })).not.toEqual([])
  })
})

describe('request schemas › examples', () => {
  it('the service accepts the examples of bodies', () => {
    for (const { body } of endpoints()) {
      if (body)
        expect(body.safeParse(exampleOf(body)), JSON.stringify(exampleOf(body))).toMatchObject({
          success: true,
        })
    }
  })

  it('the service accepts the examples of parameters as text', () => {
    for (const { path, method, query } of endpoints()) {
      const given = (operationOf(path, method).parameters ?? []).filter(parameter => parameter.in === 'query')
      const parameters = Object.fromEntries(given.map(({ name, example }) => [name, String(example)]))
      if (query) expect(query.safeParse(parameters)).toMatchObject({ success: true })
    }
  })
})

/** Expects document and contract to agree about a value, except for what is unsaid. Returns true if both accept it. */
function compare(name: string, schema: z.ZodType, value: unknown): boolean {
  const problems = validateAt(`/components/schemas/${name}`, value)
  const { success, error } = schema.safeParse(value)
  if (success) expect(problems, JSON.stringify(value)).toEqual([])
  if (success || problems.length > 0) return success
  const unexplained = error.issues.filter(({ message }) => !unsaid.test(message))
  expect(unexplained, `the document takes ${JSON.stringify(value)}`).toEqual([])
  return false
}

function endpoints(): contract.Endpoint[] {
  return Object.values(contract.api).flatMap(group => Object.values(group) as contract.Endpoint[])
}

function operationOf(path: string, method: string): Operation {
  return paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] ?? {}
}

/** The example of a body. */
function exampleOf(body: z.ZodType): object {
  const [endpoint] = endpoints().filter(one => one.body === body)
  const { requestBody } = operationOf(endpoint?.path ?? '', endpoint?.method ?? '')
  const example = requestBody?.content['application/json']?.example as object | undefined
  return example ?? exampleOf(ConsentDraft) // of a row, which a batch has several of
}
