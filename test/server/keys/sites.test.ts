import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../server/ids.ts'
import { type ServiceResponse, useService } from '../../support/service.ts'
import { accountRows, endpoints, type Holdings, newHoldings, requestFor } from '../endpoints.ts'
import { makeKey } from './keys.ts'

const service = useService()
const routes = endpoints.filter(({ endpoint }) => endpoint.access === 'account')
type Route = (typeof routes)[number]

const scopes = ['read', 'write', 'erase', 'notices', 'import', 'webhooks']

async function newSite({ accountId, userId }: Holdings, name: string): Promise<string> {
  const headers = await service.signIn({ accountId, userId } as Holdings)
  return (await service.call('POST', '/api/v1/sites', { headers, body: { name } })).body.id
}

async function newKey(own: Holdings, site_ids: readonly string[]): Promise<string> {
  return (await makeKey(service, await service.signIn(own), { scopes, site_ids })).key
}

/** A request that names what the account has; of a checkpoint, one with a record. */
function ask(of: Route, own: Holdings, key: string): Promise<ServiceResponse> {
  const record = of.route === 'log.checkpoint' || of.route === 'log.tlogProof'
  const given = record ? ({ place: 'query', field: 'record_id', value: own.live } as const) : undefined
  const [method, path, options] = requestFor(of, own, given)
  return service.call(method, path, { ...options, key })
}

/** An answer without what is in the question, and without its time. */
function comparable({ status, text }: ServiceResponse, { accountId, live, siteId }: Holdings) {
  const said = [accountId, live, siteId].reduce((all, value) => all.replaceAll(value, '<asked>'), text)
  return [status, said.replace(/"at":"[^"]+"/, '')]
}

describe('key for some sites › records of another site', () => {
  let own: Holdings
  let key: string
  let nobody: Holdings
  beforeAll(async () => {
    own = await newHoldings(service)
    key = await newKey(own, [await newSite(own, 'Blog')])
    nobody = { ...own, accountId: newId(), live: newId(), deleted: newId(), siteId: newId(), cursor: own.cursor }
  })

  it.each(routes)('$route answers like for an unknown one, or is rejected, and changes nothing', async of => {
    const withoutTraces = ['api_keys', 'usage', 'checkpoints', 'log_entries', 'timestamp_tokens', 'subject_reads']
    const before = await accountRows(service.sql, own, withoutTraces)
    const answer = await ask(of, own, key)
    const { siteKeys } = of.endpoint
    if (siteKeys === 'rejected') {
      const message = 'The API key is restricted to some sites, and this is of the whole account.'
      expect([answer.status, answer.body]).toEqual([403, { error: 'forbidden', message, reason: 'site_restricted' }])
    } else if (siteKeys === 'filtered') {
      expect(comparable(answer, own)).toEqual(comparable(await ask(of, nobody, key), nobody))
      if (of.endpoint.method === 'GET' && of.route !== 'notices.subjects')
        expect(comparable(await ask(of, own, own.key), own)).not.toEqual(comparable(answer, own))
      for (const value of [own.deleted, own.userId, own.email]) expect(answer.text).not.toContain(value)
    } else expect(answer.status).toBe(of.endpoint.status)
    expect(await accountRows(service.sql, own, withoutTraces)).toEqual(before)
  })

  it('stays unknown by the place of an entry in the log, and so do the administrators’ entries', async () => {
    const all = await service.sql<{ index: number; record: string }[]>`
      select leaf_index::int as index, consent_id as record from log_entries
      where account_id = ${own.accountId} and leaf_index is not null order by 1`
    expect(all.map(({ record }) => record)).toEqual(expect.arrayContaining([own.accountId, own.live]))
    for (const { index } of all) {
      const path = `/api/v1/log/inclusion?leaf_index=${index}`
      expect((await service.call('GET', path, { key })).status).toBe(404)
      expect((await service.call('GET', path, { key: own.key })).status).toBe(200)
    }
  })
})

it('key for some sites › reads of its sites what a key for every site reads', async () => {
  const own = await newHoldings(service)
  await newSite(own, 'Blog')
  const key = await newKey(own, [own.siteId])
  const differs = ['caller.get', 'sites.list', 'consents.receipt', 'consents.evidence', 'stats.get', 'events.list']
  for (const of of routes.filter(({ endpoint }) => endpoint.method === 'GET')) {
    const { siteKeys, status } = of.endpoint
    if (siteKeys === 'rejected') continue
    const answer = await ask(of, own, key)
    expect([of.route, answer.status]).toEqual([of.route, status])
    if (differs.includes(of.route)) continue
    expect([of.route, comparable(answer, own)]).toEqual([of.route, comparable(await ask(of, own, own.key), own)])
  }
})

describe('key for two of three sites', () => {
  let own: Holdings
  let sites: string[]
  let key: string
  const ids = new Map<string, string[]>()
  beforeAll(async () => {
    own = await newHoldings(service)
    sites = [await newSite(own, 'Shop'), await newSite(own, 'Blog'), await newSite(own, 'Forum')]
    key = await newKey(own, sites.slice(0, 2))
    for (let index = 0; index < 12; index += 1) {
      const site_id = sites[index % 3] ?? ''
      const body = { site_id, subject_id: 'maria', accepted: index % 2 === 0 }
      const { id } = (await service.call('POST', '/api/v1/consents', { key: own.key, body })).body
      ids.set(site_id, [...(ids.get(site_id) ?? []), id])
    }
  })

  const newestFirst = () => [...(ids.get(sites[0] ?? '') ?? []), ...(ids.get(sites[1] ?? '') ?? [])].sort().reverse()

  it.each(['', '&subject_id=maria', '&include_deleted=true'])(
    'lists their records in order, page by page%s',
    async filter => {
      const found: string[] = []
      for (let cursor = ''; ; ) {
        const path = `/api/v1/consents?limit=3${filter}${cursor && `&cursor=${cursor}`}`
        const { body } = await service.call('GET', path, { key })
        found.push(...body.data.map(({ id }: { id: string }) => id))
        if (body.next_cursor === null) break
        cursor = body.next_cursor
      }
      expect(found).toEqual(newestFirst())
      const count = await service.call('GET', `/api/v1/stats/count?${filter.slice(1)}`, { key })
      expect(count.body).toEqual({ count: 8 })
    },
  )

  it('finds with a filter by site only what is of its sites', async () => {
    for (const site of [...sites, own.siteId]) {
      const { body } = await service.call('GET', `/api/v1/consents?site_id=${site}`, { key })
      const expected = sites.indexOf(site) === 0 || sites.indexOf(site) === 1 ? ids.get(site)?.toReversed() : []
      expect(body.data.map(({ id }: { id: string }) => id)).toEqual(expected)
    }
  })

  it('reads in one batch what a key for every site reads beside it', async () => {
    const [foreign = ''] = ids.get(sites[2] ?? '') ?? []
    const read = (with_: string) => service.call('GET', `/api/v1/consents/${foreign}`, { key: with_ })
    const answers = await Promise.all([own.key, key, own.key, key].map(read))
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 404])
  })

  it('creates, changes and deletes records of its sites alone', async () => {
    const create = (site_id: string | undefined) =>
      service.call('POST', '/api/v1/consents', { key, body: { site_id, subject_id: 'paul' } })
    const made = await create(sites[0])
    expect([made.status, (await create(sites[2])).status]).toEqual([201, 404])
    const path = `/api/v1/consents/${made.body.id}`
    expect((await service.call('PUT', path, { key, body: { accepted: true } })).body.accepted).toBe(true)
    expect((await service.call('DELETE', path, { key })).status).toBe(200)
    const rows = sites.map(site_id => ({ site_id, subject_id: 'paul' }))
    const batch = await service.call('POST', '/api/v1/consents/batch', { key, body: { records: rows } })
    expect(batch.body.results.map(({ status }: { status: number }) => status)).toEqual([201, 201, 404])
  })

  it('lists its sites, and counts statistics of one of them', async () => {
    const listed = await service.call('GET', '/api/v1/sites', { key })
    expect(listed.body.data.map(({ id }: { id: string }) => id).toReversed()).toEqual(sites.slice(0, 2))
    const stats = (query: string) => service.call('GET', `/api/v1/stats?exact=true${query}`, { key })
    expect(await stats('')).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect((await stats(`&site_id=${sites[1]}`)).body.total.persons).toBeGreaterThan(0)
    expect((await stats(`&site_id=${sites[2]}`)).body.total).toMatchObject({ records: 0, persons: 0 })
  })
})

describe('POST /api/v1/keys › site_ids', () => {
  it('stores the sites, shows them in the list and to the key, and enters them into the administrators’ log', async () => {
    const own = await newHoldings(service)
    const headers = await service.signIn(own)
    const site_ids = [own.siteId, await newSite(own, 'Blog')]
    const { id, key } = await makeKey(service, headers, { site_ids: site_ids.map(site => site.toUpperCase()) })
    const { data } = (await service.call('GET', '/api/v1/keys', { headers })).body
    expect(data.find((one: { id: string }) => one.id === id)).toMatchObject({ site_ids })
    expect((await service.call('GET', '/api/v1/caller', { key })).body).toMatchObject({ site_ids })
    const entries = await service.call('GET', `/api/v1/audit?target=${id}`, { headers })
    expect(entries.body.data).toMatchObject([{ action: 'key_created', after: { site_ids } }])
  })

  it('rejects a site of another account and an unknown one with the same 404, and creates nothing', async () => {
    const [own, other] = [await newHoldings(service), await newHoldings(service)]
    const headers = await service.signIn(own)
    const before = await accountRows(service.sql, own)
    const create = (site_ids: string[]) =>
      service.call('POST', '/api/v1/keys', { headers, body: { name: 'a', site_ids } })
    const answers = [await create([own.siteId, other.siteId]), await create([own.siteId, newId()])]
    expect(answers.map(({ status, text }) => [status, text])).toEqual(Array(2).fill([404, answers[0]?.text]))
    expect(await accountRows(service.sql, own)).toEqual(before)
  })
})
