import { request } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { consents, health } from '../../../src/contract/index.ts'
import { type TestAccount, useService } from '../../support/service.ts'
import { type RawAnswer, sendRaw } from './raw-request.ts'

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

  it.each(['/live', '/ready'])('needs no credential on %s, as its 200 needs none', async path => {
    expect((await service.call('POST', path, { body: {} })).status).toBe(405)
  })
})

describe('error responses › have a code, a message and a request id', () => {
  it.each<[string, string, string, number, string, unknown?, Record<string, string>?]>([
    ['an unknown route', 'GET', '/nope', 404, 'not_found'],
    ['a final slash', 'GET', `${root}/`, 404, 'not_found'],
    ['an upper-case route', 'GET', root.toUpperCase(), 404, 'not_found'],
    ['a malformed escape', 'GET', '/%zz', 404, 'not_found'],
    ['a malformed escape in an id', 'GET', `${root}/%zz`, 404, 'not_found'],
    ['malformed JSON', 'POST', root, 400, 'invalid_request', '{'],
    ['an empty body', 'POST', root, 400, 'invalid_request', ''],
    ['JSON that is no object', 'PUT', one, 400, 'invalid_request', '[]'],
    ['a body of 128 KiB and one byte', 'POST', root, 413, 'payload_too_large', ' '.repeat(131_073)],
    ['a body that says it is too large', 'PUT', one, 413, 'payload_too_large', 'x'.repeat(1_000_000)],
    ['another media type', 'POST', root, 415, 'invalid_request', '{}', { 'content-type': 'text/plain' }],
    ['an unreadable media type', 'POST', root, 415, 'invalid_request', '{}', { 'content-type': '/' }],
  ])('%s', async (_name, method, path, status, code, body, headers = {}) => {
    const answer = await service.call(method, path, { key: account.key, body, headers })
    expect([answer.status, answer.body.error]).toEqual([status, code])
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
  })
})

describe('error responses › have the same form for malformed HTTP', () => {
  const head = (line: string, ...headers: string[]) =>
    `${[line, 'Host: x', 'Connection: close', `Authorization: Bearer ${account.key}`, ...headers].join('\r\n')}\r\n\r\n`
  const post = (headers: string[], body: string) =>
    head(`POST ${root} HTTP/1.1`, 'Content-Type: application/json', ...headers) + body
  const chunked = 'Transfer-Encoding: chunked'

  it.each<[name: string, bytes: () => string | Buffer, statuses: number[]]>([
    ['headers of 100 KB', () => head('GET /live HTTP/1.1', `X: ${'x'.repeat(100_000)}`), [431]],
    ['ten thousand headers', () => head('GET /live HTTP/1.1', ...Array(10_000).fill('X: x')), [431]],
    ['a URL of 100 KB', () => head(`GET /live?${'x'.repeat(100_000)} HTTP/1.1`), [414, 431]],
    ['a URL of 15 KB', () => head(`GET ${root}/${'x'.repeat(15_000)} HTTP/1.1`), [404]],
    ['random bytes', () => Buffer.from([0x16, 0x03, 0x01, 0, 0xff, 0xfe, 0, 1, 2, 3, 10, 10]), [400]],
    ['words', () => 'hello there\r\n\r\n', [400]],
    ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400, 401, 405]],
    ['a version of HTTP that is none', () => head('GET /live HTTP/9.9'), [400, 505]],
    ['two Content-Lengths', () => post(['Content-Length: 2', 'Content-Length: 3'], '{}x'), [400]],
    ['the same Content-Length twice', () => post(['Content-Length: 2', 'Content-Length: 2'], '{}'), [400]],
    ['a Content-Length that is not a number', () => post(['Content-Length: two'], '{}'), [400]],
    ['a negative Content-Length', () => post(['Content-Length: -2'], '{}'), [400]],
    ['Content-Length and chunked at once', () => post(['Content-Length: 2', chunked], '0\r\n\r\n'), [400]],
    ['a chunk size that is not a number', () => post([chunked], 'xyz\r\n{}\r\n0\r\n\r\n'), [400]],
    ['a chunk longer than its size', () => post([chunked], '1\r\n{}\r\n0\r\n\r\n'), [400]],
    ['chunked not last', () => post(['Transfer-Encoding: chunked, gzip'], '0\r\n\r\n'), [400]],
    ['an unknown transfer coding', () => post(['Transfer-Encoding: xchunked'], '{}'), [400]],
    ['line ends without a carriage return', () => 'GET /live HTTP/1.1\nHost: x\n\n', [400]],
    ['a space before a header’s colon', () => head('GET /live HTTP/1.1', 'X-A : b'), [400]],
    ['a NUL in a header', () => head('GET /live HTTP/1.1', 'X-A: \0'), [400]],
    ['a folded header', () => head('GET /live HTTP/1.1', 'X-A: b', ' c'), [400]],
    ['a method that no one knows', () => head(`BREW ${root} HTTP/1.1`), [400, 405]],
    ['a method of WebDAV', () => head(`PROPFIND ${root} HTTP/1.1`), [404, 405]],
    ['TRACE', () => head(`TRACE ${root} HTTP/1.1`), [404, 405]],
    ['CONNECT', () => head('CONNECT example.com:443 HTTP/1.1'), [400, 404, 405]],
    ['OPTIONS *', () => head('OPTIONS * HTTP/1.1'), [400, 404, 405]],
    ['no Host', () => 'GET /live HTTP/1.1\r\nConnection: close\r\n\r\n', [400]],
    ['two Hosts', () => head('GET /live HTTP/1.1', 'Host: y'), [400]],
    ['an expectation that nobody meets', () => head('GET /nope HTTP/1.1', 'Expect: miracles'), [404, 417]],
  ])('%s', async (_name, bytes, statuses) => {
    expectRefusal(await sendRaw(service.url, bytes()), statuses)
  })

  it('a path that is no path of ours', async () => {
    for (const path of ['/live\0', '\\live', '/../live', '//live', 'live', '*']) {
      expectRefusal(await sendRaw(service.url, head(`GET ${path} HTTP/1.1`)), [400, 404])
    }
  })

  it('a request smuggled behind one with a body is never answered as one of its own', async () => {
    const smuggled = `GET ${root} HTTP/1.1\r\nHost: x\r\nX: `
    const bytes = post([`Content-Length: ${smuggled.length}`, 'Transfer-Encoding : chunked'], `0\r\n\r\n${smuggled}`)
    const answer = await sendRaw(service.url, bytes)
    expectRefusal(answer, [400])
    expect(answer?.text.match(/HTTP\/1\.1/g)).toBeNull()
  })

  it('leave the service running', async () => {
    expect((await service.call('GET', '/live')).status).toBe(200)
    expect((await service.call('GET', root, { key: account.key })).status).toBe(200)
  })
})

function expectRefusal(answer: RawAnswer | null, statuses: number[]): void {
  expect(statuses).toContain(answer?.status)
  expect(JSON.parse(answer?.text ?? '')).toEqual({ error: expect.any(String), message: expect.any(String) })
  expect(answer?.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  expect(answer?.headers['content-type']).toBe('application/json; charset=utf-8')
}
