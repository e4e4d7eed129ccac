import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { listAccounts, setQuota } from '../../../server/accounts/service.ts'
import { newId } from '../../../server/ids.ts'
import { useService } from '../../support/service.ts'

const service = useService()

it('listAccounts › returns each account with its owner, quota and usage', async () => {
  const own = await service.newAccount({ monthlyQuota: 3 })
  const unlimited = await service.newAccount()
  for (const { key } of [own, unlimited]) await service.call('GET', '/api/v1/consents', { key })
  await service.quota.settle()
  const accounts = await listAccounts(service.sql)
  const find = (id: string) => accounts.filter(({ account_id }) => account_id === id)
  const created_at = expect.stringMatching(/Z$/)
  expect([...find(own.accountId), ...find(unlimited.accountId)]).toEqual([
    {
      ...{ account_id: own.accountId, email: own.email, plan: expect.any(String), created_at },
      ...{ monthly_quota: 3, used: 1, remaining: 2 },
    },
    {
      ...{ account_id: unlimited.accountId, email: unlimited.email, plan: expect.any(String), created_at },
      ...{ monthly_quota: null, used: 1, remaining: null },
    },
  ])
  expect(accounts.map(({ account_id }) => account_id).sort()).toEqual(accounts.map(({ account_id }) => account_id))
})

it('setQuota › applies on a running node within two seconds, for a higher, a lower and no limit', async () => {
  const { key, email, accountId } = await service.newAccount({ monthlyQuota: 1 })
  const list = async () => (await service.call('GET', '/api/v1/consents', { key })).status
  expect([await list(), await list()]).toEqual([200, 429])
  expect(await setQuota(service.sql, { account: email.toUpperCase(), monthlyQuota: 1000 })).toMatchObject({
    account_id: accountId,
    monthly_quota: 1000,
  })
  await expect.poll(list, { timeout: 2000, interval: 50 }).toBe(200)
  for (let index = 0; index < 100; index += 1) expect(await list()).toBe(200)
  await setQuota(service.sql, { account: accountId, monthlyQuota: 2 })
  await delay(100)
  await expect.poll(list, { timeout: 2000, interval: 50 }).toBe(429)
  expect(await setQuota(service.sql, { account: accountId, monthlyQuota: null })).toMatchObject({ remaining: null })
  await expect.poll(list, { timeout: 2000, interval: 50 }).toBe(200)
})

it.each([newId(), 'nobody@example.com', 'nonsense'])('setQuota › rejects the unknown account %s', async account => {
  const unknown = setQuota(service.sql, { account, monthlyQuota: 1 })
  await expect(unknown).rejects.toMatchObject({ name: 'OperatorError', code: 'not_found' })
})
