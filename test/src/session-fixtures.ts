import { HttpResponse, http, type RequestHandler } from 'msw'
import { expect } from 'vitest'
import type { ApiKey, Site } from '../../src/contract/index.ts'
import type { RunOptions, RunResult } from '../support/cli.ts'
import { type Cli, fails, uuid } from './support.ts'

export const email = 'maria@example.com'

/** With what a shell, a URL or a careless trim would change. */
export const password = ' correct horse\t"batt$ry" %20 stäple '

const cookie = 'consent_session=eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl'

export const sessionPath = '*/api/v1/session'

/** Answers a sign-in: with a session where e-mail and password are right, as the service does where they are not. */
export function signsIn(setCookie = `${cookie}; Max-Age=28800; Path=/; HttpOnly; SameSite=Lax`): RequestHandler {
  return http.post(sessionPath, async ({ request }) => {
    const sent = (await request.json()) as { email: string; password: string }
    if (sent.email !== email || sent.password !== password) return fails(401, 'unauthorized', 'wrong')
    const body = {
      account_id: uuid(0xacc),
      user: { id: uuid(0x5e), email },
      expires_at: '2026-02-01T00:00:00.000Z',
    }
    return HttpResponse.json(body, { status: 201, headers: { 'set-cookie': setCookie } })
  })
}

type Method = 'get' | 'post' | 'patch' | 'delete'

/** What a handler may look at: the body as JSON, and the id in the path. */
interface Asked {
  readonly body: Record<string, unknown>
  readonly id: string
}

/** A management route: for the cookie of a session alone, and for changes from its own origin alone. */
export function managing(method: Method, path: string, answer: (asked: Asked) => Response | object): RequestHandler {
  return http[method](path, async ({ request, params }) => {
    if (request.headers.has('authorization')) return fails(403, 'forbidden', 'no API key may do this')
    if (request.headers.get('cookie') !== cookie) return fails(401, 'unauthorized', 'no session')
    if (method !== 'get' && request.headers.get('origin') !== new URL(request.url).origin)
      return fails(403, 'forbidden', 'another origin')
    const text = await request.text()
    const answered = answer({ body: text === '' ? {} : JSON.parse(text), id: String(params['id']) })
    if (answered instanceof Response) return answered as HttpResponse<string>
    return HttpResponse.json(answered, { status: method === 'post' ? 201 : 200 })
  })
}

/** Answers a sign-in, and then this route. */
export function signedIn(cli: Cli, ...route: Parameters<typeof managing>): void {
  cli.instance.use(signsIn(), managing(...route))
}

/** Runs a command whose user signs in with the right password on standard input. */
export function runAs(cli: Cli, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return cli.run([...args, '--email', email, '--password-stdin'], { stdin: `${password}\n`, ...options })
}

/** What the instance received after the sign-in. */
export function managed(cli: Cli) {
  const [first, ...rest] = cli.sent()
  expect(first).toMatchObject({ method: 'POST', path: '/api/v1/session' })
  return rest
}

export const keysPath = '*/api/v1/keys'
export const sitesPath = '*/api/v1/sites'

/** The text of a key and of a token, to look for in all that is printed. */
export const newKey = 'sk-03515iY74yy5mSVodjq0vWDluNxMXnu5kqskWefcOBMOBGbhuLQnREWPMwNlT0cFG3hxiWn'
export const newToken = 'st-03515iY74yy5mSVodjq0vW03515irHSeiL4geKbsoJSqsRmOAterZd3C6NEO5Q39DvAetK87rz'

export function apiKeyOf(fields: Partial<ApiKey> = {}): ApiKey {
  return {
    id: uuid(0x4e1),
    name: 'backend',
    hint: 'a1b2',
    scopes: ['read', 'write'],
    site_ids: null,
    created_by: 'privacy@example.com',
    created_at: '2026-01-31T09:30:00.000Z',
    expires_at: null,
    last_used_on: '2026-02-01',
    revoked_at: null,
    ...fields,
  }
}

export function siteOf(fields: Partial<Site> = {}): Site {
  return {
    id: uuid(0xabc),
    name: 'Shop',
    policy_version: 3,
    allowed_origins: ['https://shop.example', 'https://www.shop.example'],
    retention: null,
    sealed_proof: null,
    created_at: '2026-01-31T09:30:00.000Z',
    updated_at: '2026-01-31T09:30:00.000Z',
    strict_notices: false,
    archived_at: null,
    ...fields,
  }
}
