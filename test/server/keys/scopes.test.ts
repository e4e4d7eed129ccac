import { describe, expect, it } from 'vitest'
import { type Endpoint, scopes } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { endpoints, newHoldings, requestFor } from '../endpoints.ts'
import { makeKey } from './keys.ts'

const service = useService()
const scoped = endpoints.filter(({ endpoint }) => endpoint.access === 'account')
const sessionOnly = endpoints.filter(({ endpoint }) => endpoint.access === 'session')

/** Every set of the default scopes, and the one beside them alone and with each other. */
const sets = [1, 2, 3, 4, 5, 6, 7, 8, 15].map(bits => {
  const allowed = scopes.filter((_, index) => bits & (1 << index))
  return { name: allowed.join(', '), allowed }
})

function scopesOf({ scope }: Endpoint): string {
  return [scope ?? []].flat().join(' or ')
}

it('scopes › are read for a GET and write for a change, with these exceptions', () => {
  const others = scoped.filter(({ endpoint }) => scopesOf(endpoint) !== (endpoint.method === 'GET' ? 'read' : 'write'))
  expect(others.map(({ route, endpoint }) => `${route} ${scopesOf(endpoint)}`)).toEqual([
    'consents.remove erase',
    'consents.sealedEvidence read',
    'consents.createBatch write or import',
    'consents.restore erase',
    'sites.list read or notices',
    'notices.list read or notices',
    'notices.get read or notices',
    'notices.put notices',
    'notices.remove notices',
    'notices.getText read or notices',
    'notices.putText notices',
    'notices.removeText notices',
    'notices.publish notices',
    'subjects.erase erase',
    'subjects.certifyPurge read',
    'subjects.purge erase',
    'subjects.nearMatches read',
    'subjects.sealed read or erase',
    'subjects.checkMany read',
    'documents.keep erase or write',
    'documents.list erase or write',
    'documents.hmacs erase or write',
    'requests.create erase',
    'requests.list erase',
    'requests.get erase',
    'requests.update erase',
    'holds.list erase',
    'holds.add erase',
    'holds.remove erase',
    ...['list', 'get', 'create', 'update', 'remove', 'rotateSecret', 'test', 'rewind'].map(
      name => `webhooks.${name} webhooks`,
    ),
    'log.addCheckpoint read',
  ])
})

it('scopes › open every route to a key, with these exceptions', () => {
  const others = endpoints.filter(({ endpoint }) => endpoint.access !== 'account')
  expect(others.map(({ route, endpoint }) => `${route} ${endpoint.access}`)).toEqual([
    'banner.create site_token',
    'banner.klaro site_token',
    'session.create anyone',
    'session.get session',
    'session.remove session',
    'keys.list session',
    'keys.create session',
    'keys.revoke session',
    'sites.create session',
    'sites.update session',
    'sites.rotateToken session',
    'audit.reads session',
    'signingKeys.list anyone',
    'health.live anyone',
    'health.ready anyone',
    'health.writable anyone',
    'description.get anyone',
    'description.page anyone',
  ])
})

describe.each(sets)('scopes › key with $name', ({ allowed }) => {
  it('is accepted only by the routes of these scopes, and takes a unit except on free ones', async () => {
    const own = await newHoldings(service)
    await service.sql`delete from usage where account_id = ${own.accountId}`
    await service.sql`update accounts set monthly_quota = 100 where account_id = ${own.accountId}`
    const { key } = await makeKey(service, await service.signIn(own), { scopes: allowed })
    const reads = scoped.filter(({ endpoint }) => endpoint.method === 'GET') // first, while a checkpoint has the record
    const removal = scoped.filter(({ endpoint }) => endpoint.scope === 'erase' && endpoint.method !== 'GET')
    let counted = 0
    const others = scoped.filter(one => !reads.includes(one) && !removal.includes(one))
    for (const of of [...reads, ...others, ...removal]) {
      const [method, path, options] = requestFor(of, own)
      const answer = await service.call(method, path, { ...options, key })
      const isAllowed = allowed.some(scope => [of.endpoint.scope].flat().includes(scope))
      const isFree = of.endpoint.unit === 'free'
      const tellsQuota = !isFree || (isAllowed && of.route === 'usage.get')
      counted += isFree ? 0 : 1
      expect([of.route, answer.status, answer.headers['x-quota-remaining']]).toEqual([
        of.route,
        isAllowed ? of.endpoint.status : 403,
        tellsQuota ? String(100 - counted) : undefined,
      ])
      if (!isAllowed) {
        expect(answer.body).toEqual({
          error: 'forbidden',
          message: `The API key lacks the scope ${scopesOf(of.endpoint)}.`,
          reason: 'missing_scope',
        })
      }
    }
    await service.quota.settle()
    const [row] = await service.sql`select used::int, held::int from usage where account_id = ${own.accountId}`
    expect(row).toEqual({ used: counted, held: 0 })
  })
})

describe('scopes › route that needs a session', () => {
  it.each(sessionOnly)('$route rejects an API key, takes a unit and changes nothing', async of => {
    const own = await newHoldings(service)
    await service.sql`delete from usage where account_id = ${own.accountId}`
    await service.sql`update accounts set monthly_quota = 2 where account_id = ${own.accountId}`
    const { key } = await makeKey(service, await service.signIn(own))
    const [method, path, options] = requestFor(of, own)
    const before = await rows(own.accountId)
    const answers = [1, 2, 3].map(() => service.call(method, path, { ...options, key }))
    const statuses = (await Promise.all(answers))
      .map(({ status, body }) => `${status} ${body.reason ?? body.error}`)
      .sort()
    expect(statuses).toEqual(['403 session_required', '403 session_required', '429 quota_exceeded'])
    expect(await rows(own.accountId)).toEqual(before)
  })

  it('reveals nothing to a key without the scope', async () => {
    const own = await newHoldings(service)
    const { key } = await makeKey(service, await service.signIn(own), { scopes: ['write'] })
    const [there, nowhere] = await Promise.all(
      [own.live, own.siteId].map(id => service.call('GET', `/api/v1/consents/${id}`, { key })),
    )
    expect([there?.status, there?.text]).toEqual([403, nowhere?.text])
  })
})

/** The account's rows, without the day of a key's last use, which is written later. */
async function rows(accountId: string) {
  const { sql } = service
  return await Promise.all([
    sql`select t::text as row from users t where account_id = ${accountId}`,
    sql`select t::text as row from sites t where account_id = ${accountId} order by 1`,
    sql`select t::text as row from site_tokens t where account_id = ${accountId} order by 1`,
    sql`select id, revoked_at from api_keys where account_id = ${accountId} order by 1`,
  ])
}
