import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { run } from '../support/cli.ts'
import { useInstance } from '../support/instance.ts'

const instance = useInstance()
const base = { HOME: '/nowhere', CONSENTCTL_API_KEY: 'sk-x' }

it('a proxy of the environment is never asked for what is on this machine: it would be shown the key', async () => {
  instance.use(http.get('*/api/v1/consents', () => HttpResponse.json({ data: [], next_cursor: null })))
  const proxies = { HTTP_PROXY: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9' }
  const env = { ...base, ...proxies, CONSENTCTL_BASE_URL: instance.url }
  expect(await run(['list', '-o', 'json'], { env })).toMatchObject({ code: 0, stdout: '[]\n' })
})

it.each([
  ['is asked for everything else', {}, /^CONNECT consent\.example\.com:443 /],
  ['is not asked for what NO_PROXY names', { NO_PROXY: 'example.com' }, /^$/],
])('a proxy of the environment %s', async (_name, more, asked) => {
  let received = ''
  const proxy = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', data => {
      received = String(data)
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const env = { ...base, ...more, HTTPS_PROXY: url, CONSENTCTL_BASE_URL: 'https://consent.example.com' }
  const { code, stderr } = await run(['list'], { env })
  proxy.close()
  expect(code).toBe(7)
  expect(received).toMatch(asked)
  expect(received + stderr).not.toContain('sk-x')
})
