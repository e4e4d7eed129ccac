import { describe, expect, it } from 'vitest'
import { coverAccount } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { useService } from '../../support/service.ts'
import { accountRows, endpoints, newHoldings, readerSession, requestFor } from '../endpoints.ts'

const service = useService()

/** Every route that a session reaches; signing out last, because it ends the session. */
const routes = endpoints
  .filter(({ endpoint }) => endpoint.access === 'account' || endpoint.access === 'session')
  .sort((one, other) => Number(one.route === 'session.remove') - Number(other.route === 'session.remove'))

/** Routes that a reader may call although they are not a GET. */
const reads = ['subjects.certifyPurge', 'subjects.nearMatches', 'session.remove']

describe('session of a reader', () => {
  it('reads through every read route, and gets 403 from every other route, which changes nothing', async () => {
    const own = await newHoldings(service)
    const session = await readerSession(service, own)
    const log = { sql: service.sql, signer: await openSigner(service.sql, null) }
    for await (const _ of coverAccount(log, own.accountId)); // so that a checkpoint on demand finds no new entry
    const before = await accountRows(service.sql, own)
    const answers: [string, string][] = []
    for (const of of routes) {
      const [method, path, { body }] = requestFor(of, own)
      if (of.route === 'session.remove') expect(await accountRows(service.sql, own)).toEqual(before)
      const answer = await service.call(method, path, { body, headers: session })
      answers.push([of.route, `${answer.status} ${answer.body?.error ?? ''}`])
    }
    const expected = routes.map(({ route, endpoint: { method, status } }) => [
      route,
      method === 'GET' || reads.includes(route) ? `${status} ` : '403 forbidden',
    ])
    expect(answers).toEqual(expected)
    expect(expected.filter(([, answer]) => answer === '403 forbidden').length).toBeGreaterThan(10)
  })

  it('sees the same data as an owner', async () => {
    const own = await newHoldings(service)
    const [reader, owner] = [await readerSession(service, own), await service.signIn(own)]
    const isOwn = (
      route: string, // or names its time
    ) => ['session.get', 'caller.get', 'consents.receipt', 'consents.evidence', 'subjects.check'].includes(route)
    for (const of of routes.filter(({ route, endpoint }) => endpoint.method === 'GET' && !isOwn(route))) {
      const [method, path] = requestFor(of, own)
      const [seen, all] = [
        await service.call(method, path, { headers: reader }),
        await service.call(method, path, { headers: owner }),
      ]
      expect([of.route, seen.text]).toEqual([of.route, all.text])
    }
  })

  it('is rejected before its body is read, and reveals nothing about other accounts', async () => {
    const [own, other] = [await newHoldings(service), await newHoldings(service)]
    const headers = await readerSession(service, own)
    const answers = await Promise.all(
      [own.live, other.live, own.siteId].flatMap(id => [
        service.call('DELETE', `/api/v1/consents/${id}`, { headers }),
        service.call('PUT', `/api/v1/consents/${id}`, { headers, body: '{' }),
      ]),
    )
    const message = 'This requires an owner of the account; a reader cannot change anything.'
    for (const { status, body } of answers)
      expect([status, body]).toEqual([403, { error: 'forbidden', message, reason: 'owner_required' }])
  })

  it('returns the role of a reader and of an owner, and none for an API key', async () => {
    const own = await newHoldings(service)
    const [reader, owner] = [await readerSession(service, own), await service.signIn(own)]
    const roleOf = async (path: string, options: object) => {
      const { body } = await service.call('GET', path, options)
      return path.endsWith('session') ? body.user.role : body.role
    }
    for (const path of ['/api/v1/session', '/api/v1/caller']) {
      expect(await roleOf(path, { headers: reader })).toBe('reader')
      expect(await roleOf(path, { headers: owner })).toBe('owner')
    }
    expect(await roleOf('/api/v1/caller', { key: own.key })).toBeNull()
  })

  it('is rejected as soon as its user becomes a reader', async () => {
    const own = await newHoldings(service)
    const headers = await service.signIn(own)
    const create = () => service.call('POST', '/api/v1/consents', { headers, body: { site_id: own.siteId } })
    expect((await create()).status).toBe(201)
    await service.sql`update users set role = 'reader' where account_id = ${own.accountId} and id = ${own.userId}`
    expect((await create()).status).toBe(403)
  })
})
