import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner, root } from '../consents/records.ts'
import { visible } from '../visible.ts'
import { converse, type RawResponse } from './raw-connection.ts'
import { expectClientError, useRecordCount } from './record-count.ts'

const service = useService()
let owner: Owner
let stranger: Owner
beforeAll(async () => {
  owner = await newOwner(service)
  stranger = await newOwner(service)
})
const recordCount = useRecordCount(service)

/** A create with these lines for its credentials, as they are. */
async function create(...lines: string[]) {
  const body = JSON.stringify({ site_id: owner.siteId })
  const head = [`POST ${root} HTTP/1.1`, 'Host: x', 'Connection: close', 'Content-Type: application/json']
  const text = [...head, ...lines, `Content-Length: ${body.length}`, '', body].join('\r\n')
  const answers = await converse(service.url, text)
  for (const answer of answers) recordCount.add(answer)
  expect(answers).toHaveLength(1)
  return answers[0] as RawResponse
}

/** What is no credential, made of a key that is one. */
const values: [what: string, make: (key: string) => string][] = [
  ['a tab before the key', key => `Bearer\t${key}`],
  ['a space and a tab before the key', key => `Bearer \t${key}`],
  ['a no-break space before the key', key => `Bearer\xa0${key}`],
  ['no space before the key', key => `Bearer${key}`],
  ['a colon', key => `Bearer: ${key}`],
  ['an equals sign', key => `Bearer=${key}`],
  ['a comma', key => `Bearer, ${key}`],
  ['the scheme twice', key => `Bearer Bearer ${key}`],
  ['the scheme alone', () => 'Bearer'],
  ['the scheme of another alphabet', key => `Bear\xe9r ${key}`],
  ['the key in quotes', key => `Bearer "${key}"`],
  ['the key in angle brackets', key => `Bearer <${key}>`],
  ['the key as a parameter', key => `Bearer token=${key}`],
  ['the key and a parameter', key => `Bearer ${key}, realm="x"`],
  ['the key and a word', key => `Bearer ${key} x`],
  ['the key and a semicolon', key => `Bearer ${key};`],
  ['the key and an equals sign', key => `Bearer ${key}=`],
  ['the key twice', key => `Bearer ${key}${key}`],
  ['the key twice with a space', key => `Bearer ${key} ${key}`],
  ['the key twice with a comma', key => `Bearer ${key},${key}`],
  ['the key a hundred times', key => `Bearer ${key.repeat(100)}`],
  ['the key in small letters', key => `Bearer ${key.toLowerCase()}`],
  ['the key in capitals', key => `Bearer ${key.toUpperCase()}`],
  ['the key backwards', key => `Bearer ${[...key].reverse().join('')}`],
  ['the key without its prefix', key => `Bearer ${key.slice(3)}`],
  ['the key without its checksum', key => `Bearer ${key.slice(0, -6)}`],
  ['the key in base64', key => `Bearer ${btoa(key)}`],
  ['the key percent-encoded', key => `Bearer ${key.replace('-', '%2D')}`],
  ['the key with a letter of Latin-1', key => `Bearer ${key}\xe9`],
  ['the key with a byte order mark', key => `Bearer \xef\xbb\xbf${key}`],
  ['a space in the key', key => `Bearer ${key.slice(0, 9)} ${key.slice(9)}`],
  ['15,000 letters', () => `Bearer ${'x'.repeat(15_000)}`],
  ['null', () => 'Bearer null'],
  ['undefined', () => 'Bearer undefined'],
  ['an object', () => 'Bearer [object Object]'],
  ['a wildcard', () => 'Bearer *'],
  ['SQL', () => "Bearer sk-' or '1'='1"],
  ['a JWT without a signature', () => `Bearer ${btoa('{"alg":"none"}')}.${btoa('{"sub":"x"}')}.`],
  ['the key for Basic, as user', key => `Basic ${btoa(`${key}:`)}`],
  ['the key for Basic, bare', key => `Basic ${key}`],
  ['the key for Digest', key => `Digest username="${key}"`],
  ['the key for Negotiate', key => `Negotiate ${key}`],
  ['the key without a scheme', key => key],
]

/** Headers that others read a key from. */
const otherHeaders: [header: string, make: (key: string) => string][] = [
  ['X-API-Key', key => key],
  ['Api-Key', key => key],
  ['X-Auth-Token', key => key],
  ['X-Authorization', key => `Bearer ${key}`],
  ['Authentication', key => `Bearer ${key}`],
  ['Proxy-Authorization', key => `Bearer ${key}`],
  ['WWW-Authenticate', key => `Bearer ${key}`],
  ['X-Forwarded-Authorization', key => `Bearer ${key}`],
  ['X-Original-Authorization', key => `Bearer ${key}`],
  ['Authorization_', key => `Bearer ${key}`],
  ['Cookie', key => `authorization=Bearer ${key}`],
  ['Sec-WebSocket-Protocol', key => `bearer, ${key}`],
  ['X-Forwarded-User', () => 'admin'],
  ['X-Remote-User', () => 'admin'],
]

describe('credential headers › 401', () => {
  it.each(values)('treats an Authorization header with %s as missing', async (_what, make) => {
    expect(visible(await create(`Authorization: ${make(owner.key)}`))).toEqual(visible(await create()))
  })

  it.each(otherHeaders)('ignores a key in %s', async (header, make) => {
    expect(visible(await create(`${header}: ${make(owner.key)}`))).toEqual(visible(await create()))
  })

  it.each(['api_key', 'apikey', 'key', 'token', 'access_token', 'authorization', 'bearer'])(
    'ignores a key in the query parameter %s',
    async name => {
      const answer = await service.call('GET', `${root}?${name}=${owner.key}`)
      expectClientError(answer, 401)
      expect(answer.text).toBe((await create()).text)
    },
  )

  it('treats an invalid Authorization header before a valid one as missing', async () => {
    const good = `Authorization: Bearer ${owner.key}`
    expect(visible(await create('Authorization: Bearer x', good))).toEqual(visible(await create()))
    expect(visible(await create('Authorization:', good))).toEqual(visible(await create()))
  })

  // Two answers to the question who calls: a proxy may have read the other.
  it.each([
    ['invalid', () => 'Bearer x'],
    ['empty', () => ''],
    ['identical', () => `Bearer ${owner.key}`],
    ['another account’s', () => `Bearer ${stranger.key}`],
  ])('when there are two Authorization headers and the second is %s, rejects the request', async (_what, make) => {
    const answer = await create(`Authorization: Bearer ${owner.key}`, `Authorization: ${make()}`)
    expectClientError(answer)
  })
})

describe('credential headers › 201', () => {
  it.each([
    ['the scheme in any case', 'Authorization: bEaReR KEY'],
    ['the header in any case', 'AUTHORIZATION: Bearer KEY'],
    ['no space after the colon', 'Authorization:Bearer KEY'],
    ['white space around', 'Authorization: \t Bearer KEY \t '],
    ['several spaces', 'Authorization: Bearer    KEY'],
  ])('accepts a key with %s', async (_what, line) => {
    expect((await create(line.replace('KEY', owner.key))).status).toBe(201)
  })
})
