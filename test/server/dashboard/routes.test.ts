import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'

const service = useService({ config: { dashboard: true } })
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

async function page() {
  return await service.app.inject({ url: '/', headers: html })
}

describe('GET /', () => {
  it('serves the page to a browser, with a policy that allows only its script', async () => {
    const { statusCode, headers, body } = await page()
    const [, integrity = ''] = /<script [^>]*integrity="([^"]+)"/.exec(body) ?? []
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(integrity).toMatch(/^sha256-/)
    expect(headers['content-security-policy']).toContain(`script-src '${integrity}';`)
    expect(headers['content-security-policy']).not.toContain('unsafe')
  })

  it.each([['*/*'], ['application/json'], [undefined]])(
    'with Accept %s, links the health route and the API description',
    async accept => {
      const headers = accept === undefined ? {} : { accept }
      const answer = await service.app.inject({ url: '/', headers })
      expect([answer.statusCode, answer.json()]).toEqual([200, { ready: '/ready', openapi: '/api/v1/openapi.json' }])
      for (const url of Object.values<string>(answer.json()))
        expect((await service.app.inject({ url })).statusCode).toBe(200)
    },
  )

  it.each([html, { accept: '*/*' }])(
    'returns the same headers for GET and HEAD, and no body for HEAD, with %j',
    async headers => {
      const [get, head] = await Promise.all(['GET', 'HEAD'].map(method => fetch(service.url, { method, headers })))
      expect([get?.status, head?.status, await head?.text()]).toEqual([200, 200, ''])
      for (const name of ['content-type', 'content-length', 'vary', 'cache-control', 'content-security-policy'])
        expect([name, head?.headers.get(name)]).toEqual([name, get?.headers.get(name)])
    },
  )

  it('when the dashboard is disabled, serves no page', async () => {
    const node = await service.addNode({ config: { dashboard: false } })
    const answer = await node.app.inject({ url: '/', headers: html })
    expect([answer.statusCode, answer.json()]).toEqual([200, { ready: '/ready', openapi: '/api/v1/openapi.json' }])
  })
})

describe('GET /dashboard/FILE', () => {
  async function filesOfPage(): Promise<string[]> {
    const { body } = await page()
    return [...body.matchAll(/(?:src|href)="(dashboard\/[^"]+)"/g)].map(([, path = '']) => `/${path}`)
  }

  it('serves every file of the page, cacheable for a year, and compressed if the browser supports it', async () => {
    const paths = await filesOfPage()
    expect(paths).toHaveLength(3)
    for (const url of paths) {
      const plain = await service.app.inject({ url })
      const packed = await service.app.inject({ url, headers: { 'accept-encoding': 'gzip, br;q=0' } })
      const smallest = await service.app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } })
      expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable')
      expect(packed.headers['content-encoding']).toBe('gzip')
      expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true)
      expect(smallest.headers['content-encoding']).toBe('br')
      expect(brotliDecompressSync(smallest.rawPayload).equals(plain.rawPayload)).toBe(true)
    }
  })

  it('when a file does not belong to the page, responds as to any unknown route', async () => {
    for (const url of ['/dashboard/app.js', '/dashboard/..%2f..%2fpackage.json', '/dashboard/files.json'])
      expect((await service.app.inject({ url, headers: html })).statusCode).toBe(401)
  })

  it('serves the whole page in at most 75 kB', async () => {
    const sizes = ['/', ...(await filesOfPage())].map(async url => {
      const answer = await service.app.inject({
        url,
        headers: { ...html, 'accept-encoding': 'gzip, deflate, br, zstd' },
      })
      return answer.rawPayload.length
    })
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(75_000)
  })
})
