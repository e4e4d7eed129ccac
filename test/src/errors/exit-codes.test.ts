import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../support/postgres.ts'
import { apiKey, byId, consentsPath, expectExit, machineError, screen, site, useCli } from '../support.ts'

const cli = useCli()

const calls = {
  GET: ['get', '7'],
  POST: ['create', '--site', site, '--refused'],
  PUT: ['update', '7', '--accepted'],
  DELETE: ['rm', '7', '--yes'],
} as const
type Method = keyof typeof calls
const methods = Object.keys(calls) as Method[]

/** What an instance is asked for before a create is sent again. */
const description = '*/api/v1/openapi.json'

const send = (method: Method, ...more: string[]) => cli.run([...calls[method], ...more])

/** Makes the instance answer every request alike. */
function answering(response: () => Response) {
  for (const path of [consentsPath, byId, description])
    cli.instance.use(http.all(path, response as () => HttpResponse<string>))
}

const failing = (status: number, error: string) =>
  answering(() => HttpResponse.json({ error, message: 'a sentence' }, { status, headers: { 'x-request-id': 'r-1' } }))

describe('an error of the service', () => {
  const codes: [code: string, status: number, exit: number][] = [
    ['invalid_request', 400, 5],
    ['invalid_request', 422, 5],
    ['unauthorized', 401, 4],
    ['unauthorized', 403, 4],
    ['forbidden', 403, 4],
    ['not_found', 404, 3],
    ['not_found', 410, 3],
    ['conflict', 409, 5],
    ['payload_too_large', 413, 5],
    ['quota_exceeded', 429, 6],
    ['quota_exceeded', 402, 6],
    ['rate_limited', 429, 7],
    // Codes of other instances: the nearest meaning of their status.
    ['token_expired', 401, 4],
    ['suspended', 403, 4],
    ['no_such_site', 404, 3],
    ['slow_down', 429, 7],
    ['teapot', 418, 5],
    ['constructor', 400, 5],
    ['', 404, 3],
  ]

  it.each(codes)('%s with status %i exits with %i, for every method', async (error, status, exit) => {
    failing(status, error)
    for (const method of methods) {
      const { code, stdout, stderr } = await send(method, '-o', 'json')
      expect({ method, code, stdout }).toEqual({ method, code: exit, stdout: '' })
      const told = machineError(stderr)
      expect(told).toMatchObject({ code: error, exit, status, request_id: 'r-1', retryable: exit === 7 })
      expect(['code', 'message', 'hint', 'exit', 'status', 'request_id', 'retryable']).toEqual(
        expect.arrayContaining(Object.keys(told)),
      )
    }
  })

  it.each([
    ['internal_error', 500],
    ['unavailable', 503],
    ['bad_gateway', 502],
  ])('%s with status %i is retryable, except for a POST', async (error, status) => {
    failing(status, error)
    for (const method of methods) {
      const exit = method === 'POST' ? 11 : 7
      const { code, stderr } = await send(method, '-o', 'json')
      expect({ method, code }).toEqual({ method, code: exit })
      expect(machineError(stderr)).toMatchObject({ exit, retryable: exit === 7 })
    }
  })

  it.each([
    ['unavailable', 503],
    ['read_only', 503],
    ['internal_error', 500],
  ])('%s that states that nothing was applied is retryable, even for a POST', async (error, status) => {
    const headers = { 'request-not-applied': 'true' }
    answering(() => HttpResponse.json({ error, message: 'a sentence' }, { status, headers }))
    for (const method of methods) {
      const { code, stderr } = await send(method, '-o', 'json')
      expect({ method, code }).toEqual({ method, code: 7 })
      expect(machineError(stderr)).toMatchObject({ exit: 7, retryable: true })
      expect(stderr).not.toContain('consentctl list')
    }
  })

  it.each(methods)('is reported in at most four lines, with the request id: %s', async method => {
    failing(500, 'internal_error')
    const { stdout, stderr } = await send(method)
    expect(stdout).toBe('')
    const lines = stderr.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(4)
    expect(lines[0]).toMatch(/^error: .*\(internal_error\)$/)
    expect(lines.at(-1)).toBe('request: r-1')
  })

  it('is coloured on a terminal with colour, and nowhere else', async () => {
    failing(400, 'invalid_request')
    expect((await cli.run(['get', '7'], screen)).stderr.startsWith('\u001b[31merror:\u001b[39m ')).toBe(true)
    expect((await cli.run(['get', '7'])).stderr).toMatch(/^error: /)
    expect((await cli.run(['get', '7', '--json', '--color', 'always'], screen)).stderr).toMatch(/^\{"error"/)
  })

  it.each([401, 403, 400])('unauthorized names the source of the key, with status %i', async status => {
    failing(status, 'unauthorized')
    const { stderr } = await send('GET')
    expect(stderr).toContain('CONSENTCTL_API_KEY')
  })

  it('never prints the key, even if the instance does', async () => {
    answering(() => HttpResponse.json({ error: 'unauthorized', message: `no such key: ${apiKey}` }, { status: 401 }))
    for (const flags of [[], ['--json']]) {
      const { stdout, stderr } = await send('GET', ...flags)
      expect(stdout + stderr).not.toContain(apiKey)
    }
  })
})

describe('a response from other software', () => {
  const html = '<!doctype html><title>Sign in</title>'
  const page =
    (status: number, headers = {}) =>
    () =>
      new HttpResponse(html, { status, headers })
  const foreign: [name: string, answer: () => Response, exit: number, ofPost: number][] = [
    ['HTML with 404', page(404), 2, 2],
    ['HTML with 401', page(401), 4, 4],
    ['HTML with 403', page(403), 4, 4],
    ['HTML with 408', page(408), 7, 7],
    ['HTML with 429', page(429), 7, 7],
    ['HTML with 502', page(502), 7, 11],
    ['a redirect', page(302, { location: 'https://elsewhere.example/' }), 2, 2],
    ['See Other', page(303, { location: 'https://elsewhere.example/' }), 2, 11],
    ['an array', () => HttpResponse.json([]), 2, 11],
    ['a record without its id', () => HttpResponse.json({ accepted: true, created_at: 'x' }), 2, 11],
    ['204 where a body is due', () => new HttpResponse(null, { status: 204 }), 2, 11],
    ['an error without a message', () => HttpResponse.json({ error: 'not_found' }, { status: 404 }), 2, 2],
  ]

  it.each(foreign)(
    '%s: exits with its code, and prints the status and nothing on stdout',
    async (_, answer, exit, ofPost) => {
      answering(answer)
      for (const method of ['GET', 'POST', 'PUT'] as const) {
        const expected = { GET: exit, POST: ofPost, PUT: exit === 7 ? 7 : ofPost }[method] // a PUT is safe to repeat
        const { code, stdout, stderr } = await send(method, '-o', 'json')
        expect({ method, code, stdout }).toEqual({ method, code: expected, stdout: '' })
        expect(machineError(stderr)).toMatchObject({ code: 'unexpected_answer', status: answer().status })
      }
    },
  )

  it('after a successful change, says that it may have been applied, and exits with 11', async () => {
    answering(() => HttpResponse.html('<p>hello</p>'))
    const said = {
      GET: '',
      PUT: 'the change may or may not have been applied',
      DELETE: 'the change may or may not have been applied',
      POST: 'may or may not have been created',
    }
    for (const method of methods) {
      const { code, stderr } = await send(method)
      expect({ method, code }).toEqual({ method, code: method === 'GET' ? 2 : 11 })
      expect(stderr).toContain(said[method])
      expect(stderr.includes('may or may not')).toBe(method !== 'GET')
    }
  })

  it('prints its first 200 characters, escaped', async () => {
    answering(() => new HttpResponse(`<b>\u001b[31m${'x'.repeat(500)}`, { status: 404 }))
    const { stderr } = await send('GET')
    expect(stderr).toContain(`it begins: <b>\\u{1b}[31m${'x'.repeat(192)}\n`)
    expect(stderr).toContain('404')
  })

  it('does not follow a redirect', async () => {
    answering(page(307, { location: `${cli.instance.url}/api/v1/consents/8` }))
    for (const method of methods) await send(method)
    expect(cli.sent()).toHaveLength(methods.length)
  })
})

describe('no response', () => {
  it('a refused connection is retryable, for every method', async () => {
    const env = { CONSENTCTL_BASE_URL: `http://127.0.0.1:${await freePort()}` }
    for (const method of methods) {
      const { code, stdout, stderr } = await cli.run([...calls[method], '--json'], { env })
      expect({ method, code, stdout }).toEqual({ method, code: 7, stdout: '' })
      expect(machineError(stderr)).toMatchObject({ code: 'network', exit: 7, retryable: true })
    }
  })

  it('https to a server without TLS sends nothing and is not retryable', async () => {
    const env = { CONSENTCTL_BASE_URL: cli.instance.url.replace('http:', 'https:') }
    for (const method of methods) expect(await cli.run(calls[method], { env })).toMatchObject({ code: 2, stdout: '' })
    expect(cli.sent()).toEqual([])
  })

  it('a host without an address is an invalid setting, and the hint says what to check', async () => {
    const env = { CONSENTCTL_BASE_URL: 'https://no-such-host.invalid' }
    expectExit(await cli.run(calls.POST, { env }), 2, 'no-such-host.invalid', 'config list')
  })
})
