import { beforeAll, describe, expect, it } from 'vitest'
import type { Consent } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { matching, populate } from '../consents/population.ts'
import { newOwner, type Owner, root, unknownId } from '../consents/records.ts'
import { converse } from './raw-connection.ts'
import { expectClientError, useRecordCount } from './record-count.ts'

const service = useService()
let owner: Owner
let records: Consent[]
beforeAll(async () => {
  owner = await newOwner(service)
  records = await populate(service.sql, owner, 40)
})

/** A request whose target goes over the socket as it is. */
async function ask(target: string, method = 'GET') {
  const head = [`${method} ${target} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${owner.key}`]
  const answers = await converse(service.url, [...head, 'Connection: close', '', ''].join('\r\n'))
  expect(answers).toHaveLength(1)
  return answers[0]
}

/** Every route, with the body that makes it a success but for its query. */
const routes: [method: string, path: string, body?: object][] = [
  ['POST', '', { site_id: unknownId }],
  ['GET', ''],
  ['GET', `/${unknownId}`],
  ['PUT', `/${unknownId}`, {}],
  ['DELETE', `/${unknownId}`],
  ['GET', `/${unknownId}/history`],
  ['GET', `/${unknownId}/receipt`],
]

/** Queries that no route has: `[what, query]`. */
const foreign: [what: string, query: string][] = [
  ['an unknown name', 'unknown=1'],
  ['a name of another service', 'fields=id'],
  ['a name of another case', 'LIMIT=1'],
  ['a name with brackets', 'limit[]=1'],
  ['a name with an operator', 'limit[$gt]=1'],
  ['a name with a path', 'limit.value=1'],
  ['a name with a space', 'limit+=1'],
  ['a name with NUL', 'limit%00=1'],
  ['a name with an invisible space', 'limit%e2%80%8b=1'],
  ['no name', '=1'],
  ['neither name nor value', '='],
  ['a second question mark', '?limit=1'],
  ['__proto__', '__proto__=1'],
  ['__proto__ in brackets', '__proto__[limit]=1'],
  ['constructor', 'constructor=1'],
  ['a path to the prototype', 'constructor.prototype.limit=1'],
  ['a name without a value', 'toString'],
  ['a name of 10,000 characters', `${'x'.repeat(10_000)}=1`],
  ['a thousand names', Array.from({ length: 1000 }, (_, index) => `n${index}=1`).join('&')],
  ['a name twice', 'unknown=1&unknown=1'],
  ['a lone percent sign', '%'],
  ['half an escape', 'a=%4'],
  ['an escape without digits', 'a=%zz'],
  ['an escape of JavaScript', 'a=%u0041'],
  ['a byte that is no UTF-8', 'a=%ff'],
  ['an overlong escape', '%c0%ae=1'],
  ['an escaped surrogate', 'a=%ed%bf%bf'],
  ['a code point above U+10FFFF', 'a=%f4%90%80%80'],
]

describe('query parameters › 400', () => {
  const recordCount = useRecordCount(service)

  it.each(foreign)('is returned by every route for %s', async (_what, query) => {
    for (const [method, path, body] of routes) {
      const answer = await owner.send(method, `${path}?${query}`, { body })
      recordCount.add(answer)
      expectClientError(answer, 400)
      expect(answer.text.length).toBeLessThan(12_000)
    }
  })

  it.each([
    'limit=1&limit=2',
    'limit=1&%6cimit=1',
    'limit=1&limit',
    'accepted=true&accepted=false',
    'accepted=true&accepted=',
    'subject_id=a&subject%5fid=b',
    'include_deleted=true&limit=1&include_deleted=true',
    'limit=1;accepted=true',
    'limit=1%26accepted=true',
    'limit=1?accepted=true',
    'limit=1&amp;accepted=true',
    'limit%3d1',
    'limit:1',
    'limit==1',
  ])('is returned for ?%s', async query => expectClientError(await owner.list(query), 400))

  // A fragment never leaves a browser; what it holds is lost, and with it the filter.
  const fragments = ['#subject_id=a', '#', '#limit=1?', '?#', '?limit=1#', '?limit=1#&limit=2', '#?limit=0']
  it.each([...fragments, '?subject_id=\xe9', '?subject_id=a\x7f', '?a b'])(
    'is returned for a target that ends in %j',
    async tail => expectClientError(await ask(root + tail), 400),
  )
})

describe('query parameters › 200', () => {
  const live = () => matching(records, {})

  it.each(['', '?', '?&', '?&&limit=2&', '?limit=%32', '?%6c%69mit=2', '?limit=02', '?limit=0000000002'])(
    'returns the expected list for %j',
    async query => {
      const answer = await ask(root + query)
      expect(answer?.status, answer?.text).toBe(200)
      expect(JSON.parse(answer?.text ?? '').data).toEqual(query.length > 4 ? live().slice(0, 2) : live())
    },
  )

  it('parses a plus sign as a space, as forms write it, and %2B as a plus sign', async () => {
    for (const subject_id of ['a b', 'a+b']) await owner.create({ subject_id })
    const subjects = async (query: string) =>
      (await owner.list(query)).body.data.map((found: Consent) => found.subject_id)
    expect(await subjects('subject_id=a+b')).toEqual(['a b'])
    expect(await subjects('subject_id=a%20b')).toEqual(['a b'])
    expect(await subjects('subject_id=a%2Bb')).toEqual(['a+b'])
    expect(await subjects('subject_id=a%2bb')).toEqual(['a+b'])
  })
})
