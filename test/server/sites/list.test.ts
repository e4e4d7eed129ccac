import { describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { path } from './sites.ts'

const service = useService()

describe('GET /api/v1/sites › 200', () => {
  it('returns every site of the account, newest first, without tokens', async () => {
    const account = await service.newAccount()
    const [session, other] = [await service.signIn(account), await service.signIn(await service.newAccount())]
    await service.call('POST', path, { headers: other, body: { name: 'theirs' } })
    const made = []
    for (const name of ['one', 'two']) {
      made.push((await service.call('POST', path, { headers: session, body: { name } })).body)
    }
    const { status, body } = await service.call('GET', path, { headers: session })
    const [{ token: _one, ...one }, { token: _two, ...two }] = made
    expect([status, Object.keys(body)]).toEqual([200, ['data']])
    expect(body.data).toEqual([two, one, expect.objectContaining({ id: account.siteId, name: 'a site' })])
  })

  it('returns the same for an API key, even when the quota is used up', async () => {
    const account = await service.newAccount({ monthlyQuota: 0 })
    const headers = await service.signIn(account)
    const [own, byKey] = [
      await service.call('GET', path, { headers }),
      await service.call('GET', path, { key: account.key }),
    ]
    expect([byKey.status, byKey.text]).toEqual([200, own.text])
  })
})
