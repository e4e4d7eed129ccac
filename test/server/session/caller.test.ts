import { expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { makeKey } from '../keys/keys.ts'

const service = useService()
const path = '/api/v1/caller'

it('GET /api/v1/caller › 200 › lists the scopes of the key', async () => {
  const account = await service.newAccount()
  const { key } = await makeKey(service, await service.signIn(account), { scopes: ['import', 'read'] })
  const { body } = await service.call('GET', path, { key })
  expect(body.scopes.toSorted()).toEqual(['import', 'read'])
})

it('GET /api/v1/caller › 200 › returns the account and the key or user, even when the quota is used up', async () => {
  const [one, other] = [await service.newAccount({ monthlyQuota: 1 }), await service.newAccount()]
  for (const { key, keyId, accountId } of [one, other, one])
    expect(await service.call('GET', path, { key })).toMatchObject({
      status: 200,
      body: { account_id: accountId, kind: 'api_key', id: keyId, role: null },
    })
  expect((await service.call('GET', '/api/v1/consents', { key: one.key })).status).toBe(429)
  const { body } = await service.call('GET', path, { headers: await service.signIn(one) })
  expect(body).toEqual({ account_id: one.accountId, kind: 'user', id: one.userId, role: 'owner', scopes: null })
})
