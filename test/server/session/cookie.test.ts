import { beforeAll, describe, expect, it } from 'vitest'
import { type CallOptions, type Signed, useService } from '../../support/service.ts'
import { accountRows, endpoints, type Holdings, newHoldings, requestFor } from '../endpoints.ts'

const service = useService()
const root = '/api/v1/consents'

let account: Holdings
let session: Signed

beforeAll(async () => {
  account = await newHoldings(service)
  session = await service.signIn(account)
})

/** Every route that a session can call; signing out last, because it ends the session. */
const routes = endpoints
  .filter(({ endpoint }) => endpoint.access === 'account' || endpoint.access === 'session')
  .sort((one, other) => Number(one.route === 'session.remove') - Number(other.route === 'session.remove'))

const unsafe = routes.filter(({ endpoint }) => endpoint.method !== 'GET')

describe('session cookie › without the service’s own origin', () => {
  it.each(unsafe)('$route is rejected and changes nothing', async of => {
    const [method, path, { body }] = requestFor(of, account)
    const before = await accountRows(service.sql, account)
    const { cookie, origin } = session
    const foreign: Record<string, string>[] = [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: '' },
      { origin: `${origin}/` },
      { origin: origin.replace('http', 'https') },
      { origin: origin.replace(/\d+$/, '1') },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { referer: `${origin}/` },
      { 'x-requested-with': 'XMLHttpRequest' },
    ]
    for (const headers of foreign) {
      const answer = await service.call(method, path, { body, headers: { cookie, ...headers } })
      expect([headers, answer.status, answer.body.reason]).toEqual([headers, 403, 'foreign_origin'])
    }
    expect(await accountRows(service.sql, account)).toEqual(before)
  })

  it.each(routes.filter(({ endpoint }) => endpoint.method === 'GET'))('$route succeeds', async of => {
    const [method, path] = requestFor(of, account)
    for (const headers of [{}, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const answer = await service.call(method, path, { headers: { cookie: session.cookie, ...headers } })
      expect(answer.status).toBe(200)
      expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    }
  })
})

describe('session cookie › with the service’s own origin', () => {
  it('is accepted by Sec-Fetch-Site when a browser sends no Origin', async () => {
    const headers = { cookie: session.cookie, 'sec-fetch-site': 'same-origin' }
    const created = await service.call('POST', root, { headers, body: { site_id: account.siteId } })
    expect(created.status).toBe(201)
  })

  it.each(routes)('$route succeeds without using the quota', async of => {
    const own = await newHoldings(service)
    await service.sql`update accounts set monthly_quota = 0 where account_id = ${own.accountId}`
    const [method, path, options] = requestFor(of, own)
    const before = await usageOf(own)
    const answer = await service.call(method, path, { ...options, headers: await service.signIn(own) })
    expect([answer.status, answer.text.slice(0, 200)]).toEqual([of.endpoint.status, answer.text.slice(0, 200)])
    expect(Object.keys(answer.headers).filter(name => name.startsWith('x-quota'))).toEqual([])
    expect(await usageOf(own)).toEqual(before)
  })
})

describe('session cookie › audit trail', () => {
  it('names the user who created, changed and deleted a record', async () => {
    const send = (method: string, path: string, options: CallOptions = {}) =>
      service.call(method, root + path, { ...options, headers: session })
    const { body } = await send('POST', '', { body: { site_id: account.siteId } })
    await send('PUT', `/${body.id}`, { body: { accepted: true } })
    await send('DELETE', `/${body.id}`)
    const history = await send('GET', `/${body.id}/history`)
    const entries: { action: string; changed_by: string; actor_id: string }[] = history.body.data
    expect(entries.map(({ action, changed_by, actor_id }) => [action, changed_by, actor_id])).toEqual([
      ['created', 'user', account.userId],
      ['updated', 'user', account.userId],
      ['deleted', 'user', account.userId],
    ])
  })
})

describe('session cookie › second credential', () => {
  it('is ignored on every route if there is also an Authorization header', async () => {
    for (const of of routes) {
      const [method, path, options] = requestFor(of, account)
      for (const authorization of ['', 'Bearer sk-nonsense', 'Basic eDp5']) {
        const answer = await service.call(method, path, {
          ...options,
          headers: { ...session, authorization },
        })
        expect([of.route, answer.status]).toEqual([of.route, 401])
      }
    }
  })

  it('is not the actor in the audit trail if there is also a valid key', async () => {
    const { key, keyId, siteId } = account
    const { body } = await service.call('POST', root, { key, headers: session, body: { site_id: siteId } })
    const history = await service.call('GET', `${root}/${body.id}/history`, { key })
    expect(history.body.data[0]).toMatchObject({ changed_by: 'api_key', actor_id: keyId })
  })

  it('is used if the second credential is a site token', async () => {
    const headers = { ...session, 'x-site-token': 'st-nonsense' }
    expect((await service.call('GET', root, { headers })).status).toBe(200)
  })
})

function usageOf({ accountId }: Holdings) {
  return service.sql`select used::int, held::int from usage where account_id = ${accountId}`
}
