import { request } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { consents, health } from '../../../src/contract/index.ts'
import { type TestAccount, useService } from '../../support/service.ts'

const service = useService()
const root = '/api/v1/consents'
const one = `${root}/01890000-0000-7000-8000-000000000000`
let account: TestAccount

beforeAll(async () => {
  account = await service.newAccount()
})

/** Each path of the contract with the methods that it has. */
const known = [...Object.values(consents), ...Object.values(health)].reduce(
  (paths, { path, method }) => paths.set(path, [...(paths.get(path) ?? []), method]),
  new Map<string, string[]>(),
)
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

describe('error responses › 405', () => {
  const refused = [...known].flatMap(([path, allowed]) =>
    methods.filter(method => !allowed.includes(method)).map(method => ({ method, path, allowed })),
  )

  it.each(refused)('are returned to $method $path with Allow', async ({ method, path, allowed }) => {
    const answer = await request(service.url + path.replace(':id', one.slice(root.length + 1)), {
      method: method as 'GET',
      headers: { authorization: `Bearer ${account.key}` },
    })
    const text = await answer.body.text()
    expect(answer.statusCode).toBe(405)
    expect(String(answer.headers['allow']).split(', ').sort()).toEqual(allowed.sort())
    expect(answer.headers['x-request-id']).toBeTruthy()
    if (method === 'HEAD') expect(text).toBe('')
    else expect(JSON.parse(text)).toEqual({ error: 'invalid_request', message: expect.any(String) })
  })

  it.each(['/live', '/ready'])('are returned without a credential on %s', async path => {
    expect((await service.call('POST', path, { body: {} })).status).toBe(405)
  })
})

describe('error responses', () => {
  it.each<[string, string, string, number, string, unknown?, Record<string, string>?]>([
    ['an unknown route', 'GET', '/nope', 404, 'not_found'],
    ['a final slash', 'GET', `${root}/`, 404, 'not_found'],
    ['an upper-case route', 'GET', root.toUpperCase(), 404, 'not_found'],
    ['a malformed escape', 'GET', '/%zz', 404, 'not_found'],
    ['a malformed escape in an id', 'GET', `${root}/%zz`, 404, 'not_found'],
    ['a body of 128 KiB and one byte', 'POST', root, 413, 'payload_too_large', ' '.repeat(131_073)],
    ['a body that says it is too large', 'PUT', one, 413, 'payload_too_large', 'x'.repeat(1_000_000)],
  ])('have a code, a message and a request id: %s', async (_name, method, path, status, code, body, headers = {}) => {
    const answer = await service.call(method, path, { key: account.key, body, headers })
    expect([answer.status, answer.body.error]).toEqual([status, code])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })
})
