import { describe, expect, it } from 'vitest'
import { describeApi } from '../../../server/openapi/document.ts'
import { expectDocumented } from '../../support/response-schema.ts'

const root = '/api/v1/consents'
const { paths } = describeApi() as {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>
}
const record = exampleOf(`${root}/{id}`, 'get', 200)
const id = { 'x-request-id': '7b6f3a4e-5d0c-4f7e-9a53-2f0d4f0b8f6e' }
const json = { ...id, 'content-type': 'application/json; charset=utf-8' }
const without = (name: string) => Object.fromEntries(Object.entries(record).filter(([key]) => key !== name))

type Case = [
  what: string,
  method: string,
  path: string,
  status: number,
  body: unknown,
  headers?: Record<string, string>,
]

/** Expects the check to take an answer, as a test of the service would have received it. */
function check([, method, path, status, body, headers = json]: Case): void {
  const text = body === undefined ? '' : JSON.stringify(body)
  expectDocumented(method, path, { status, headers, text, body })
}

const good: Case[] = [
  ['a record', 'GET', `${root}/x?include_deleted=true`, 200, record],
  ['a deleted record', 'DELETE', `${root}/x`, 200, exampleOf(`${root}/{id}`, 'delete', 200)],
  ['an empty page', 'GET', root, 200, { data: [], limit: 50, next_cursor: null }],
  ['no more text', 'DELETE', '/api/v1/session', 204, undefined, { ...id, 'set-cookie': 'consent_session=; Path=/' }],
  ['a refusal', 'GET', `${root}/x`, 404, { error: 'not_found', message: 'x' }],
  ['another method', 'PATCH', root, 405, { error: 'invalid_request', message: 'x' }, { ...json, allow: 'GET, POST' }],
  ['an unknown route', 'GET', '/nope', 404, { error: 'not_found', message: 'x' }],
  ['a success of what is not described', 'OPTIONS', '/api/v1/public/consent', 204, undefined, id],
]

const bad: Case[] = [
  ['a record without a field', 'GET', `${root}/x`, 200, without('region')],
  ['a record with another field', 'GET', `${root}/x`, 200, { ...record, ip_address: '203.0.113.7' }],
  ['a null that has a value', 'GET', `${root}/x`, 200, { ...record, accepted: null }],
  ['a time without milliseconds', 'GET', `${root}/x`, 200, { ...record, created_at: '2026-11-20T20:50:21Z' }],
  ['another status of success', 'GET', `${root}/x`, 201, record],
  ['a refusal that it cannot give', 'GET', '/live', 401, { error: 'unauthorized', message: 'x' }],
  ['a code of another status', 'GET', `${root}/x`, 404, { error: 'invalid_request', message: 'x' }],
  ['no body', 'GET', `${root}/x`, 404, undefined],
  ['no request id', 'GET', `${root}/x`, 200, record, { 'content-type': 'application/json' }],
  ['another media type', 'GET', `${root}/x`, 200, record, { ...json, 'content-type': 'text/plain' }],
  ['a 401 without a challenge', 'GET', root, 401, { error: 'unauthorized', message: 'x' }],
  ['a header of another operation', 'GET', `${root}/x`, 200, record, { ...json, 'idempotent-replayed': 'true' }],
  ['a refusal of an unknown route in another shape', 'GET', '/nope', 404, { error: 'Not Found' }],
]

describe('expectDocumented › responses', () => {
  it.each(good)('accepts %s', (...answer) => check(answer))
  it.each(bad)('rejects %s', (...answer) => expect(() => check(answer)).toThrow())
})

function exampleOf(path: string, method: string, status: number): Record<string, unknown> {
  const response = paths[path]?.[method]?.responses[status] as {
    content: { 'application/json': { example: object } }
  }
  return { ...response.content['application/json'].example }
}
