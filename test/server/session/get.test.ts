import { beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type TestAccount, type TestNode, useService } from '../../support/service.ts'
import { visible } from '../alike.ts'
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

/** What a browser of the dashboard is told behind a proxy that ends TLS. */
const secure = { host: 'consent.example.com', 'x-forwarded-proto': 'https' }

function get(cookie: string, node: TestNode = service, headers: Record<string, string> = {}) {
  return node.call('GET', path, { headers: { cookie, ...headers } })
}

describe('200', () => {
  it('tells who is signed in, and until when the token is good', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3600
    const { status, body } = await get(`consent_session=${forge(account, { claims: { exp } })}`)
    expect([status, body]).toEqual([
      200,
      {
        account_id: account.accountId,
        user: { id: account.userId, email: account.email },
        expires_at: new Date(exp * 1000).toISOString(),
      },
    ])
  })

  it('finds the token among other cookies', async () => {
    const answer = await get(
      `a=b; theme="dark"; consent_session=${forge(account)}; z=%zz; consent_session_=x`,
    )
    expect(answer.status).toBe(200)
  })

  it('takes the cookie of TLS behind a trusted proxy', async () => {
    const answer = await get(`__Host-consent_session=${forge(account)}`, proxied, secure)
    expect([answer.status, answer.body.user.id]).toEqual([200, account.userId])
  })

  it.each(['', 'https://evil.example', 'null'])('needs no origin, and minds none: "%s"', async origin => {
    const headers: Record<string, string> = { cookie: `consent_session=${forge(account)}`, origin }
    expect((await service.call('GET', path, { headers })).status).toBe(200)
  })

  it('takes a token to the last second of its eight hours', async () => {
    const iat = Math.floor(Date.now() / 1000) - 8 * 3600 + 30
    const token = forge(account, { claims: { iat, exp: iat + 8 * 3600 } })
    expect((await get(`consent_session=${token}`)).status).toBe(200)
  })
})

describe('401', () => {
  it.each(forgeries)('answers a token with %s like none at all', async (_name, make) => {
    const token = await make(account, other)
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
  ])('takes no cookie %s on plain HTTP', async (_name, cookie) => {
    await expectNobody(await get(cookie(forge(account))))
  })

  it('takes no cookie of plain HTTP over TLS: another host of the domain may have set it', async () => {
    await expectNobody(await get(`consent_session=${forge(account)}`, proxied, secure))
  })

  it.each(['Bearer', 'Cookie', 'JWT', 'Session'])('takes no token in Authorization: %s', async scheme => {
    const headers = { authorization: `${scheme} ${forge(account)}` }
    await expectNobody(await service.call('GET', path, { headers }))
  })

  it('lets an Authorization header alone decide, beside a good cookie', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer sk-nonsense', `Bearer ${forge(account)}`, 'Basic x']) {
      await expectNobody(await get(`consent_session=${forge(account)}`, service, { authorization }))
    }
  })

  it.each(['authorization', 'x-session', 'x-site-token', 'consent_session'])(
    'takes no token from the header %s',
    async name => {
      await expectNobody(await service.call('GET', path, { headers: { [name]: forge(account) } }))
    },
  )

  it('takes no token from the query', async () => {
    await expectNobody(await service.call('GET', `${path}?consent_session=${forge(account)}`))
  })

  it('takes none of a thousand tokens with one bit changed', async () => {
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

  async function expectNobody(answer: Answer) {
    expect(visible(answer)).toEqual(visible(await service.call('GET', path)))
    expect(answer.status).toBe(401)
  }
})

describe('403', () => {
  it('tells an API key that it will not do', async () => {
    const answer = await service.call('GET', path, { key: account.key })
    expect([answer.status, answer.body.error]).toEqual([403, 'forbidden'])
  })

  it('tells so to a key beside a good cookie', async () => {
    const answer = await get(`consent_session=${forge(account)}`, service, {
      authorization: `Bearer ${account.key}`,
    })
    expect(answer.status).toBe(403)
  })
})
