import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { run } from '../../support/cli.ts'
import {
  close,
  drip,
  type Fault,
  reset,
  respond,
  sendAndClose,
  sendBytes,
  staySilent,
} from '../../support/scripted-server.ts'
import { consent, expectExit, expectNoStdout, machineError, site, uuid } from '../support.ts'
import { useWays } from './ways.ts'

const { faulty, ways } = useWays()

const id = uuid(1)
const calls = {
  GET: ['get', id],
  POST: ['create', '--site', site, '--accepted'],
  PUT: ['update', id, '--refused'],
  DELETE: ['rm', id, '--yes'],
} as const
type Method = keyof typeof calls
const methods = Object.keys(calls) as Method[]

const ok = (fields = {}) => respond(200, consent({ id, accepted: true, ...fields }))
const error = (status: number, code: string, headers = {}) =>
  respond(status, { error: code, message: 'a sentence' }, headers)
const json = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const record = JSON.stringify(consent({ id }))
const half = record.slice(0, 40)

/** Answers for the description, with Idempotency-Key or without, and for the rest in the order of `others`. */
const described = (honours: boolean, ...others: Fault[]): Fault => {
  const parameters = honours ? [{ name: 'Idempotency-Key', in: 'header' }] : []
  const document = respond(200, { paths: { '/api/v1/consents': { post: { parameters } } } })
  return (socket, request) => {
    if (request.url.endsWith('/openapi.json')) return document(socket, request)
    const fault = others.length > 1 ? others.shift() : others[0]
    fault?.(socket, request)
  }
}

describe.each(ways)('client › faults › %s', (_, way) => {
  const send = (method: Method, ...more: string[]) => run([...calls[method], '-o', 'json', ...more], { env: way() })
  /** Returns how often a method was sent, without requests for the description. */
  const sent = (method: Method) =>
    faulty.requests.filter(request => request.method === method && !request.url.includes('openapi')).length
  const keys = () =>
    new Set(
      faulty.requests
        .filter(({ method }) => method === 'POST')
        .map(({ headers }) => headers['idempotency-key'] ?? 'none'),
    )

  /** After each of these the request may have been carried out, and a retry may succeed. */
  const losses: [name: string, fault: Fault, code: string][] = [
    ['a reset', reset, 'network'],
    ['a closed connection', close, 'network'],
    ['half a head', sendAndClose('HTTP/1.1 200 O'), 'network'],
    ['a connection closed after the head', sendAndClose(`${json}content-length: 99\r\n\r\n`), 'network'],
    ['half a body', sendAndClose(`${json}content-length: ${record.length}\r\n\r\n${half}`), 'network'],
    ['chunks that break off', sendAndClose(`${json}transfer-encoding: chunked\r\n\r\n28\r\n${half}\r\n`), 'network'],
    ['another protocol', sendAndClose('220 mail.example ESMTP\r\n'), 'network'],
    [
      'two Content-Lengths',
      sendBytes(`${json}content-length: 3\r\ncontent-length: ${record.length}\r\n\r\n${record}`),
      'network',
    ],
    ['a head without an end', sendAndClose(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`), 'network'],
    ['an unrequested upgrade', sendBytes('HTTP/1.1 101 Switching Protocols\r\n\r\n'), 'network'],
    ['500', error(500, 'internal_error'), 'internal_error'],
    ['503', error(503, 'unavailable'), 'unavailable'],
    ['an HTML 502', respond(502, '<h1>no</h1>', { 'content-type': 'text/html' }), 'unexpected_answer'],
    ['an HTML 504', respond(504, '<h1>no</h1>', { 'content-type': 'text/html' }), 'unexpected_answer'],
  ]

  it.each(losses)(
    'after %s, makes four attempts, but only one for a create without idempotency support',
    async (_, fault, code) => {
      faulty.script(described(false, fault))
      for (const method of methods) {
        const ran = await send(method)
        const exit = method === 'POST' ? 11 : 7
        expect({ method, code: ran.code, stdout: ran.stdout }).toEqual({ method, code: exit, stdout: '' })
        expect(machineError(ran.stderr)).toMatchObject({ code, exit, retryable: exit === 7 })
      }
      expect([sent('POST'), sent('DELETE'), sent('PUT')]).toEqual([1, 4, 1])
      expect(sent('GET')).toBe(4 + 3) // a change is not sent again before it is known how things are
    },
  )

  it.each(losses)('after %s, succeeds if the retry does, and creates once', async (_, fault) => {
    faulty.script(fault, ok())
    expect(await send('GET')).toMatchObject({ code: 0, stderr: '' })
    faulty.script(described(true, fault, respond(201, consent({ id }))))
    expect(await send('POST')).toMatchObject({ code: 0 })
    expect([sent('GET'), sent('POST'), keys().size]).toEqual([2, 2, 1])
  })

  it('when the response to a change is lost and the change was applied, does not retry', async () => {
    faulty.script(reset, ok({ accepted: false }))
    const { code, stdout } = await send('PUT')
    expect({ code, accepted: JSON.parse(stdout).accepted }).toEqual({ code: 0, accepted: false })
    expect([sent('PUT'), sent('GET')]).toEqual([1, 1])
  })

  it('when the response to a change is lost and the change was not applied, retries', async () => {
    faulty.script(reset, ok({ accepted: true }), ok({ accepted: false }))
    expect(await send('PUT')).toMatchObject({ code: 0 })
    expect(faulty.requests.map(({ method }) => method)).toEqual(['PUT', 'GET', 'PUT'])
  })

  it('when the response to a change is lost and the key may not read, retries', async () => {
    faulty.script(reset, error(403, 'forbidden'), ok({ accepted: false }))
    expect(await send('PUT')).toMatchObject({ code: 0 })
  })

  it('when the response to a removal is lost and the record is gone, succeeds', async () => {
    const deleted = { deleted_at: '2026-02-01T00:00:00.000Z' }
    faulty.script(reset, error(404, 'not_found'), ok(deleted))
    const ran = await send('DELETE')
    expect({ code: ran.code, ...JSON.parse(ran.stdout) }).toMatchObject({ code: 0, id, ...deleted })
    expect(faulty.requests.at(-1)?.url).toBe(`/api/v1/consents/${id}?include_deleted=true`)
  })

  it('when the response to a removal is lost and the instance shows no deleted records, succeeds', async () => {
    faulty.script(reset, error(404, 'not_found'))
    expect(await send('DELETE')).toMatchObject({ code: 0, stdout: expect.stringContaining(id) })
  })

  it('when the response to a removal is lost and the record is still live, exits with 3', async () => {
    faulty.script(reset, error(404, 'not_found'), ok({ deleted_at: null }))
    expectNoStdout(await send('DELETE'), 3, { code: 'not_found' })
    expect(faulty.requests.map(({ method }) => method)).toEqual(['DELETE', 'DELETE', 'GET'])
  })

  it('when the first response to a removal is 404, exits with not found', async () => {
    faulty.script(error(404, 'not_found'))
    expect(await send('DELETE')).toMatchObject({ code: 3 })
    expect(faulty.requests).toHaveLength(1)
  })

  it.each([
    ['a rejected key', error(401, 'unauthorized')],
    ['an exhausted quota', error(429, 'quota_exceeded')],
    ['a conflict', error(409, 'conflict')],
  ])('when the response to a create is lost, %s leaves its outcome unknown', async (_, later) => {
    faulty.script(described(true, reset, later))
    expect(await send('POST')).toMatchObject({ code: 11, stdout: '' })
    expect([sent('POST'), keys().size]).toEqual([2, 1])
  })

  it('reads the description only after a lost response', async () => {
    faulty.script(error(429, 'rate_limited'), respond(201, consent({ id })))
    expect(await send('POST')).toMatchObject({ code: 0 })
    expect(faulty.requests.map(({ url }) => url)).toEqual(['/api/v1/consents', '/api/v1/consents'])
    expect([...keys()]).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)])
  })

  it('when the quota is used up, does not retry', async () => {
    faulty.script(error(429, 'quota_exceeded', { 'retry-after': '0' }))
    for (const method of methods) expect(await send(method)).toMatchObject({ code: 6 })
    expect(faulty.requests).toHaveLength(methods.length)
  })

  it.each([
    ['2', /^try again in 2 s$/],
    ['90', /^try again in 90 s, or use --max-wait 90$/],
    [new Date(Date.now() + 3_600_000).toUTCString(), /^try again in 3[56]\d\d s, or use --max-wait 3[56]\d\d$/],
    ['99999999999999999999', /^try again in 1\d+ s$/],
  ])('when Retry-After is longer than --max-wait, does not retry: %s', async (wait, hint) => {
    faulty.script(error(429, 'rate_limited', { 'retry-after': wait }))
    expectExit(await send('GET', '--max-wait', '1'), 7, { hint: expect.stringMatching(hint) })
    expect(sent('GET')).toBe(1)
  })

  it('when Retry-After is within --max-wait, waits that long', async () => {
    faulty.script(error(429, 'rate_limited', { 'retry-after': '1' }), ok())
    const began = performance.now()
    expect(await send('GET', '--max-wait', '1')).toMatchObject({ code: 0 })
    expect(performance.now() - began).toBeGreaterThan(990)
  })

  /** A retry would meet each of these again, and a change may have been carried out. */
  const nonsense: [name: string, fault: Fault, said: RegExp][] = [
    ['JSON of another kind', respond(200, { status: 'ok' }), /not from this service/],
    ['a page', respond(200, '<h1>hi</h1>', { 'content-type': 'text/html' }), /not JSON \(text\/html\)/],
    ['a record as text', respond(200, record, { 'content-type': 'text/plain' }), /not JSON \(text\/plain\)/],
    ['an empty body', respond(200, ''), /not from this service/],
    ['half a record', respond(200, half), /not JSON/],
    [
      'a body of an old server that broke off',
      sendAndClose(`HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n${half}`),
      /not JSON/,
    ],
    ['invalid UTF-8', respond(200, Buffer.from([0x22, 0xff, 0x22])), /not UTF-8/],
    ['gzip, unasked', respond(200, gzipSync(record), { 'content-encoding': 'gzip' }), /encoded \(gzip\)/],
  ]

  it.each(nonsense)('after %s, fails immediately', async (_, fault, said) => {
    faulty.script(described(false, fault))
    for (const method of ['GET', 'POST', 'PUT'] as const) {
      const { code, stdout, stderr } = await send(method)
      expect({ method, code, stdout }).toEqual({ method, code: method === 'GET' ? 2 : 11, stdout: '' })
      expect(machineError(stderr)).toMatchObject({ message: expect.stringMatching(said), status: 200 })
    }
    expect(faulty.requests).toHaveLength(3)
  })

  it.each([
    ['HTTP/1.0', sendAndClose(`HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n${record}`)],
    ['no Content-Type', sendBytes(`HTTP/1.1 200 OK\r\ncontent-length: ${record.length}\r\n\r\n${record}`)],
    [
      'a 103 before it',
      sendBytes(`HTTP/1.1 103 Early Hints\r\n\r\n${json}content-length: ${record.length}\r\n\r\n${record}`),
    ],
    ['a body in small pieces', drip(`${json}content-length: ${record.length}\r\n\r\n`, [half, record.slice(40)], 20)],
    ['a byte order mark', respond(200, `\ufeff${record}`)],
  ])('with %s, reads the record', async (_, fault) => {
    faulty.script(fault)
    const { code, stdout } = await send('GET')
    expect({ code, id: JSON.parse(stdout).id }).toEqual({ code: 0, id })
  })

  it('when a 204 has a body, does not read it as the next response', async () => {
    faulty.script(sendBytes(`HTTP/1.1 204 No Content\r\ncontent-length: ${record.length}\r\n\r\n${record}`), ok())
    expect(await send('DELETE')).toMatchObject({ code: 0, stdout: expect.stringContaining(id) })
  })

  it('does not follow a redirect, and the error states its target', async () => {
    const location = `https://new.example/tenant/api/v1/consents/${id}?subject_id=maria`
    faulty.script(respond(308, '', { location }))
    const ran = await send('GET')
    expectExit(ran, 2, { hint: expect.stringContaining('--base-url https://new.example/tenant') })
    expect(ran.stderr).not.toContain('maria')
    expect(faulty.requests).toHaveLength(1)
  })

  it.each([
    ['says nothing', staySilent],
    ['stops in the head', sendBytes('HTTP/1.1 200 OK\r\nx: ')],
    ['stops in the body', sendBytes(`${json}content-length: 99\r\n\r\n{`)],
    ['sends a byte now and then', drip(`${json}\r\n`, [...record], 50)],
  ])('when the instance %s, exits after --timeout', async (_, fault) => {
    faulty.script(described(false, fault))
    const began = performance.now()
    expectExit(await send('POST', '--timeout', '0.3'), 11, { message: expect.stringContaining('within 0.3 s') })
    expect(performance.now() - began).toBeLessThan(5000)
  })

  it('when every attempt times out, exits after --timeout and names it', async () => {
    faulty.script(staySilent)
    const began = performance.now()
    const { code, stderr } = await send('GET', '--timeout', '0.5')
    expect([code, faulty.requests.length]).toEqual([7, 1])
    expect(performance.now() - began).toBeLessThan(1500)
    expect(machineError(stderr)).toMatchObject({ message: expect.stringContaining('within 0.5 s') })
  })

  it('when connections are refused, retries until --timeout', async () => {
    faulty.script(error(503, 'unavailable'))
    const began = performance.now()
    expect((await send('GET', '--timeout', '1', '--max-wait', '0.4')).code).toBe(7)
    expect(faulty.requests.length).toBeLessThan(4)
    expect(performance.now() - began).toBeLessThan(2500)
  })

  it('when a body is endless, fails before it fills the memory', async () => {
    const piece = Buffer.alloc(1024 * 1024, ' ')
    faulty.script(socket => {
      socket.write(`${json}\r\n`)
      const fill = () => {
        while (!socket.destroyed && socket.write(piece)) {
          // until it has to drain
        }
      }
      fill()
      socket.on('drain', fill)
    })
    expectExit(await send('GET'), 2, 'larger than 64 MiB')
    expect(faulty.requests).toHaveLength(1)
  })
})
