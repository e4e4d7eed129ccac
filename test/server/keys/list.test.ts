import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ApiKey } from '../../../src/contract/index.ts'
import { type Signed, useService } from '../../support/service.ts'
import { makeKey, path } from './keys.ts'

const service = useService()

async function list(headers: Signed): Promise<ApiKey[]> {
  const answer = await service.call('GET', path, { headers })
  expect(answer.status).toBe(200)
  return answer.body.data
}

describe('GET /api/v1/keys › 200', () => {
  it('returns every key of the account, including revoked ones, newest first', async () => {
    const account = await service.newAccount()
    const [session, other] = [await service.signIn(account), await service.signIn(await service.newAccount())]
    const made = [await makeKey(service, session), await makeKey(service, session, { scopes: ['read'] })]
    await makeKey(service, other)
    await service.call('DELETE', `${path}/${made[0]?.id}`, { headers: session })
    const keys = await list(session)
    expect(keys.map(({ id }) => id)).toEqual([made[1]?.id, made[0]?.id, account.keyId])
    expect(keys.map(({ revoked_at }) => revoked_at !== null)).toEqual([false, true, false])
    const { key: _text, ...newest } = made[1] ?? {}
    expect(keys[0]).toEqual(newest)
  })
})

describe('GET /api/v1/keys › last_used_on', () => {
  const today = '2026-11-20'
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: new Date(`${today}T12:00:00Z`) }))
  afterEach(() => void vi.useRealTimers())

  it('returns the UTC day of the last use, whatever the response was', async () => {
    const session = await service.signIn(await service.newAccount())
    const [used, refused, unused] = [
      await makeKey(service, session),
      await makeKey(service, session, { scopes: ['write'] }),
      await makeKey(service, session),
    ]
    await service.call('GET', '/api/v1/consents', { key: used.key })
    await service.call('GET', '/api/v1/consents', { key: refused.key })
    await vi.waitFor(async () => {
      const days = new Map((await list(session)).map(({ id, last_used_on }) => [id, last_used_on]))
      expect([used, refused, unused].map(({ id }) => days.get(id))).toEqual([today, today, null])
    })
  })

  it.each([
    ['yesterday', '2026-11-19', today],
    ['tomorrow, as a node with another clock says', '2026-11-21', '2026-11-21'],
  ])('is never set back when it is %s', async (_name, given, expected) => {
    const account = await service.newAccount()
    await service.sql`update api_keys set last_used_on = ${given}::date where id = ${account.keyId}`
    await service.call('GET', '/api/v1/consents', { key: account.key })
    await delay(100)
    const session = await service.signIn(account)
    await vi.waitFor(async () => expect((await list(session))[0]?.last_used_on).toBe(expected))
  })
})
