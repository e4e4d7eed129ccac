import { describe, expect, it } from 'vitest'
import { coverAccount } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { roles } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { accountRows, endpoints, newHoldings, readerSession, requestFor, sessionOf } from '../endpoints.ts'

const service = useService()

/** Every route that a session reaches: reads first, then changes, signing out last, because it ends the session. */
const turnOf = ({ route, endpoint }: (typeof endpoints)[number]) => {
  if (route === 'session.remove') return 3
  return endpoint.method === 'GET' ? 0 : endpoint.scope === 'erase' ? 2 : 1
}
const routes = endpoints
  .filter(({ endpoint }) => endpoint.roles !== undefined)
  .sort((one, other) => turnOf(one) - turnOf(other))

it('roles › of each route are these', () => {
  const byRoles = new Map<string, string[]>()
  for (const { route, endpoint } of routes) {
    const name = endpoint.roles?.join(' ') ?? ''
    byRoles.set(name, [...(byRoles.get(name) ?? []), route].sort())
  }
  expect(
    endpoints.filter(({ endpoint: { access, roles } }) => /account|session/.test(access) !== (roles !== undefined)),
  ).toEqual([])
  expect(Object.fromEntries(byRoles)).toEqual({
    owner: [
      ...['audit.reads', 'keys.create', 'keys.revoke', 'sites.create', 'sites.rotateToken', 'sites.update'],
      ...['webhooks.create', 'webhooks.remove', 'webhooks.rewind', 'webhooks.rotateSecret', 'webhooks.test'],
      'webhooks.update',
    ],
    'owner operator': [
      'consents.create',
      'consents.createBatch',
      'consents.remove',
      'consents.restore',
      'consents.update',
      'documents.keep',
      'holds.add',
      'holds.remove',
      'log.addCheckpoint',
      'requests.create',
      'requests.update',
      'subjects.erase',
      'subjects.purge',
      'subjects.withdraw',
    ],
    'owner publisher': ['notices.publish', 'notices.put', 'notices.putText', 'notices.remove', 'notices.removeText'],
    'owner operator reader': [
      'audit.list',
      'consents.evidence',
      'consents.get',
      'consents.history',
      'consents.list',
      'consents.receipt',
      'consents.sealedEvidence',
      'documents.hmacs',
      'documents.list',
      'events.list',
      'holds.list',
      'keys.list',
      'notices.subjects',
      'requests.get',
      'requests.list',
      'stats.count',
      'subjects.certifyPurge',
      'subjects.check',
      'subjects.checkMany',
      'subjects.nearMatches',
      'subjects.sealed',
      'usage.get',
      'webhooks.get',
      'webhooks.list',
    ],
    'owner operator publisher reader': [
      'caller.get',
      'log.checkpoint',
      'log.consistency',
      'log.inclusion',
      'log.timestamp',
      'log.tlogCheckpoint',
      'log.tlogProof',
      'notices.get',
      'notices.getText',
      'notices.list',
      'session.get',
      'session.remove',
      'sites.list',
      'stats.get',
    ],
  })
})

describe.each(roles)('roles › %s', role => {
  it('may call exactly its routes, and changes nothing through the others', async () => {
    const own = await newHoldings(service)
    const session = await sessionOf(service, own, role)
    const log = { sql: service.sql, signer: await openSigner(service.sql, null) }
    for await (const _ of coverAccount(log, own.accountId)); // so that a checkpoint on demand finds no new entry
    const ask = async (of: (typeof endpoints)[number]) => {
      const [method, path, options] = requestFor(of, own)
      const isNamed = of.resource === 'sites' && 'name' in Object(options.body)
      const body = isNamed ? { ...Object(options.body), allow_duplicate: true } : options.body
      const answer = await service.call(method, path, { body, headers: session })
      return [of.route, answer.status, answer.body?.reason ?? null]
    }
    const isAllowed = ({ endpoint }: (typeof endpoints)[number]) => endpoint.roles?.includes(role) === true
    const before = await accountRows(service.sql, own)
    for (const of of routes.filter(one => !isAllowed(one)))
      expect(await ask(of)).toEqual([of.route, 403, 'missing_role'])
    expect(await accountRows(service.sql, own)).toEqual(before)
    for (const of of routes.filter(isAllowed))
      expect((await ask(of)).slice(0, 2)).toEqual([of.route, of.endpoint.status])
  })
})

describe('session of a reader', () => {
  it('sees the same data as an owner', async () => {
    const own = await newHoldings(service)
    const [reader, owner] = [await readerSession(service, own), await service.signIn(own)]
    const isOwn = (
      route: string, // or names its time
    ) => ['session.get', 'caller.get', 'consents.receipt', 'consents.evidence', 'subjects.check'].includes(route)
    const isShared = ({ route, endpoint }: (typeof endpoints)[number]) =>
      endpoint.method === 'GET' && endpoint.roles?.includes('reader') && !isOwn(route)
    for (const of of routes.filter(isShared)) {
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
    const message = 'This requires a user with the role owner or operator, not reader.'
    for (const { status, body } of answers)
      expect([status, body]).toEqual([403, { error: 'forbidden', message, reason: 'missing_role' }])
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
