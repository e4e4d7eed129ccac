import { pino } from 'pino'
import { expect, it, vi } from 'vitest'
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
  expect(body).toEqual({
    account_id: one.accountId,
    kind: 'user',
    id: one.userId,
    role: 'owner',
    site_ids: null,
    scopes: null,
  })
})

it('log › a request’s line has the id of its API key, and of no session’s user', async () => {
  const lines: string[] = []
  const node = await service.addNode({ logger: pino({}, { write: line => void lines.push(line) }) })
  const account = await service.newAccount()
  await node.call('GET', path, { key: account.key })
  await node.call('GET', path, { headers: await service.signIn(account) })
  await vi.waitFor(() => expect(lines).toHaveLength(2))
  const said = lines.map(line => JSON.parse(line))
  expect(said).toMatchObject([{ caller: 'api_key', api_key_id: account.keyId }, { caller: 'user' }])
  expect(said[1]).not.toHaveProperty('api_key_id')
  for (const line of lines) expect(line).not.toContain(account.key.slice(3, 30))
})
