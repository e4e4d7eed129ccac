import { describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'

const service = useService()

async function usedBy(accountId: string): Promise<number> {
  await service.quota.settle()
  const [row] = await service.sql`select used::integer as used from usage where account_id = ${accountId}`
  return row?.['used'] ?? 0
}

const ids = (count: number) => Array.from({ length: count }, () => crypto.randomUUID())

describe('units of the quota', () => {
  it('POST /api/v1/subjects/purged takes one unit per hundred ids, and none if too few are left', async () => {
    const account = await service.newAccount({ monthlyQuota: 12 })
    const certify = (count: number) =>
      service.call('POST', '/api/v1/subjects/purged', { key: account.key, body: { ids: ids(count) } })
    expect((await certify(1000)).status).toBe(200)
    expect(await usedBy(account.accountId)).toBe(10)
    expect((await certify(201)).body.error).toBe('quota_exceeded')
    expect(await usedBy(account.accountId)).toBe(10)
    expect((await certify(200)).status).toBe(200)
    expect(await usedBy(account.accountId)).toBe(12)
  })

  it('GET /api/v1/subjects/check is never rejected because of the quota', async () => {
    const account = await service.newAccount({ monthlyQuota: 1 })
    const check = () =>
      service.call('GET', '/api/v1/subjects/check?subject_id=maria&purpose=marketing', { key: account.key })
    expect([(await check()).status, (await check()).status]).toEqual([200, 200])
    expect((await service.call('GET', '/api/v1/consents', { key: account.key })).status).toBe(429)
    expect(await usedBy(account.accountId)).toBe(1)
  })

  it('POST /api/v1/subjects/check takes one unit per hundred begun as far as units are left, and is never rejected', async () => {
    const account = await service.newAccount({ monthlyQuota: 6 })
    const check = async (count: number) => {
      const body = { subject_ids: ids(count), purpose: 'marketing' }
      const { status } = await service.call('POST', '/api/v1/subjects/check', { key: account.key, body })
      return [status, await usedBy(account.accountId)]
    }
    expect(await check(1)).toEqual([200, 1])
    expect(await check(301)).toEqual([200, 5])
    expect(await check(1000)).toEqual([200, 6])
    expect(await check(200)).toEqual([200, 6])
  })
})
