import { beforeAll, describe, expect, it } from 'vitest'
import { newApiKey } from '../../../server/auth/credential.ts'
import { newId } from '../../../server/ids.ts'
import { consents } from '../../../src/contract/index.ts'
import { type TestAccount, useService } from '../../support/service.ts'
import { visible } from '../visible.ts'

const service = useService()
const root = '/api/v1/consents'
const id = '01890000-0000-7000-8000-000000000000'
let account: TestAccount

/** Every kind of invalid credential, by what is wrong with it. */
const strangers: [name: string, headers: () => Record<string, string> | Promise<Record<string, string>>][] = [
  ['no credential', () => ({})],
  ['an empty Authorization', () => ({ authorization: '' })],
  ['a scheme without a key', () => ({ authorization: 'Bearer' })],
  ['a malformed key', () => ({ authorization: 'Bearer sk-nonsense' })],
  ['a key with one character changed', () => ({ authorization: `Bearer ${changed(account.key)}` })],
  ['a key of the account that was never made', () => bearer(newApiKey(account.accountId))],
  ['a key of an account that does not exist', () => bearer(newApiKey(newId()))],
  ['a revoked key', async () => bearer(await keyWith('revoked_at'))],
  ['an expired key', async () => bearer(await keyWith('expires_at'))],
  ['another scheme', () => ({ authorization: `Token ${account.key}` })],
  ['the key as a Basic password', () => ({ authorization: `Basic ${btoa(`x:${account.key}`)}` })],
  ['the key without a scheme', () => ({ authorization: account.key })],
  ['two keys in one header', () => bearer(`${account.key}, Bearer ${account.key}`)],
  ['a site token as key', () => bearer(account.siteToken)],
  ['X-Site-Token alone', () => ({ 'x-site-token': account.siteToken })],
  ['the key in X-Site-Token', () => ({ 'x-site-token': account.key })],
  ['a cookie alone', () => ({ cookie: `consent_session=${account.key}; __Host-consent_session=x` })],
  ['a bad key beside a good site token', () => ({ ...bearer('sk-x'), 'x-site-token': account.siteToken })],
]

/** Every route, and every kind of request that is otherwise rejected for another reason. */
const requests: [method: string, path: string, body?: unknown, type?: string][] = [
  ...Object.values(consents).map(({ method, path, body }): [string, string, unknown] => [
    method,
    path.replace(':id', id),
    body && { site_id: id },
  ]),
  ['GET', '/nope'],
  ['GET', '/api/v1/session'],
  ['DELETE', '/api/v1/session'],
  ['GET', '/api/v1/keys'],
  ['GET', '/api/v1/sites'],
  ['POST', '/api/v1/sites', '{}'],
  ['GET', '/api/v1/usage'],
  ['GET', '/%zz'],
  ['GET', `${root}/%zz`],
  ['GET', `${root}/%00`],
  ['PATCH', root],
  ['OPTIONS', root],
  ['GET', `${root}?limit=0`],
  ['GET', `${root}?limit=1&limit=1`],
  ['GET', `${root}/not-a-uuid`],
  ['POST', root, '{malformed'],
  ['POST', root, '{}', 'text/plain'],
  ['POST', root, JSON.stringify({ site_id: 'x'.repeat(100_000) })],
]

beforeAll(async () => {
  account = await service.newAccount()
})

describe('authentication › 401', () => {
  it.each(strangers)(
    'responds to %s with the same bytes on every known and unknown route',
    async (_name, makeHeaders) => {
      const headers = await makeHeaders()
      for (const [method, path, body, type = 'application/json'] of requests) {
        const sent = body === undefined ? headers : { ...headers, 'content-type': type }
        const answer = await service.call(method, path, { headers: sent, body })
        expect([method, path, visible(answer)]).toEqual([method, path, await reference()])
      }
    },
  )

  it('requests a bearer key (RFC 6750 section 3) without giving a reason', async () => {
    const { status, headers, text } = await service.call('GET', root)
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toBe('Bearer')
    expect(text).toBe('{"error":"unauthorized","message":"A valid API key or session is required."}')
  })

  it('has no quota headers', async () => {
    const limited = await service.newAccount({ monthlyQuota: 0 })
    const answer = await service.call('GET', root, { key: newApiKey(limited.accountId) })
    expect(Object.keys(answer.headers).filter(name => name.startsWith('x-quota'))).toEqual([])
  })
})

describe('authentication › 200', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('accepts a valid key after %j', async scheme => {
    const answer = await service.call('GET', root, { headers: { authorization: `${scheme} ${account.key}` } })
    expect(answer.status).toBe(200)
  })

  it('accepts a key that expires later', async () => {
    const { key, keyId } = await service.newAccount()
    await service.sql`update api_keys set expires_at = now() + interval '1 hour' where id = ${keyId}`
    expect((await service.call('GET', root, { key })).status).toBe(200)
  })

  it('accepts a valid key alongside other credentials', async () => {
    const headers = { 'x-site-token': 'st-nonsense', cookie: 'consent_session=nonsense' }
    expect((await service.call('GET', root, { key: account.key, headers })).status).toBe(200)
  })
})

async function reference() {
  return visible(await service.call('GET', root))
}

function bearer(key: string) {
  return { authorization: `Bearer ${key}` }
}

function changed(key: string): string {
  return key.slice(0, -1) + (key.endsWith('0') ? '1' : '0')
}

/** A key that is past its revocation or its expiry. */
async function keyWith(column: 'revoked_at' | 'expires_at'): Promise<string> {
  const { key, keyId } = await service.newAccount()
  const { sql } = service
  await sql`update api_keys set ${sql(column)} = now() - interval '1 second' where id = ${keyId}`
  return key
}
