import { beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { healthyState } from '../../../server/health/monitor.ts'
import { Quota } from '../../../server/quota/quota.ts'
import { freePort } from '../../support/postgres.ts'
import { type ServiceResponse, type TestAccount, type TestNode, useService } from '../../support/service.ts'

const service = useService()
const root = '/api/v1/consents'
const hourMs = 60 * 60 * 1000
let account: TestAccount
let id: string

beforeAll(async () => {
  account = await service.newAccount({ monthlyQuota: 1000 })
  const { body } = await service.call('POST', root, { key: account.key, body: { site_id: account.siteId } })
  id = body.id
})

/** Every request that writes, but the sign-in. */
const writes: ((node: TestNode) => Promise<ServiceResponse>)[] = [
  node => node.call('POST', root, { key: account.key, body: { site_id: account.siteId } }),
  node => node.call('POST', `${root}/batch`, { key: account.key, body: { records: [] } }),
  node => node.call('PUT', `${root}/${id}`, { key: account.key, body: { accepted: true } }),
  node => node.call('DELETE', `${root}/${id}`, { key: account.key }),
  node => node.call('POST', '/api/v1/subjects/erase', { key: account.key, body: { subject_id: 'x' } }),
  node => node.call('POST', '/api/v1/subjects/purge', { key: account.key, body: { ids: [id] } }),
  node => node.call('POST', '/api/v1/public/consent', { headers: { 'x-site-token': account.siteToken } }),
  async node => node.call('POST', '/api/v1/keys', { headers: await signIn(node), body: { name: 'x' } }),
]

const reads = [root, `${root}/${'ID'}`, `${root}/${'ID'}/history`, '/api/v1/usage']
const read = (node: TestNode, path: string) => node.call('GET', path.replace('ID', id), { key: account.key })

/** Requests of a method that writes, which write nothing. */
const purged = (node: TestNode) =>
  node.call('POST', '/api/v1/subjects/purged', { key: account.key, body: { ids: [id] } })
const dryRun = (node: TestNode) =>
  node.call('POST', '/api/v1/subjects/erase', { key: account.key, body: { subject_id: 'x', dry_run: true } })

async function signIn({ url }: TestNode) {
  return { ...(await service.signIn(account)), origin: url }
}

function expectReadOnly(answer: ServiceResponse, reason: string): void {
  const message = `The service is read-only at the moment: ${reason}.`
  expect([answer.status, answer.body]).toEqual([503, { error: 'read_only', message }])
  expect(answer.headers['retry-after']).toBe('1')
}

describe('health › a node with a read-only database', () => {
  const reason = 'the database is read-only'
  let node: TestNode
  beforeAll(async () => {
    const state = { ...healthyState, databaseProblem: () => reason }
    node = await service.addNode({ state, quota: new Quota(service.sql) })
  })

  it('rejects every write immediately, without taking a quota unit', async () => {
    for (const send of writes) expectReadOnly(await send(node), reason)
    await node.quota.settle()
    const [row] = await service.sql`select used::int from usage where account_id = ${account.accountId}`
    expect(row).toEqual({ used: 1 })
  })

  it('serves reads', async () => {
    for (const path of [...reads, `${root}/ID/receipt`]) expect((await read(node, path)).status).toBe(200)
    for (const send of [purged, dryRun]) expect((await send(node)).status).toBe(200)
  })

  it('is ready but not writable, and says why', async () => {
    const ready = await node.call('GET', '/ready')
    expect([ready.status, ready.body]).toEqual([200, { status: 'read-only', reason }])
    expectReadOnly(await node.call('GET', '/writable'), reason)
    expect((await node.call('GET', '/live')).body).toEqual({ status: 'ok' })
  })

  it('still returns 401 before 503, and 404 for an unknown route', async () => {
    const body = { site_id: account.siteId }
    expect((await node.call('POST', root, { body })).status).toBe(401)
    expect((await node.call('POST', '/api/v1/nothing', { key: account.key, body })).status).toBe(404)
  })
})

describe('health › a node with a wrong clock', () => {
  const reason = 'its clock is 7200 s behind that of the database'
  let node: TestNode
  beforeAll(async () => {
    const now = () => new Date(Date.now() + 2 * hourMs)
    const state = { ...healthyState, now, clockProblem: () => reason }
    node = await service.addNode({ state, quota: new Quota(service.sql, { now }) })
  })

  it('rejects every write', async () => {
    for (const send of writes) expectReadOnly(await send(node), reason)
  })

  it('rejects sign-ins, and signs nothing that states the time', async () => {
    const body = { email: account.email, password: 'correct horse battery' }
    expectReadOnly(await node.call('POST', '/api/v1/session', { body, headers: { origin: node.url } }), reason)
    expectReadOnly(await read(node, `${root}/ID/receipt`), reason)
    expectReadOnly(await purged(node), reason)
  })

  it('serves reads', async () => {
    for (const path of reads) expect((await read(node, path)).status).toBe(200)
    expect((await dryRun(node)).status).toBe(200)
  })

  it('checks the expiry of a key against the database clock', async () => {
    const own = await service.newAccount()
    const expiresAt = new Date(Date.now() + hourMs)
    await service.sql`update api_keys set expires_at = ${expiresAt} where account_id = ${own.accountId}`
    expect((await node.call('GET', root, { key: own.key })).status).toBe(401)
    expect((await service.call('GET', root, { key: own.key })).status).toBe(200)
  })
})

describe('health › a healthy node', () => {
  it('is ready and writable', async () => {
    expect((await service.call('GET', '/ready')).text).toBe('{"status":"ok"}')
    expect((await service.call('GET', '/writable')).text).toBe('{"status":"ok"}')
  })
})

it('health › a node without a database is not ready', async () => {
  const sql = connect({ target: { url: `postgres://nobody@127.0.0.1:${await freePort()}/none` }, max: 1 })
  const node = await service.addNode({ sql, state: { ...healthyState, databaseProblem: () => 'x' } })
  for (const path of ['/ready', '/writable']) {
    const answer = await node.call('GET', path)
    expect([answer.status, answer.body.error]).toEqual([503, 'unavailable'])
  }
  await sql.end()
})
