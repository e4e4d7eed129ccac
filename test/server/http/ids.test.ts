import { beforeAll, describe, expect, it } from 'vitest'
import type { Consent } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner, root, unknownId } from '../consents/records.ts'
import { visible } from '../visible.ts'
import { converse } from './raw-connection.ts'
import { expectClientError, useRecordCount } from './record-count.ts'

const service = useService()
let owner: Owner
let record: Consent
beforeAll(async () => {
  owner = await newOwner(service)
  record = await owner.create({ preferences: { untouched: true } })
})
const recordCount = useRecordCount(service)

/** Texts that PostgreSQL, or somebody's parser, takes for the UUID that they are made of. */
const notUuids: [what: string, make: (id: string) => string][] = [
  ['a URN', id => `urn:uuid:${id}`],
  ['a URN in capitals', id => `URN:UUID:${id}`],
  ['braces', id => `{${id}}`],
  ['one brace', id => `{${id}`],
  ['parentheses', id => `(${id})`],
  ['quotes', id => `"${id}"`],
  ['no hyphens', id => id.replaceAll('-', '')],
  ['one hyphen less', id => id.replace('-', '')],
  ['hyphens at other places', id => id.replaceAll('-', '').replace(/.{4}(?!$)/g, '$&-')],
  ['two hyphens in a row', id => id.replace('-', '--')],
  ['underscores', id => id.replaceAll('-', '_')],
  ['hyphens of another kind', id => id.replaceAll('-', '\u2010')],
  ['a digit less', id => id.slice(0, -1)],
  ['a digit more', id => `${id}0`],
  ['a letter that is no digit', id => `${id.slice(0, -1)}g`],
  ['a full-width digit', id => `${id.slice(0, -1)}\uff11`],
  ['a space before', id => ` ${id}`],
  ['a space after', id => `${id} `],
  ['a line break after', id => `${id}\n`],
  ['a carriage return after', id => `${id}\r`],
  ['NUL after', id => `${id}\0`],
  ['a zero-width space after', id => `${id}\u200b`],
  ['a byte order mark before', id => `\ufeff${id}`],
  ['two ids', id => `${id},${id}`],
  ['a prefix', id => `consent_${id}`],
  ['hexadecimal', id => `0x${id.replaceAll('-', '')}`],
  ['base64url', id => Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url')],
  ['a number', () => '1'],
  ['null', () => 'null'],
  ['words that PostgreSQL would run', id => `${id}' or true --`],
]

/** UUIDs that nothing has. */
const others: [what: string, id: string][] = [
  ['the nil UUID', '00000000-0000-0000-0000-000000000000'],
  ['the max UUID', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  ['version 1', 'c232ab00-9414-11ec-b3c8-9f6bdeced846'],
  ['version 4', '919108f7-52d1-4320-9bac-f847db4148a8'],
  ['version 8', '2489e9ad-2ee2-8e00-8ec9-32d5f69181c0'],
  ['version 7, of the year 10889', 'ffffffff-ffff-7fff-bfff-ffffffffffff'],
  ['no variant at all', '01890000-0000-7000-0000-000000000000'],
  ['capitals', unknownId.toUpperCase()],
]

const ask: [route: string, ask: (id: string) => ReturnType<Owner['get']>][] = [
  ['GET', id => owner.get(id)],
  ['PUT', id => owner.update(id, { accepted: true })],
  ['DELETE', id => owner.remove(id)],
  ['GET history', id => owner.history(id)],
  ['GET receipt', id => owner.receipt(id)],
]

describe('ids › 404', () => {
  it.each([...notUuids, ...others.map(([what, id]) => [what, () => id] as const)])(
    'is the same for an id with %s in a path as for an unknown one, on every route',
    async (_what, make) => {
      for (const [, route] of ask) {
        const expected = visible(await route(unknownId))
        expect(expected.status).toBe(404)
        expect(visible(await route(encodeURIComponent(make(record.id))))).toEqual(expected)
      }
      expect((await owner.get(record.id)).body).toEqual(record)
    },
  )

  it.each(others)('is the same for a site_id with %s as for an unknown one', async (_what, id) => {
    for (const more of [{}, { policy_version: 1 }]) {
      const answer = await owner.post({ site_id: id, ...more })
      recordCount.add(answer)
      expect(visible(answer)).toEqual(visible(await owner.post({ site_id: unknownId, ...more })))
      expectClientError(answer, 404)
    }
  })

  it.each([
    '/%2e%2e/consents',
    '/..',
    '/.',
    '//',
    '%2f',
    '%20',
    '%00',
    '.json',
    ';a=b',
    '/x%2fhistory',
    '/x/history/',
    '/x/history/y',
    '/x/History',
    '/x/history%00',
    '\\x',
    '/%',
    '/%f',
    '/%ff',
    '/%c0%af',
    '/%ed%a0%80',
    '/%u0041',
  ])('is returned for a path that ends in %s', async tail => {
    const head = [`GET ${root}${tail} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${owner.key}`]
    const answers = await converse(service.url, [...head, 'Connection: close', '', ''].join('\r\n'))
    expect(answers).toHaveLength(1)
    expectClientError(answers[0], 404)
  })
})

describe('ids › 400', () => {
  it.each(notUuids)('rejects a create and a list whose site_id has %s', async (_what, make) => {
    const answer = await owner.post({ site_id: make(owner.siteId) })
    recordCount.add(answer)
    expectClientError(answer, 400)
    expectClientError(await owner.list({ site_id: make(owner.siteId) }), 400)
  })
})

describe('ids › 200', () => {
  it.each(others)('returns an empty list for a site_id with %s', async (_what, id) => {
    expect((await owner.list({ site_id: id })).body).toEqual({ data: [], limit: 50, next_cursor: null })
  })

  it.each<[what: string, make: (id: string) => string]>([
    ['in capitals', id => id.toUpperCase()],
    ['in both cases', id => id.replace(/[a-f]/, letter => letter.toUpperCase())],
    ['percent-encoded', id => [...id].map(digit => `%${digit.charCodeAt(0).toString(16)}`).join('')],
    ['with its hyphens encoded', id => id.replaceAll('-', '%2d')],
  ])('accepts an id %s as the same UUID, in a path and in a query', async (_how, make) => {
    expect((await owner.get(make(record.id))).body).toEqual(record)
    expect((await owner.list(`site_id=${make(owner.siteId)}`)).body.data).toEqual([record])
  })
})
