import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner, root } from '../consents/records.ts'
import { converse } from './raw-connection.ts'
import { expectClientError, useRecordCount } from './record-count.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})
const recordCount = useRecordCount(service)

/** A create over a socket, with headers of the test's own and none but them about the body. */
async function create(headers: readonly string[], body: string | Buffer = fields()) {
  const head = [`POST ${root} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${owner.key}`, 'Connection: close']
  const sent = [...head, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, '', ''].join('\r\n')
  const answers = await converse(service.url, Buffer.concat([Buffer.from(sent, 'latin1'), Buffer.from(body)]))
  for (const answer of answers) recordCount.add(answer)
  expect(answers).toHaveLength(1)
  return answers[0]
}

const fields = (more: object = {}) => JSON.stringify({ site_id: owner.siteId, ...more })
const json = 'Content-Type: application/json'

describe('content types › 201', () => {
  it.each([
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json ; charset=utf-8',
    ' \tapplication/json\t ',
    'APPLICATION/json',
    'application/json; profile=x',
    'application/json;',
  ])('accepts the content type %j', async type => {
    const answer = await create([`Content-Type: ${type}`], fields({ subject_id: 'Zoë' }))
    expect(answer?.status, answer?.text).toBe(201)
    expect(JSON.parse(answer?.text ?? '').subject_id).toBe('Zoë')
  })

  it('ignores the content type of a request without a body', async () => {
    for (const type of ['application/json', 'text/plain', '///']) {
      expect((await owner.send('GET', '?limit=1', { headers: { 'content-type': type } })).status).toBe(200)
    }
  })

  it.each([
    ['X-HTTP-Method-Override', 'DELETE'],
    ['X-Method-Override', 'PUT'],
    ['X-Original-URL', '/nope'],
    ['X-Rewrite-URL', '/nope'],
    ['X-Forwarded-Host', 'evil.example'],
    ['Forwarded', 'for=203.0.113.1;host=evil.example'],
    ['Accept', 'text/html'],
    ['Accept-Charset', 'utf-16'],
    ['Range', 'bytes=0-1'],
    ['If-Match', '"x"'],
    ['If-None-Match', '*'],
    ['Prefer', 'return=minimal'],
    ['Max-Forwards', '0'],
    ['__proto__', 'x'],
    ['constructor', 'x'],
  ])('is returned regardless of the header %s', async (name, value) => {
    const answer = await create([json, `${name}: ${value}`])
    expect(answer?.status, answer?.text).toBe(201)
    expect(Object.keys(JSON.parse(answer?.text ?? ''))).toHaveLength(13)
  })
})

describe('content types › 400', () => {
  it.each([
    ['twice', ['Idempotency-Key: a', 'Idempotency-Key: a']],
    ['twice, in two cases', ['Idempotency-Key: a', 'IDEMPOTENCY-KEY: b']],
    ['once empty', ['Idempotency-Key:', 'Idempotency-Key: a']],
    ['in Latin-1', ['Idempotency-Key: \xe9']],
    ['in UTF-8', ['Idempotency-Key: \xc3\xa9']],
    ['of white space', ['Idempotency-Key: \t ']],
    ['of a tab between letters', ['Idempotency-Key: a\tb']],
    ['of 15,000 characters', [`Idempotency-Key: ${'k'.repeat(15_000)}`]],
  ])('rejects an Idempotency-Key %s', async (_how, headers) => {
    expectClientError(await create([json, ...headers]), 400)
    expect(await service.sql`select from idempotency_keys`).toHaveLength(0)
  })

  it('distinguishes a missing body from an empty one', async () => {
    expectClientError(await create([json], ''), 400)
    expectClientError(await create([], ''), 400)
  })

  it('does not decompress bodies', async () => {
    expectClientError(await create([json, 'Content-Encoding: gzip'], gzipSync(fields())))
  })
})

describe('content types › 415', () => {
  it.each([
    'text/json',
    'text/javascript',
    'application/javascript',
    'application/x-json',
    'application/json5',
    'application/json-seq',
    'application/x-ndjson',
    'application/ld+json',
    'application/problem+json',
    'application/vnd.api+json',
    'application/json+json',
    'application/json/x',
    'application//json',
    'application/ json',
    'application /json',
    'application/json x',
    'application/json,',
    'application/json, application/json',
    'application/octet-stream',
    'application/*',
    '*/*',
    'application',
    '/json',
    '"application/json"',
    'application\\json',
    'application%2fjson',
    'application/json\xff',
    'application/j\xf6on',
    '__proto__',
    'constructor',
  ])('is returned for a body of the type %j', async type => {
    expectClientError(await create([`Content-Type: ${type}`]), 415)
  })

  it('is returned for a body without a content type or with two', async () => {
    expectClientError(await create([]), 415)
    expectClientError(await create(['Content-Type:']), 415)
    expectClientError(await create(['X-Content-Type: application/json']), 415)
    expectClientError(await create(['Content-Type: text/plain', json]))
  })
})

// The order of the checks is that of the gate: the route comes before what its body is.
describe('content types › 404', () => {
  it.each([
    ['that is not JSON', '{', 'application/json'],
    ['of another type', 'x', 'text/plain'],
    ['that is too large', ' '.repeat(200_000), 'application/json'],
  ])('is returned for a body %s to an unknown route', async (_what, body, type) => {
    expectClientError(
      await service.call('POST', '/nope', { key: owner.key, body, headers: { 'content-type': type } }),
      404,
    )
  })
})

// Each of these is read otherwise than its sender says it is.
describe('content types › 4xx', () => {
  it.each([
    ['Latin-1', ['Content-Type: application/json; charset=iso-8859-1']],
    ['UTF-16', ['Content-Type: application/json; charset=utf-16']],
    ['two charsets', ['Content-Type: application/json; charset=utf-8; charset=utf-16']],
    ['another type as well', [json, 'Content-Type: text/plain']],
    ['gzip', [json, 'Content-Encoding: gzip']],
    ['an unknown coding', [json, 'Content-Encoding: x']],
  ])('is returned for a body declared as %s', async (_what, headers) => {
    expectClientError(await create(headers, fields({ subject_id: 'Ã©' })))
  })
})
