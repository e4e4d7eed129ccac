import { afterEach, describe, expect, it, vi } from 'vitest'
import { monthOf } from '../../../server/quota/quota.ts'
import { type ServiceResponse, type TestAccount, useService } from '../../support/service.ts'

const service = useService()
const root = '/api/v1/consents'
const unknownId = '01890000-0000-7000-8000-000000000000'
const quotaHeaders = ['x-quota-limit', 'x-quota-remaining', 'x-quota-reset', 'retry-after']

afterEach(() => void vi.useRealTimers())

describe('a unit of the quota', () => {
  it.each([
    ['200', 'GET', root, undefined, 200],
    ['201', 'POST', root, '{"site_id":"SITE"}', 201],
    ['400 for a query', 'GET', `${root}?limit=0`, undefined, 400],
    ['400 for a body', 'POST', root, '{"acepted":true}', 400],
    ['400 for no JSON', 'POST', root, '{', 400],
    ['404 for a record', 'GET', `${root}/${unknownId}`, undefined, 404],
    ['413', 'POST', root, ' '.repeat(140_000), 413],
  ])('is taken by a request that ends in %s', async (_name, method, path, body, status) => {
    const account = await service.newAccount({ monthlyQuota: 10 })
    const answer = await service.call(method, path, {
      key: account.key,
      body: body?.replace('SITE', account.siteId),
    })
    expect(answer.status).toBe(status)
    expect(answer.headers['x-quota-remaining']).toBe('9')
    expect(await used(account)).toBe(1)
  })

  it.each([
    ['401', 'GET', root, 401, 'Bearer sk-nonsense'],
    ['404 for an unknown route', 'GET', '/nope', 404],
    ['404 for a malformed URL', 'GET', '/%zz', 404],
    ['405', 'PATCH', root, 405],
    ['200 without a credential', 'GET', '/live', 200],
  ])('is not taken by a request that ends in %s', async (_name, method, path, status, authorization?: string) => {
    const account = await service.newAccount({ monthlyQuota: 10 })
    const headers = { authorization: authorization ?? `Bearer ${account.key}` }
    const answer = await service.call(method, path, { headers })
    expect(answer.status).toBe(status)
    expect(await used(account)).toBe(0)
  })

  it('is not spent by a request that exceeds the quota', async () => {
    const account = await service.newAccount({ monthlyQuota: 1 })
    const answers = [await list(account), await list(account), await list(account)]
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 429])
    expect(await used(account)).toBe(1)
  })

  it('is refunded when the request fails in the service', async () => {
    const account = await service.newAccount({ monthlyQuota: 10 })
    await list(account)
    const failed = await withoutConsents(() => list(account))
    expect([failed.status, failed.body.error]).toEqual([500, 'internal_error'])
    await vi.waitFor(async () => expect(await used(account)).toBe(1), { timeout: 5000 })
    expect((await list(account)).headers['x-quota-remaining']).toBe('8')
  })
})

describe('the headers', () => {
  it('state the limit, the remaining units and when the next month begins', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-02-03T04:05:06Z') })
    const answer = await list(await service.newAccount({ monthlyQuota: 3 }))
    expect(pick(answer)).toEqual(['3', '2', String(Date.UTC(2026, 2) / 1000), undefined])
  })

  it('include retry-after in a 429', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-12-31T23:59:00.5Z') })
    const answer = await list(await service.newAccount({ monthlyQuota: 0 }))
    expect([answer.status, answer.body.error]).toEqual([429, 'quota_exceeded'])
    expect(pick(answer)).toEqual(['0', '0', String(Date.UTC(2027, 0) / 1000), '60'])
  })

  it('are absent without a limit', async () => {
    expect(pick(await list(await service.newAccount()))).toEqual([undefined, undefined, undefined, undefined])
  })
})

describe('the limit', () => {
  it('admits exactly as many concurrent requests, and stores as many records', async () => {
    const account = await service.newAccount({ monthlyQuota: 500 })
    const { key, siteId, accountId } = account
    let left = 640
    const statuses: number[] = []
    const creator = async () => {
      while (left-- > 0) {
        const { status } = await service.call('POST', root, { key, body: { site_id: siteId } })
        statuses.push(status)
      }
    }
    await Promise.all(Array.from({ length: 64 }, creator))
    expect(statuses.filter(status => status === 201)).toHaveLength(500)
    expect(statuses.filter(status => status === 429)).toHaveLength(140)
    const [row] = await service.sql`select count(*)::int as count from consents where account_id = ${accountId}`
    expect(row?.['count']).toBe(500)
    expect(await used(account)).toBe(500)
  })

  it('applies to the calendar month in UTC, not to the months before and after', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-01-31T23:59:59.999Z') })
    const account = await service.newAccount({ monthlyQuota: 1 })
    const { sql } = service
    for (const month of ['2025-12-01', '2026-03-01', '2025-01-01']) {
      await sql`insert into usage (account_id, month, used) values (${account.accountId}, ${month}::date, 99)`
    }
    expect([(await list(account)).status, (await list(account)).status]).toEqual([200, 429])
    vi.setSystemTime(new Date('2026-02-01T00:00:00Z'))
    expect([(await list(account)).status, (await list(account)).status]).toEqual([200, 429])
  })
})

function list({ key }: TestAccount): Promise<ServiceResponse> {
  return service.call('GET', root, { key })
}

function pick({ headers }: ServiceResponse) {
  return quotaHeaders.map(name => headers[name])
}

async function used({ accountId }: TestAccount): Promise<number> {
  const month = monthOf(new Date())
  const [row] = await service.sql<{ used: number }[]>`
    select used::int as used from usage where account_id = ${accountId} and month = ${month}::date`
  return row?.used ?? 0
}

async function withoutConsents<T>(work: () => Promise<T>): Promise<T> {
  await service.sql`alter table consents rename to consents_away`
  try {
    return await work()
  } finally {
    await service.sql`alter table consents_away rename to consents`
  }
}
