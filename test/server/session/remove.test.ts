import { beforeAll, describe, expect, it } from 'vitest'
import { type Signed, type TestAccount, type TestNode, useService } from '../../support/service.ts'
import { visible } from '../visible.ts'

const service = useService()
const path = '/api/v1/session'
const password = 'correct horse battery'

let account: TestAccount
let other: TestNode
let proxied: TestNode

beforeAll(async () => {
  account = await service.newAccount({ password })
  other = await service.addNode()
  proxied = await service.addNode({ config: { trustProxy: ['127.0.0.1'] } })
})

/** The statuses of reads by sessions, on both nodes. */
async function statuses(sessions: readonly Signed[]): Promise<number[]> {
  const answers = sessions.flatMap(({ cookie }) =>
    [service, other].flatMap(node =>
      [path, '/api/v1/consents'].map(url => node.call('GET', url, { headers: { cookie } })),
    ),
  )
  return (await Promise.all(answers)).map(({ status }) => status)
}

describe('DELETE /api/v1/session › 204', () => {
  it('returns no body and removes the cookie', async () => {
    const answer = await service.call('DELETE', path, { headers: await service.signIn(account) })
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect(answer.headers['set-cookie']).toBe('consent_session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax')
  })

  it('removes the __Host- cookie by its name', async () => {
    const host = 'consent.example.com'
    const { cookie } = await service.signIn(account)
    const headers = {
      host,
      origin: `https://${host}`,
      'x-forwarded-proto': 'https',
      cookie: `__Host-${cookie}`,
    }
    const answer = await proxied.call('DELETE', path, { headers })
    expect([answer.status, answer.headers['set-cookie']]).toEqual([
      204,
      '__Host-consent_session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax',
    ])
  })

  it("ends only this user's sessions, immediately on every node", async () => {
    const neighbour = await service.newAccount()
    const sessions = [await service.signIn(account), await service.signIn(account)]
    const theirs = await service.signIn(neighbour)
    expect(new Set(await statuses([...sessions, theirs]))).toEqual(new Set([200]))
    await service.call('DELETE', path, { headers: sessions[0] as Signed })
    expect(new Set(await statuses(sessions))).toEqual(new Set([401]))
    expect(new Set(await statuses([theirs]))).toEqual(new Set([200]))
  })

  it('does not change API keys, and the user can sign in again', async () => {
    await service.call('DELETE', path, { headers: await service.signIn(account) })
    expect((await service.call('GET', '/api/v1/consents', { key: account.key })).status).toBe(200)
    const back = await service.call('POST', path, { body: { email: account.email, password } })
    const cookie = String(back.headers['set-cookie']).replace(/;.*/, '')
    expect(new Set(await statuses([{ cookie, origin: service.url }]))).toEqual(new Set([200]))
  })
})

describe('DELETE /api/v1/session › 401', () => {
  it('is identical for an ended session and an unknown one', async () => {
    const session = await service.signIn(account)
    await service.call('DELETE', path, { headers: session })
    const [again, never] = [
      await service.call('DELETE', path, { headers: session }),
      await service.call('DELETE', path),
    ]
    expect([again.status, again.headers['set-cookie']]).toEqual([401, undefined])
    expect(visible(again)).toEqual(visible(never))
  })
})
