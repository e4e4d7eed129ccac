import { beforeAll, describe, expect, it } from 'vitest'
import { hashPassword } from '../../../server/auth/password.ts'
import { newId } from '../../../server/ids.ts'
import { type TestAccount, type TestNode, useService } from '../../support/service.ts'
import { visible } from '../visible.ts'

const service = useService()
const path = '/api/v1/session'
const password = 'correct horse battery'
const token = '[\\w-]+\\.[\\w-]+\\.[\\w-]+'

let account: TestAccount
/** A node that believes the proxy it is called by, and one that would believe another. */
let proxied: TestNode
let elsewhere: TestNode

beforeAll(async () => {
  account = await service.newAccount({ password })
  proxied = await service.addNode({ config: { trustProxy: ['127.0.0.1'] } })
  elsewhere = await service.addNode({ config: { trustProxy: ['10.0.0.1'] } })
})

/** Signs in from an address of its own each time, unless one is given: the limits are about something else. */
function signIn(credentials: object, headers: Record<string, string> = {}, node: TestNode = proxied) {
  return node.call('POST', path, {
    body: { email: account.email, password, ...credentials },
    headers: { 'x-forwarded-for': freshAddress(), ...headers },
  })
}

let addresses = 0
function freshAddress(): string {
  addresses += 1
  return `203.0.${addresses >> 8}.${addresses & 255}`
}

describe('POST /api/v1/session › 201', () => {
  it('returns the user and the expiry, and sets a cookie with the same lifetime', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000
    const answer = await signIn({}, {}, service)
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        account_id: account.accountId,
        user: { id: account.userId, email: account.email, role: 'owner' },
        expires_at: expect.stringMatching(/^[\d-]{10}T[\d:]{8}\.000Z$/),
      },
    ])
    const lasts = Date.parse(answer.body.expires_at) - before
    expect(lasts).toBeGreaterThanOrEqual(8 * 3600_000)
    expect(lasts).toBeLessThan(8 * 3600_000 + 10_000)
    const cookie = String(answer.headers['set-cookie']).replace(/;.*/, '')
    const session = await service.call('GET', path, { headers: { cookie } })
    expect([session.status, session.text]).toEqual([200, answer.text])
  })

  it.each(['127.0.0.1', '127.8.9.10:8787', 'localhost', 'LocalHost:8787', '[::1]', '[::1]:8787'])(
    'sets an HttpOnly, SameSite cookie over plain HTTP to %s',
    async host => {
      const { headers } = await signIn({}, { host }, service)
      expect(headers['set-cookie']).toMatch(
        new RegExp(`^consent_session=${token}; Max-Age=28800; Path=/; HttpOnly; SameSite=Lax$`),
      )
    },
  )

  it('sets a Secure __Host- cookie behind a trusted proxy with TLS', async () => {
    const host = 'consent.example.com'
    const forwarded = { host, 'x-forwarded-proto': 'https', origin: `https://${host}` }
    const { headers } = await signIn({}, forwarded)
    expect(headers['set-cookie']).toMatch(
      new RegExp(`^__Host-consent_session=${token}; Max-Age=28800; Path=/; HttpOnly; Secure; SameSite=Lax$`),
    )
  })

  it('sets no Secure cookie behind an untrusted proxy', async () => {
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'consent.example.com' }
    for (const node of [service, elsewhere]) {
      const { headers } = await signIn({}, forwarded, node)
      expect(headers['set-cookie']).toMatch(/^consent_session=/)
    }
  })

  it('accepts an e-mail in any case and returns it in lower case', async () => {
    const answer = await signIn({ email: account.email.toUpperCase() })
    expect([answer.status, answer.body.user.email]).toEqual([201, account.email])
  })

  it('accepts a password in any Unicode form', async () => {
    const { email } = await service.newAccount({ password: 'caf\u00e9 \u03a9 12' })
    expect((await signIn({ email, password: 'cafe\u0301 \u2126 12' })).status).toBe(201)
  })

  it.each<[string, () => Record<string, string>]>([
    ['without an origin, as from a script', () => ({})],
    ['from its own origin', () => ({ origin: proxied.url })],
    ['from its own origin, as the browser says', () => ({ 'sec-fetch-site': 'same-origin' })],
    ['with an invalid key', () => ({ authorization: 'Bearer sk-nonsense' })],
    ['with an expired session', () => ({ cookie: 'consent_session=a.b.c' })],
  ])('accepts %s', async (_name, headers) => {
    expect((await signIn({}, headers())).status).toBe(201)
  })
})

describe('POST /api/v1/session › 401', () => {
  it('is identical for an unknown e-mail and a wrong password, without a cookie', async () => {
    const wrong = [
      { password: `${password} ` },
      { password: password.toUpperCase() },
      { email: `${newId()}@example.com` },
      { email: ` ${account.email}` },
      { email: 'nobody' },
      { email: (await service.newAccount()).email, password: 'none' },
    ]
    for (const credentials of wrong) {
      const answer = await signIn(credentials)
      expect(answer.text).toBe('{"error":"unauthorized","message":"The e-mail or the password is wrong."}')
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
      expect(answer.headers['set-cookie']).toBeUndefined()
      expect(visible(answer)).toEqual(visible(await signIn({ password: 'wrong' })))
    }
  })

  it('takes the same time for an unknown e-mail and a wrong password', async () => {
    const { email, userId } = await service.newAccount()
    await service.sql`update users set password_hash = ${await hashPassword(password)} where id = ${userId}`
    const times = { known: [] as number[], unknown: [] as number[] }
    for (let round = 0; round < 3; round += 1) {
      times.known.push(await timeRejection({ email, password: 'wrong' }))
      times.unknown.push(await timeRejection({ email: `${newId()}@example.com` }))
    }
    const ratio = median(times.known) / median(times.unknown)
    expect(ratio).toBeGreaterThan(1 / 3)
    expect(ratio).toBeLessThan(3)
    expect(median(times.known)).toBeGreaterThan(50)
  })
})

describe('POST /api/v1/session › 403', () => {
  it.each<[string, () => Record<string, string>]>([
    ['another origin', () => ({ origin: 'https://evil.example' })],
    ['an origin with its own name inside', () => ({ origin: `${proxied.url}.evil.example` })],
    ['another port', () => ({ origin: 'http://127.0.0.1:1' })],
    ['another scheme', () => ({ origin: proxied.url.replace('http:', 'https:') })],
    ['the origin null', () => ({ origin: 'null' })],
    ['an empty origin', () => ({ origin: '' })],
    ['two origins', () => ({ origin: `${proxied.url} https://evil.example` })],
    ['another site, as the browser says', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['another subdomain, as the browser says', () => ({ 'sec-fetch-site': 'same-site' })],
  ])('is returned to a page of %s, even with the right password', async (_name, headers) => {
    await expectForbidden({}, headers())
  })

  it.each([
    'consent.example.com',
    'localhost.example.com',
    '127.0.0.1.example.com',
    'example.com:127',
    '10.0.0.1:8787',
    '[::2]',
    '0.0.0.0',
  ])('is returned over plain HTTP to %s before the password is checked', async host => {
    const [right, wrong] = [await expectForbidden({}, { host }), await expectForbidden({ password: 'x' }, { host })]
    expect(visible(right)).toEqual(visible(wrong))
    expect(right.body.message).toContain('HTTPS')
  })

  it('is returned when an untrusted proxy claims TLS', async () => {
    const headers = { host: 'consent.example.com', 'x-forwarded-proto': 'https' }
    await expectForbidden({}, headers, service)
    await expectForbidden({}, headers, elsewhere)
    await expectForbidden({}, { ...headers, 'x-forwarded-proto': 'https, http' })
  })

  async function expectForbidden(credentials: object, headers: Record<string, string>, node?: TestNode) {
    const answer = await signIn(credentials, headers, node)
    expect([answer.status, answer.body.error]).toEqual([403, 'forbidden'])
    expect(answer.headers['set-cookie']).toBeUndefined()
    return answer
  }
})

describe('POST /api/v1/session › 429', () => {
  it('is returned after ten failures for one e-mail from one address, only to that address', async () => {
    const { email } = await service.newAccount({ password })
    const here = { 'x-forwarded-for': '198.51.100.1' }
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect((await signIn({ email, password: 'wrong' }, here)).status).toBe(401)
    }
    for (const spelling of [email, email.toUpperCase()]) {
      await expectLimited(await signIn({ email: spelling }, here))
    }
    expect((await signIn({ email }, { 'x-forwarded-for': '198.51.100.2' })).status).toBe(201)
    expect((await signIn({}, here)).status).toBe(201)
  })

  it('counts only failures, even with a success between them', async () => {
    const { email } = await service.newAccount({ password })
    const here = { 'x-forwarded-for': '198.51.100.4' }
    for (let attempt = 0; attempt < 10; attempt += 1) {
      expect((await signIn({ email }, here)).status).toBe(201)
      expect((await signIn({ email, password: 'wrong' }, here)).status).toBe(401)
    }
    await expectLimited(await signIn({ email }, here))
  })

  it('lets exactly ten of many concurrent guesses through', async () => {
    const { email } = await service.newAccount({ password })
    const here = { 'x-forwarded-for': '198.51.100.3' }
    const guess = () => signIn({ email, password: 'wrong' }, here)
    const answers = await Promise.all(Array.from({ length: 30 }, guess))
    const passed = answers.filter(({ status }) => status !== 429)
    expect(passed.length).toBeLessThanOrEqual(10)
    while (passed.length < 10) passed.push(await guess())
    expect(passed.map(({ status }) => status)).toEqual(Array(10).fill(401))
    await expectLimited(await signIn({ email }, here))
  })

  it('ignores addresses that the client sends', async () => {
    const { email } = await service.newAccount({ password })
    const from = (address: string, guess = password) =>
      signIn({ email, password: guess }, { 'x-forwarded-for': address }, elsewhere)
    for (let attempt = 0; attempt < 10; attempt += 1) await from(`192.0.2.${attempt}`, 'wrong')
    await expectLimited(await from('192.0.2.99'))
  })

  it('is returned after a hundred failures from one network, a /64 in IPv6', async () => {
    const from = (address: string, email: string, guess = password) =>
      signIn({ email, password: guess }, { 'x-forwarded-for': address })
    for (let index = 0; index < 10; index += 1) {
      const { email } = await service.newAccount({ password })
      for (let host = 0; host < 10; host += 1) {
        expect((await from(`2001:db8:1:2:${index}::${host}`, email, 'wrong')).status).toBe(401)
      }
    }
    await expectLimited(await from('2001:db8:1:2:ffff::1', account.email))
    expect((await from('2001:db8:1:3::1', account.email)).status).toBe(201)
  })

  async function expectLimited({ status, body, headers }: Awaited<ReturnType<typeof signIn>>) {
    expect([status, body.error]).toEqual([429, 'rate_limited'])
    expect(Number(headers['retry-after'])).toBeGreaterThan(800)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(900)
    expect(headers['set-cookie']).toBeUndefined()
  }
})

/** Milliseconds of a rejected sign-in. One that a busy service sheds compares no password, so its time says nothing. */
async function timeRejection(credentials: object): Promise<number> {
  for (;;) {
    const start = performance.now()
    const { status } = await signIn(credentials)
    const elapsedMs = performance.now() - start
    if (status === 503) continue
    expect(status).toBe(401)
    return elapsedMs
  }
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? 0
}
