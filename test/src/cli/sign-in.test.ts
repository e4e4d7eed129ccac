import { existsSync } from 'node:fs'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { saveProfile } from '../../../src/settings/store.ts'
import { close, useScriptedServer } from '../../support/scripted-server.ts'
import {
  apiKeyOf,
  email,
  keysPath,
  managed,
  managing,
  password,
  runAs,
  sessionPath,
  signedIn,
  signsIn,
  siteOf,
  sitesPath,
} from '../session-fixtures.ts'
import { apiKey, expectExit, expectNoStdout, expectUnsent, fails, machineError, useCli } from '../support.ts'

const cli = useCli()
const list = ['keys', 'list', '--json']

/** One of each command that signs in. */
const commands = [
  ['keys', 'list'],
  ['keys', 'create', '--name', 'x'],
  ['keys', 'revoke', '7', '--yes'],
  ['sites', 'list'],
  ['sites', 'create', '--name', 'x'],
  ['sites', 'update', '7', '--name', 'x'],
  ['sites', 'rotate-token', '7'],
  ['usage', '--email', email],
  ['auth', 'login', '--email', email],
]

describe('a sign-in', () => {
  it('sends e-mail and password exactly once, without a key', async () => {
    signedIn(cli, 'get', keysPath, () => ({ data: [apiKeyOf()] }))
    expect(await runAs(cli, list)).toMatchObject({ code: 0, stderr: '' })
    const [signIn, use, ...more] = cli.instance.requests
    expect(more).toEqual([])
    expect(signIn).toMatchObject({
      method: 'POST',
      url: '/api/v1/session',
      text: JSON.stringify({ email, password }),
      headers: { 'content-type': 'application/json' },
    })
    for (const { headers } of [signIn, use].filter(each => each !== undefined)) {
      expect(headers).not.toHaveProperty('authorization')
      expect(headers.origin).toBe(cli.instance.url)
      expect(JSON.stringify(headers)).not.toContain(apiKey)
    }
    expect(signIn?.headers).not.toHaveProperty('cookie')
  })

  it('does not sign out afterwards', async () => {
    signedIn(cli, 'get', sitesPath, () => ({ data: [siteOf()] }))
    await runAs(cli, ['sites', 'list'])
    expect(managed(cli).map(({ method }) => method)).toEqual(['GET'])
  })

  it('writes nothing to disk', async () => {
    const folder = cli.freshFolder()
    signedIn(cli, 'get', keysPath, () => ({ data: [] }))
    expect(await runAs(cli, list, { env: { CONSENTCTL_CONFIG_DIR: folder } })).toMatchObject({ code: 0 })
    expect(existsSync(folder)).toBe(false)
  })

  it('sends back the name and value of every cookie', async () => {
    cli.instance.use(
      http.post(sessionPath, () => {
        const headers = new Headers({ 'content-type': 'application/json' })
        headers.append('set-cookie', '__Host-consent_session=a.b-c_d; Path=/; Secure; HttpOnly')
        headers.append('set-cookie', 'node=7;Path=/')
        const body = { account_id: 'a', user: { id: 'u', email }, expires_at: 'x' }
        return new HttpResponse(JSON.stringify(body), { status: 201, headers })
      }),
      http.get(keysPath, () => HttpResponse.json({ data: [] })),
    )
    expect(await runAs(cli, list)).toMatchObject({ code: 0 })
    expect(cli.instance.requests.at(-1)?.headers.cookie).toBe('__Host-consent_session=a.b-c_d; node=7')
  })
})

describe('the password', () => {
  it.each(commands.map(args => [args]))(
    'when it cannot be prompted for, exits with 2 before any request: %j',
    async args => {
      const who = args.includes('--email') ? [] : ['--email', email]
      expectUnsent(cli, await cli.run([...args, ...who], { stdin: password }), '--password-stdin')
    },
  )

  it('is not read from a terminal that would echo it', async () => {
    const ran = await runAs(cli, list, { tty: { stdin: true, stderr: true } })
    expectExit(ran, 2, { hint: expect.stringContaining('--password-stdin') })
    expect(cli.sent()).toEqual([])
  })

  it('is prompted for without echo, naming the instance', async () => {
    signedIn(cli, 'get', keysPath, () => ({ data: [] }))
    const { code, stderr } = await cli.run(['keys', 'list', '--email', email], {
      stdin: `${password}\r`,
      tty: { stdin: true, stderr: true },
    })
    expect(code).toBe(0)
    expect(stderr).toBe(`Password of ${email} on default@${new URL(cli.instance.url).host} (not shown): \n`)
  })

  it('when it is typed, can be corrected character by character', async () => {
    signedIn(cli, 'get', keysPath, () => ({ data: [] }))
    const options = { stdin: `x\u007f${password}👍\u007f\r`, tty: { stdin: true, stderr: true } }
    expect(await cli.run(['keys', 'list', '--email', email], options)).toMatchObject({ code: 0 })
  })

  it.each([['--password', password], [`--password=${password}`]])(
    'is never taken from the command line: %s',
    async (...args) => {
      expectUnsent(cli, await cli.run([...list, '--email', email, ...args]))
    },
  )
})

describe('the e-mail', () => {
  const folder = cli.freshFolder
  const signedInAs = () => cli.sent().map(({ body }) => (body as { email: string }).email)
  const runIn = (args: string[], env: Record<string, string>) => {
    cli.instance.use(http.post(sessionPath, () => fails(401, 'unauthorized')))
    return cli.run([...list, '--password-stdin', ...args], { env, stdin: password })
  }

  it('is taken from the flag, then from CONSENTCTL_EMAIL, then from the profile', async () => {
    const own = { CONSENTCTL_CONFIG_DIR: folder() }
    await saveProfile(own.CONSENTCTL_CONFIG_DIR, 'default', { base_url: cli.instance.url, email: 'c@x' }, apiKey)
    await runIn([], own)
    expect(signedInAs()).toEqual(['c@x'])
    cli.instance.requests.length = 0
    await runIn([], { ...own, CONSENTCTL_EMAIL: 'b@x' })
    expect(signedInAs()).toEqual(['b@x'])
    cli.instance.requests.length = 0
    await runIn(['--email', 'a@x'], { ...own, CONSENTCTL_EMAIL: 'b@x' })
    expect(signedInAs()).toEqual(['a@x'])
  })

  it('when no e-mail is set, exits with 2 before any request', async () => {
    const { code, stderr } = await runIn([], {})
    expect(code).toBe(2)
    expect(machineError(stderr)).toMatchObject({
      code: 'usage',
      hint: expect.stringContaining('CONSENTCTL_EMAIL'),
    })
    expectUnsent(cli, await runIn(['--email', ''], {}))
  })
})

describe('a rejected sign-in', () => {
  const refused = (answer: () => Response) => {
    cli.instance.use(http.post(sessionPath, answer as () => HttpResponse<string>))
    return runAs(cli, list)
  }

  it('reports a wrong e-mail or password, names no key, and exits with 4', async () => {
    cli.instance.use(signsIn())
    const ran = await runAs(cli, ['keys', 'list'], { stdin: 'guess' })
    expectNoStdout(ran, 4, /^error: wrong email or password \(unauthorized\)\ntry: /)
    expect(ran.stderr).not.toMatch(/key|guess/)
  })

  it.each([
    ['30', '30 s'],
    [new Date(Date.now() + 3_600_000).toUTCString(), /(3600|3599|359\d) s/],
    ['soon', 'try again later'],
    [undefined, 'try again later'],
  ])('when it is rate limited, says when to retry: %s', async (wait, said) => {
    const headers = wait === undefined ? {} : { 'retry-after': wait }
    const body = { error: 'rate_limited', message: 'too many attempts' }
    const ran = await refused(() => HttpResponse.json(body, { status: 429, headers }))
    expectExit(ran, 7, { retryable: true, hint: expect.stringMatching(said) })
  })

  it('from other software exits with 2 and sends nothing more', async () => {
    const ran = await refused(() => HttpResponse.html('<title>Sign in</title>'))
    expectExit(ran, 2, { code: 'unexpected_answer', status: 200 })
    expect(cli.sent()).toHaveLength(1)
  })

  it('when redirected, does not send the password elsewhere', async () => {
    const location = `${cli.instance.url}/elsewhere`
    expect((await refused(() => new HttpResponse(null, { status: 307, headers: { location } }))).code).toBe(2)
    expect(cli.sent()).toHaveLength(1)
  })
})

describe('a rejected session', () => {
  it.each([
    ['unauthorized', 401],
    ['forbidden', 403],
  ])('%s after the sign-in exits with 4, without blaming a key or the password', async (error, status) => {
    cli.instance.use(
      signsIn(),
      http.get(keysPath, () => fails(status, error, 'a sentence')),
    )
    const ran = await runAs(cli, ['keys', 'list'])
    expectExit(ran, 4, `error: a sentence (${error})\nwhy: the instance rejects the session`)
    expect(ran.stderr).not.toMatch(/\bkey|password/)
  })

  it('when the cookie is missing, exits with an error', async () => {
    cli.instance.use(
      http.post(sessionPath, () =>
        HttpResponse.json({ account_id: 'a', user: { id: 'u', email }, expires_at: 'x' }, { status: 201 }),
      ),
      managing('get', keysPath, () => ({ data: [] })),
    )
    expect(await runAs(cli, list)).toMatchObject({ code: 4, stdout: '' })
  })
})

describe('a lost response', () => {
  const faulty = useScriptedServer()

  it('to a sign-in is safe to retry', async () => {
    faulty.script(close)
    const env = { CONSENTCTL_BASE_URL: faulty.url }
    expectExit(await runAs(cli, list, { env }), 7, { code: 'network', retryable: true })
  })
})

it('a sign-in over plain http to another machine exits with 2 before prompting for the password', async () => {
  const env = { CONSENTCTL_BASE_URL: 'http://consent.example' }
  const ran = await cli.run(['keys', 'list', '--email', email], {
    env,
    stdin: `${password}\r`,
    tty: { stdin: true, stderr: true },
  })
  expectNoStdout(ran, 2, 'CONSENTCTL_ALLOW_HTTP=consent.example')
  expect(ran.stderr).not.toContain('not shown')
})

it('masks a key or token that an unusable response contains', async () => {
  const key = 'sk-03515iY74yy5mSVodjq0vWDluNxMXnu5kqskWefcOBMOBGbhuLQnREWPMwNlT0c'
  cli.instance.use(
    signsIn(),
    managing('post', keysPath, () => ({ key })),
    managing('post', sitesPath, () => ({ token: key.replace('sk', 'st') })),
  )
  for (const noun of ['keys', 'sites']) {
    for (const flags of [[], ['--json']]) {
      const { code, stdout, stderr } = await runAs(cli, [noun, 'create', '--name', 'x', ...flags])
      expect({ code, stdout }).toEqual({ code: 11, stdout: '' })
      expect(stderr).not.toContain(key.slice(3, 20))
    }
  }
})
