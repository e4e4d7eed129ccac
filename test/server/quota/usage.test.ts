import { afterEach, describe, expect, it, vi } from 'vitest'
import { Quota } from '../../../server/quota/quota.ts'
import { type TestAccount, useService } from '../../support/service.ts'

const service = useService()
const path = '/api/v1/usage'

afterEach(() => void vi.useRealTimers())

async function usage(account: TestAccount) {
  const answer = await service.call('GET', path, { headers: await service.signIn(account) })
  expect(answer.status).toBe(200)
  return answer.body
}

describe('GET /api/v1/usage › 200', () => {
  it('returns the usage to a session without spending a unit', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-02-03T04:05:06Z') })
    const account = await service.newAccount({ monthlyQuota: 10 })
    const whole = { month: '2026-02', limit: 10, resets_at: '2026-03-01T00:00:00.000Z' }
    for (const used of [0, 0]) expect(await usage(account)).toEqual({ ...whole, used, remaining: 10 - used })
    for (const used of [1, 2, 3]) {
      await service.call('GET', '/api/v1/consents', { key: account.key })
      expect(await usage(account)).toEqual({ ...whole, used, remaining: 10 - used })
    }
  })

  it('returns the usage to an API key without spending a unit, and agrees with the headers', async () => {
    const { key } = await service.newAccount({ monthlyQuota: 10 })
    for (const used of [1, 2, 3, 4]) {
      await service.call('GET', '/api/v1/consents', { key })
      await service.call('GET', path, { key })
      const { body, headers } = await service.call('GET', path, { key })
      expect([body.used, body.remaining]).toEqual([used, 10 - used])
      expect(headers['x-quota-remaining']).toBe(String(body.remaining))
      expect(headers['x-quota-reset']).toBe(String(Date.parse(body.resets_at) / 1000))
    }
  })

  it('counts requests without a limit, with remaining null', async () => {
    const account = await service.newAccount()
    for (let index = 0; index < 5; index += 1) {
      await service.call('GET', '/api/v1/consents', { key: account.key })
    }
    expect(await usage(account)).toMatchObject({ used: 5, limit: null, remaining: null })
  })

  it('does not count unspent units that this node holds', async () => {
    const account = await service.newAccount({ monthlyQuota: 6400 })
    for (let index = 1; index <= 20; index += 1) {
      await service.call('GET', '/api/v1/consents', { key: account.key })
      expect((await usage(account)).used).toBe(index)
    }
    expect(await held(account)).toBeGreaterThan(0)
  })

  it('counts units that another node holds until they are returned', async () => {
    const account = await service.newAccount({ monthlyQuota: 6400 })
    const node = new Quota(service.sql)
    for (let index = 0; index < 20; index += 1) await node.spend(account.accountId)
    const { used } = await usage(account)
    expect(used).toBeGreaterThan(20)
    await node.settle()
    expect((await usage(account)).used).toBe(20)
  })

  it.each([0, 1])('returns the usage to an API key when a quota of %i is used up', async monthlyQuota => {
    const { key } = await service.newAccount({ monthlyQuota })
    const statuses = []
    for (let index = 0; index <= monthlyQuota; index += 1)
      statuses.push((await service.call('GET', '/api/v1/consents', { key })).status)
    expect(statuses.at(-1)).toBe(429)
    const answer = await service.call('GET', path, { key })
    expect([answer.status, answer.headers['x-quota-remaining']]).toEqual([200, '0'])
    expect(answer.body).toMatchObject({ used: monthlyQuota, limit: monthlyQuota, remaining: 0 })
  })

  it('never returns a negative remaining', async () => {
    const account = await service.newAccount({ monthlyQuota: 10 })
    for (let index = 0; index < 3; index += 1) {
      await service.call('GET', '/api/v1/consents', { key: account.key })
    }
    await service.sql`update accounts set monthly_quota = 1 where account_id = ${account.accountId}`
    expect(await usage(account)).toMatchObject({ used: 3, limit: 1, remaining: 0 })
  })

  it('covers the current month in UTC: a new month starts at zero, and December is followed by January', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-12-31T23:59:59.000Z') })
    const account = await service.newAccount({ monthlyQuota: 10 })
    await service.call('GET', '/api/v1/consents', { key: account.key })
    expect(await usage(account)).toMatchObject({
      month: '2026-12',
      used: 1,
      resets_at: '2027-01-01T00:00:00.000Z',
    })
    vi.setSystemTime(new Date('2027-01-01T00:00:00.000Z'))
    expect(await usage(account)).toMatchObject({ month: '2027-01', used: 0, remaining: 10 })
  })
})

async function held({ accountId }: TestAccount): Promise<number> {
  const [row] = await service.sql<{ held: number }[]>`select held::int from usage where account_id = ${accountId}`
  return row?.held ?? 0
}
