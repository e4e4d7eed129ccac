import { beforeAll, describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { newId } from '../../server/ids.ts'
import { consents, type Endpoint } from '../../src/contract/index.ts'
import { type Answer, type TestAccount, useService } from '../support/service.ts'
import { visible } from './alike.ts'

const service = useService()
const root = '/api/v1/consents'

/** What an account has that another may try to reach it by. */
interface Holdings extends TestAccount {
  readonly live: string
  readonly deleted: string
  readonly cursor: string
}

let owner: Holdings
let stranger: Holdings

beforeAll(async () => {
  owner = await settle()
  stranger = await settle()
})

/** Where a request can name something: every such field of every route of the contract, and nothing by hand. */
type Place = 'params' | 'query' | 'body'
const references: readonly (readonly [Place, string])[] = [
  ['params', 'id'],
  ['query', 'site_id'],
  ['query', 'cursor'],
  ['query', 'subject_id'],
  ['query', 'consent_id'],
  ['body', 'site_id'],
]
const matrix = Object.entries(consents as Record<string, Endpoint>).flatMap(([name, endpoint]) =>
  references
    .filter(([place, field]) => field in shape(endpoint[place]))
    .map(([place, field]) => ({ route: `${name} ${place}.${field}`, endpoint, place, field })),
)

it('has every route in the matrix', () => {
  expect(matrix.map(({ route }) => route)).toEqual([
    'create body.site_id',
    'list query.site_id',
    'list query.cursor',
    'list query.subject_id',
    'list query.consent_id',
    'get params.id',
    'update params.id',
    'remove params.id',
    'history params.id',
  ])
})

describe.each(matrix)('$route', ({ endpoint, place, field }) => {
  it('answers for what is somebody else’s exactly as for what nobody has', async () => {
    const before = await holdingsOf(owner)
    const theirs = foreignValues(field)
    const unknown = await Promise.all(unknownValues(field).map(value => send(endpoint, place, field, value)))
    for (const value of theirs) {
      const answer = await send(endpoint, place, field, value)
      expect(visible(answer)).toEqual(visible(unknown[0] as Answer))
      expect(answer.status).toBe(place === 'query' ? (field === 'cursor' ? 400 : 200) : 404)
      expect(answer.text).not.toContain(owner.accountId)
    }
    for (const answer of unknown) expect(visible(answer)).toEqual(visible(unknown[0] as Answer))
    expect(await holdingsOf(owner)).toEqual(before)
  })

  it('answers for the caller’s own, so that the refusals above are about ownership', async () => {
    const own: Record<string, string> = {
      id: stranger.live,
      site_id: stranger.siteId,
      cursor: stranger.cursor,
      subject_id: `subject of ${stranger.accountId}`,
      consent_id: `label of ${stranger.accountId}`,
    }
    const answer = await send(endpoint, place, field, own[field] ?? '')
    expect(answer.status).toBe(endpoint.status)
    if (place === 'query') expect(answer.body.data.length).toBeGreaterThan(0)
    if (endpoint.method === 'DELETE') stranger = await settle()
  })
})

describe('a list', () => {
  it.each(['', '?include_deleted=true', '?limit=100', '?accepted=false'])(
    'with the query "%s" has the caller’s records alone',
    async query => {
      const { body } = await service.call('GET', root + query, { key: stranger.key })
      const sites = new Set(body.data.map((record: { site_id: string }) => record.site_id))
      expect([...sites]).toEqual([stranger.siteId])
    },
  )
})

/** A request as harmless as the route allows, but for one field. */
function send(endpoint: Endpoint, place: Place, field: string, value: string): Promise<Answer> {
  const path = endpoint.path.replace(':id', place === 'params' ? encodeURIComponent(value) : stranger.live)
  const query = place === 'query' ? `?${new URLSearchParams({ [field]: value, limit: '1' })}` : ''
  const needed = 'site_id' in shape(endpoint.body) ? { site_id: stranger.siteId } : { accepted: true }
  const body = endpoint.body && { ...needed, ...(place === 'body' ? { [field]: value } : {}) }
  return service.call(endpoint.method, path + query, { key: stranger.key, body })
}

function foreignValues(field: string): string[] {
  const values: Record<string, string[]> = {
    id: [owner.live, owner.deleted, owner.live.toUpperCase(), owner.siteId, owner.accountId, owner.keyId],
    site_id: [owner.siteId, owner.siteId.toUpperCase(), owner.accountId],
    cursor: [owner.cursor],
    subject_id: [`subject of ${owner.accountId}`],
    consent_id: [`label of ${owner.accountId}`],
  }
  return values[field] ?? []
}

function unknownValues(field: string): string[] {
  if (field === 'id') return [newId(), 'no-uuid', '0', `${newId()}x`, `{${newId()}}`, 'ü', 'x'.repeat(2000)]
  if (field === 'cursor') return ['nonsense', `${stranger.cursor}A`, stranger.cursor.slice(0, -2)]
  return [newId(), '00000000-0000-0000-0000-000000000000']
}

/** All that the database has of an account, in any table. */
async function holdingsOf({ accountId }: TestAccount): Promise<string[]> {
  const { sql } = service
  const tables = ['accounts', 'users', 'sites', 'api_keys', 'usage', 'consents', 'consent_history']
  const rows = await Promise.all(
    tables.map(
      table => sql<{ row: string }[]>`
        select t::text as row from ${sql(table)} t where account_id = ${accountId} order by 1`,
    ),
  )
  expect(rows.every(({ length }) => length > 0)).toBe(true)
  return rows.flat().map(({ row }) => row)
}

/** A new account with two live records, a deleted one and a cursor. */
async function settle(): Promise<Holdings> {
  const account = await service.newAccount()
  const { key, siteId, accountId } = account
  const labels = { subject_id: `subject of ${accountId}`, consent_id: `label of ${accountId}` }
  const ids: string[] = []
  for (let index = 0; index < 3; index += 1) {
    const created = await service.call('POST', root, { key, body: { site_id: siteId, ...labels } })
    ids.push(created.body.id)
  }
  const [live = '', deleted = ''] = ids
  await service.call('DELETE', `${root}/${deleted}`, { key })
  const page = await service.call('GET', `${root}?limit=1`, { key })
  return { ...account, live, deleted, cursor: page.body.next_cursor }
}

function shape(schema: z.ZodType | undefined): object {
  return (schema as { shape?: object } | undefined)?.shape ?? {}
}
