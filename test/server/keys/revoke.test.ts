import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { newId } from '../../../server/ids.ts'
import { type Signed, type TestAccount, type TestNode, useService } from '../../support/service.ts'
import { instant } from '../consents/records.ts'
import { visible } from '../visible.ts'
import { makeKey, path } from './keys.ts'

const service = useService()
const root = '/api/v1/consents'

let account: TestAccount
let session: Signed
let other: TestNode

beforeAll(async () => {
  account = await service.newAccount()
  session = await service.signIn(account)
  other = await service.addNode()
})

function revoke(id: string, headers: Record<string, string> = session) {
  return service.call('DELETE', `${path}/${id}`, { headers })
}

describe('DELETE /api/v1/keys/:id › 200', () => {
  it('returns the revoked key without its secret', async () => {
    const { key: _text, ...made } = await makeKey(service, session, { name: 'to end', scopes: ['read'] })
    const before = Date.now()
    const answer = await revoke(made.id)
    expect([answer.status, answer.body]).toEqual([200, { ...made, revoked_at: expect.stringMatching(instant) }])
    expect(Date.parse(answer.body.revoked_at)).toBeGreaterThanOrEqual(before)
  })

  it('revokes the key on this node immediately and on another node within a second, even if cached', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { key, id } = await makeKey(service, session)
      const nodes = [service, other]
      for (const node of nodes) expect((await node.call('GET', root, { key })).status).toBe(200)
      await revoke(id)
      const revoked = performance.now()
      expect((await service.call('GET', root, { key })).status).toBe(401)
      while ((await other.call('GET', root, { key })).status === 200) {
        expect(performance.now() - revoked).toBeLessThan(1500)
        await delay(10)
      }
      expect((await service.call('GET', root, { key })).status).toBe(401)
    }
  })

  it('does not change the account’s other keys', async () => {
    const [one, two] = [await makeKey(service, session), await makeKey(service, session)]
    await revoke(one.id)
    expect((await service.call('GET', root, { key: two.key })).status).toBe(200)
    expect((await service.call('GET', root, { key: account.key })).status).toBe(200)
  })
})

describe('DELETE /api/v1/keys/:id › 404', () => {
  it('is returned the second time, without changing the time of revocation', async () => {
    const { id } = await makeKey(service, session)
    const { body } = await revoke(id)
    const answers = [id, newId(), 'no-uuid', account.siteId, 'x'.repeat(500)].map(one => revoke(one))
    const [first, ...others] = (await Promise.all(answers)).map(visible)
    expect(first?.status).toBe(404)
    for (const answer of others) expect(answer).toEqual(first)
    const { body: keys } = await service.call('GET', path, { headers: session })
    expect(keys.data.find((key: { id: string }) => key.id === id).revoked_at).toBe(body.revoked_at)
  })

  it('is returned to all but one of several concurrent calls', async () => {
    const { id } = await makeKey(service, session)
    const answers = await Promise.all(Array.from({ length: 10 }, () => revoke(id)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(404)])
  })
})
