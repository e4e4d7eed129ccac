import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { redactBody, redactUrl } from '../../../src/logging/redact.ts'
import { binary } from '../../support/cli.ts'
import {
  answers,
  apiKey,
  byId,
  consent,
  consentsPath,
  entry,
  expectExit,
  fails,
  noCaller,
  site,
  useCli,
  uuid,
} from '../support.ts'

const cli = useCli()
const id = uuid(1)

/** What must not be on stderr, each recognisable wherever it turns up. */
const secret = {
  subject: 'canary-maria@example.com',
  label: 'canary-label',
  agent: 'CanaryBrowser/9',
  address: '203.0.113.77',
  preference: 'canary_choice',
  region: 'canary-region',
  email: 'canary-ann@example.com',
  password: 'canary-password',
  session: 'canary-session',
  key: 'sk-canary0123456789abcdef',
  token: 'st-canary0123456789abcdef',
  consentToken: 'ct-canary0123456789abcdef',
  name: 'canary name',
}

const record = consent({
  subject_id: secret.subject,
  consent_id: secret.label,
  user_agent: secret.agent,
  region: secret.region,
  preferences: { [secret.preference]: 'canary', nested: [{ marketing: 'canary' }] },
})
/** What an instance may send back that it should not, or that is shown to nobody else. */
const headers = {
  'set-cookie': `consent_session=${secret.session}; Path=/`,
  'x-request-id': 'r-17',
  'x-debug-user': secret.email,
  server: `echo ${apiKey}`,
  via: secret.subject,
  vary: secret.consentToken,
}
const key = {
  id: uuid(2),
  name: secret.name,
  hint: 'cdef',
  scopes: ['read'],
  created_at: '2026-01-31T09:30:00.000Z',
  expires_at: null,
  last_used_on: null,
  revoked_at: null,
}
const siteRow = {
  id: site,
  name: secret.name,
  policy_version: 1,
  allowed_origins: ['https://canary.example'],
  created_at: '2026-01-31T09:30:00.000Z',
  updated_at: '2026-01-31T09:30:00.000Z',
}

function serve() {
  const person = { account_id: uuid(3), user: { id: uuid(4), email: secret.email }, expires_at: 'later' }
  cli.instance.use(
    noCaller,
    answers('get', consentsPath, { data: [record], next_cursor: null }, 200, headers),
    answers('post', consentsPath, record, 201, headers),
    answers('get', byId, record, 200, headers),
    answers('put', byId, record, 200, headers),
    answers('delete', byId, record, 200, headers),
    answers('get', `${byId}/history`, { data: [entry({ preferences: record.preferences })] }, 200, headers),
    answers('post', '*/api/v1/session', person, 201, headers),
    answers('post', '*/api/v1/keys', { ...key, key: secret.key }, 201, headers),
    answers('get', '*/api/v1/keys', { data: [key] }, 200, headers),
    answers('post', '*/api/v1/sites', { ...siteRow, token: secret.token }, 201, headers),
    answers('get', '*/api/v1/sites', { data: [siteRow] }, 200, headers),
  )
}

const signedIn = ['--email', secret.email, '--password-stdin']
const commands: string[][] = [
  ['list', '--subject', secret.subject, '--consent-id', secret.label, '--from', '7d', '--site', site],
  ['list', '--site', secret.name],
  ['get', id],
  ['get', secret.subject],
  ['history', id],
  ['update', id, '--accepted', '--pref', `${secret.preference}=canary`],
  ['rm', id, '--yes'],
  [
    ...['create', '--site', site, '--subject', secret.subject, '--consent-id', secret.label],
    ...['--user-agent', secret.agent, '--ip-address', secret.address, '--pref', `${secret.preference}=canary`],
  ],
  ['auth', 'status'],
  ['keys', 'create', '--name', secret.name, ...signedIn],
  ['keys', 'list', ...signedIn],
  ['sites', 'create', '--name', secret.name, ...signedIn],
  ['sites', 'list', ...signedIn],
]

const canaries = new RegExp(
  [apiKey, ...Object.values(secret), 'canary'].map(text => text.replace(/[.]/g, '\\.')).join('|'),
  'i',
)

describe.each(['--verbose', '--debug'])('the log of %s', flag => {
  it.each(commands)('shows no secret or personal data: %s %s', async (...args) => {
    serve()
    const { code, stderr } = await cli.run([...args.filter(Boolean), flag], { stdin: `${secret.password}\n` })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stderr).toContain('< 20')
    const traced = stderr.split('\n').filter(line => /^[*<>]/.test(line))
    expect(traced.join('\n')).not.toMatch(canaries)
  })

  it('hides secrets and personal data when calls fail and are retried', async () => {
    cli.instance.use(http.all('*', () => fails(503, `unavailable`, `no ${secret.subject} ${apiKey}`)))
    const { stderr } = await cli.run(['list', '--subject', secret.subject, flag])
    const traced = stderr.split('\n').filter(line => /^[*<>]/.test(line))
    expect(traced.join('\n')).not.toMatch(canaries)
    expect(stderr.match(/^\* retrying in 0\.0 s \(attempt \d of 4\): 503 unavailable$/gm)).toHaveLength(3)
  })
})

it('--verbose logs the settings, each request, converted times and the exit code', async () => {
  serve()
  const { stderr } = await cli.run(['list', '--from', '2026-01-31', '--verbose', '--timeout', '9'])
  expect(stderr).toContain(`* instance ${cli.instance.url} (CONSENTCTL_BASE_URL), profile default`)
  expect(stderr).toContain('* key sk-…a1b2 (CONSENTCTL_API_KEY)')
  expect(stderr).toContain('* timeout of a request: 9 s; longest wait: 0 s')
  expect(stderr).toContain('> GET /api/v1/consents?from=2026-01-31T00:00:00.000Z&limit=100\n')
  expect(stderr).toMatch(/^< 200 after \d+ ms, request r-17$/m)
  expect(stderr).not.toContain('content-type')
})

it('--debug also logs headers and bodies, without secrets', async () => {
  serve()
  const { stderr } = await cli.run(['get', id, '--debug'])
  expect(stderr).toContain('> authorization: Bearer sk-…a1b2\n')
  expect(stderr).toContain('< content-type: application/json\n')
  expect(stderr).toContain('< set-cookie: …\n')
  expect(stderr).toContain(`< {"id":"${id}","site_id":"${site}","consent_id":"…","subject_id":"…"`)
})

it('reports a wrong clock', async () => {
  const date = new Date(Date.now() - 3_600_000).toUTCString()
  cli.instance.use(answers('get', byId, record, 200, { date }))
  expect((await cli.run(['get', id, '--verbose'])).stderr).toMatch(/clock is 3\d{3} s ahead of the instance/)
})

it('shows a stack only with --debug, without messages', async () => {
  cli.instance.use(http.get(byId, () => HttpResponse.json({ error: 'not_found', message: secret.subject })))
  expect((await cli.run(['get', id, '--verbose'])).stderr).not.toMatch(/^\s+at /m)
  const { stderr } = await cli.run(['get', id, '--debug'])
  expect(stderr).toMatch(/^\* thrown: ContractError\n\s+at .*response\.ts/m)
})

describe('redaction', () => {
  it.each([
    ['{"error":"not_found","message":"no maria"}', '{"error":"not_found","message":"…"}'],
    ['{"site_id":"maria@example.com","accepted":true}', '{"site_id":"…","accepted":true}'],
    ['{"site_id":"maria","error":"not_found"}', '{"site_id":"…","error":"not_found"}'],
    ['{"Maria Curie":1}', '{"…":"…"}'],
    ['{"data":[1,2,3,4]}', '{"data":[1,2,"2 more"]}'],
    ['{"scopes":["read","me@x.org"]}', '{"scopes":["read","…"]}'],
    ['<p>maria', '8 bytes, not JSON'],
    ['"maria@x"', '"…"'],
    ['', 'no body'],
  ])('prints the body %s as %s', (body, shown) => {
    expect(redactBody(body)).toBe(shown)
  })

  it.each([
    ['/api/v1/consents/maria%40example.com', '/api/v1/consents/:id', '/api/v1/consents/…'],
    [`/tenant/api/v1/consents/${id}/history`, '/api/v1/consents/:id/history', `/api/v1/consents/${id}/history`],
    ['/api/v1/consents?limit=9&to=maria&cursor=abc', '/api/v1/consents', '/api/v1/consents?limit=9&to=…&cursor=…'],
  ])('redacts the URL %s', (url, path, shown) => {
    expect(redactUrl(`https://consent.example.com${url}`, path)).toBe(shown)
  })
})

describe('invalid flags exit with 2 before any request', () => {
  it.each([
    ['--timeout', '0'],
    ['--timeout', 'soon'],
    ['--timeout', '1e3'],
    ['--timeout', '-1'],
    ['--timeout', '86401'],
    ['--timeout', ''],
    ['--max-wait', 'x'],
    ['--max-wait', '-1'],
    ['--max-wait', '99999'],
  ])('rejects %s %j', async (flag, value) => {
    for (const command of [['list'], ['config', 'list'], ['create', '--site', site, '--refused']]) {
      expectExit(await cli.run([...command, `${flag}=${value}`]), 2, flag)
    }
    expect(cli.sent()).toEqual([])
  })

  it.each([
    ['CONSENTCTL_TIMEOUT', '0'],
    ['CONSENTCTL_MAX_WAIT', 'long'],
  ])('rejects %s=%s in the environment', async (name, value) => {
    expectExit(await cli.run(['list'], { env: { [name]: value } }), 2, name)
  })
})

it('Ctrl-C during a wait ends the command immediately', async () => {
  let asked = () => {}
  const first = new Promise<void>(resolve => {
    asked = resolve
  })
  cli.instance.use(
    http.get(byId, () => {
      asked()
      return HttpResponse.json(
        { error: 'unavailable', message: 'm' },
        { status: 503, headers: { 'retry-after': '30' } },
      )
    }),
  )
  const env = { ...cli.env(), PATH: process.env['PATH'], CONSENTCTL_MAX_WAIT: '60' }
  const child = spawn(process.execPath, [binary, 'get', id, '--verbose'], { env })
  const waiting = once(child.stderr, 'data').then(() => first)
  const ended = once(child, 'close')
  await waiting
  await new Promise(resolve => setTimeout(resolve, 300)) // it waits by now
  const began = performance.now()
  child.kill('SIGINT')
  const [code, signal] = await ended
  expect(performance.now() - began).toBeLessThan(2000)
  expect(signal === 'SIGINT' || code === 130).toBe(true)
})
