import { beforeAll, describe, expect, it } from 'vitest'
import { type ServiceResponse, type TestAccount, type TestNode, useService } from '../../support/service.ts'
import { visible } from '../visible.ts'
import { forge, forgeries, withPart } from './tokens.ts'

const service = useService()
const path = '/api/v1/session'

let account: TestAccount
let other: TestAccount
let proxied: TestNode

beforeAll(async () => {
  account = await service.newAccount()
  other = await service.newAccount()
  proxied = await service.addNode({ config: { trustProxy: ['127.0.0.1'] } })
})

/** Headers that a TLS-terminating proxy adds to a browser's request. */
const secure = { host: 'consent.example.com', 'x-forwarded-proto': 'https' }

function get(cookie: string, node: TestNode = service, headers: Record<string, string> = {}) {
  return node.call('GET', path, { headers: { cookie, ...headers } })
}

describe('GET /api/v1/session › 200', () => {
  it('returns the user and the expiry', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3600
    const { status, body } = await get(`consent_session=${forge(account, { claims: { exp } })}`)
    expect([status, body]).toEqual([
      200,
      {
        account_id: account.accountId,
        user: { id: account.userId, email: account.email, role: 'owner' },
        expires_at: new Date(exp * 1000).toISOString(),
      },
    ])
  })

  it('finds the token among other cookies', async () => {
    const answer = await get(`a=b; theme="dark"; consent_session=${forge(account)}; z=%zz; consent_session_=x`)
    expect(answer.status).toBe(200)
  })

  it('accepts the __Host- cookie behind a trusted proxy', async () => {
    const answer = await get(`__Host-consent_session=${forge(account)}`, proxied, secure)
    expect([answer.status, answer.body.user.id]).toEqual([200, account.userId])
  })

  it.each(['', 'https://evil.example', 'null'])('accepts any or no origin: "%s"', async origin => {
    const headers: Record<string, string> = { cookie: `consent_session=${forge(account)}`, origin }
    expect((await service.call('GET', path, { headers })).status).toBe(200)
  })

  it('accepts a token until the last second of its eight hours', async () => {
    const iat = Math.floor(Date.now() / 1000) - 8 * 3600 + 30
    const token = forge(account, { claims: { iat, exp: iat + 8 * 3600 } })
    expect((await get(`consent_session=${token}`)).status).toBe(200)
  })
})

describe('GET /api/v1/session › 401', () => {
  it.each(forgeries)('responds to a token with %s as if it were missing', async (_name, make) => {
    const token = make(account, other)
    await expectNobody(await get(`consent_session=${token}`))
    const list = await service.call('GET', '/api/v1/consents', {
      headers: { cookie: `consent_session=${token}` },
    })
    await expectNobody(list)
  })

  it.each<[string, (token: string) => string]>([
    ['of TLS', token => `__Host-consent_session=${token}`],
    ['in another case', token => `Consent_Session=${token}`],
    ['with a longer name', token => `xconsent_session=${token}`],
    ['in quotation marks of its own', token => `consent_session="x${token}"`],
    ['that is empty beside it', token => `consent_session; session=${token}; token=${token}`],
    ['inside another’s value', token => `a=consent_session=${token}`],
  ])('is returned for a cookie %s over plain HTTP', async (_name, cookie) => {
    await expectNobody(await get(cookie(forge(account))))
  })

  it('is returned over TLS for the cookie of plain HTTP', async () => {
    await expectNobody(await get(`consent_session=${forge(account)}`, proxied, secure))
  })

  it('is returned for each of a thousand tokens with one bit changed', async () => {
    const token = forge(account)
    const seed = Math.floor(Math.random() * 2 ** 31)
    let state = seed
    for (let round = 0; round < 1000; round += 1) {
      state = (state * 48_271) % 2_147_483_647
      const parts = token.split('.')
      const index = (state % 3) as 0 | 1 | 2
      const bytes = Buffer.from(parts[index] ?? '', 'base64url')
      const bit = (state >> 2) % (bytes.length * 8)
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const mutant = withPart(token, index, bytes.toString('base64url'))
      const answer = await service.app.inject({ url: path, headers: { cookie: `consent_session=${mutant}` } })
      expect([answer.statusCode, mutant], `seed ${seed}`).toEqual([401, mutant])
    }
  })

  async function expectNobody(answer: ServiceResponse) {
    expect(visible(answer)).toEqual(visible(await service.call('GET', path)))
    expect(answer.status).toBe(401)
  }
})
