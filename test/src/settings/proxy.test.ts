import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { proxyFor } from '../../../src/settings/proxy.ts'
import { run } from '../../support/cli.ts'
import { useConnectProxy } from '../../support/connect-proxy.ts'
import { useInstance } from '../../support/instance.ts'
import { freePort } from '../../support/postgres.ts'
import { respond, useScriptedServer } from '../../support/scripted-server.ts'
import { expectExit, machineError } from '../support.ts'

const instance = useInstance()
const faulty = useScriptedServer()
const tunnel = useConnectProxy(() => faulty.port)
const base = { HOME: '/nowhere', CONSENTCTL_API_KEY: 'sk-x', CONSENTCTL_MAX_WAIT: '0' }
const https = { ...base, CONSENTCTL_BASE_URL: 'https://consent.example.com' }

it('uses no proxy for an instance on this machine', async () => {
  instance.use(http.get('*/api/v1/consents', () => HttpResponse.json({ data: [], next_cursor: null })))
  const proxies = { HTTP_PROXY: tunnel.url, https_proxy: tunnel.url, ALL_PROXY: tunnel.url }
  const env = { ...base, ...proxies, CONSENTCTL_BASE_URL: instance.url }
  expect(await run(['list', '-o', 'json'], { env })).toMatchObject({ code: 0, stdout: '[]\n' })
  expect(tunnel.requests).toEqual([])
})

it.each(['HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'])(
  'requests a tunnel from the proxy of %s without sending it the key or the path',
  async variable => {
    tunnel.status = 502
    const { code, stderr } = await run(['list'], { env: { ...https, [variable]: tunnel.url } })
    expect(code).toBe(7)
    expect(tunnel.requests).toHaveLength(4)
    expect(tunnel.requests[0]).toMatch(/^CONNECT consent\.example\.com:443 /)
    expect(tunnel.requests.join('') + stderr).not.toMatch(/sk-x|api\/v1/)
  },
)

it('sends the proxy its credentials, and never prints them', async () => {
  tunnel.status = 502
  const HTTPS_PROXY = tunnel.url.replace('://', '://ann:s3cret%21@')
  const { stderr } = await run(['list', '--debug'], { env: { ...https, HTTPS_PROXY } })
  const credentials = Buffer.from('ann:s3cret!').toString('base64')
  expect(tunnel.requests[0]?.toLowerCase()).toContain(`proxy-authorization: basic ${credentials.toLowerCase()}`)
  expect(stderr).toContain(tunnel.url)
  expect(stderr).not.toMatch(/s3cret|ann/)
  expect(stderr).not.toContain(credentials)
})

describe('proxy errors', () => {
  const create = ['create', '--site', '01939d2c-7b1a-7c3e-9a51-000000000abc', '--json']

  it('when the proxy requires credentials, exits with 2 and a hint', async () => {
    tunnel.status = 407
    const ran = await run(create, { env: { ...https, HTTPS_PROXY: tunnel.url } })
    expectExit(ran, 2, { hint: expect.stringContaining('HTTPS_PROXY=http://user:password@') })
    expect(tunnel.requests).toHaveLength(1)
  })

  it('when the proxy refuses the connection, exits with 7 and a hint', async () => {
    const HTTPS_PROXY = `http://127.0.0.1:${await freePort()}`
    const { code, stderr } = await run(create, { env: { ...https, HTTPS_PROXY } })
    expect(code).toBe(7)
    expect(machineError(stderr)['message']).toContain(`through the proxy ${HTTPS_PROXY}`)
    expect(machineError(stderr)['hint']).toMatch(/HTTPS_PROXY.*NO_PROXY/)
  })

  it.each(['socks5://127.0.0.1:1080', 'ftp://proxy', 'http://', 'http://[::'])(
    'reports an unusable proxy: %s',
    async HTTPS_PROXY => {
      const ran = await run(create, { env: { ...https, HTTPS_PROXY } })
      expectExit(ran, 2, { message: expect.stringContaining('HTTPS_PROXY') })
    },
  )
})

it('plain http uses a tunnel too, if it is allowed', async () => {
  faulty.script(respond(200, { data: [], next_cursor: null }))
  const CONSENTCTL_BASE_URL = `http://instance.test:${faulty.port}`
  const more = { CONSENTCTL_BASE_URL, CONSENTCTL_ALLOW_HTTP: 'instance.test', http_proxy: tunnel.url }
  expect(await run(['list', '--json'], { env: { ...base, ...more } })).toMatchObject({ stdout: '[]\n' })
  expect(tunnel.requests[0]).toMatch(/^CONNECT instance\.test:/)
  expect(faulty.requests[0]?.url).toBe('/api/v1/consents?limit=100')
})

describe('NO_PROXY', () => {
  const https = 'https://api.example.com:8443'
  it.each([
    ['*', https],
    ['example.com', https],
    ['.example.com', https],
    ['*.example.com', https],
    ['other.test, API.example.com', https],
    ['other.test api.example.com:8443', https],
    ['api.example.com:443', 'https://api.example.com'],
    ['10.1.2.3', 'https://10.1.2.3'],
    ['[2001:db8::1]', 'https://[2001:db8::1]'],
    ['2001:db8::1', 'https://[2001:db8::1]'],
    ['[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  ])('%s excludes %s', (NO_PROXY, address) => {
    expect(proxyFor(address, { NO_PROXY, HTTPS_PROXY: 'http://proxy.test:3128' })).toBeNull()
    expect(proxyFor(address, { no_proxy: NO_PROXY, HTTPS_PROXY: 'http://proxy.test:3128' })).toBeNull()
  })

  it.each(['', 'ample.com', 'api.example.com:443', 'example.com.', 'www.api.example.com', ',', '.'])(
    '%j does not exclude it',
    NO_PROXY => {
      const env = { NO_PROXY, HTTPS_PROXY: 'proxy.test:3128' }
      expect(proxyFor(https, env)).toEqual({
        url: 'http://proxy.test:3128/',
        shown: 'http://proxy.test:3128',
        source: 'HTTPS_PROXY',
      })
    },
  )

  it('http and https have separate proxies', () => {
    const env = { HTTP_PROXY: 'http://a.test', HTTPS_PROXY: 'http://b.test' }
    expect(proxyFor('http://c.test', env)?.shown).toBe('http://a.test')
    expect(proxyFor('https://c.test', env)?.shown).toBe('http://b.test')
    expect(proxyFor('https://c.test', { HTTP_PROXY: 'http://a.test' })).toBeNull()
  })
})
