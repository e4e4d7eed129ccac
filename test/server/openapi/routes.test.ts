import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { pino } from 'pino'
import { afterAll, describe, expect, it } from 'vitest'
import { createApp } from '../../../server/app.ts'
import { connect } from '../../../server/db/connect.ts'
import { signerOf } from '../../../server/evidence/signer.ts'
import { nowhere } from '../../../server/net/geo.ts'
import { describeApi } from '../../../server/openapi/document.ts'
import { Quota } from '../../../server/quota/quota.ts'
import { signingKeyOf } from '../../../src/evidence/keys.ts'
import { usualConfig } from '../../support/service.ts'

const secret = Buffer.alloc(32)
const sql = connect({ target: { url: 'postgres://nobody@127.0.0.1:1/none' }, max: 1 })
const app = createApp({
  sql,
  quota: new Quota(sql),
  config: usualConfig,
  geo: { lookup: () => nowhere },
  logger: pino({ level: 'silent' }),
  signer: signerOf(signingKeyOf(secret)),
  cursorSecret: secret,
  consentTokenSecret: secret,
  sessionSecret: secret,
  subjectSecret: secret,
  originSecret: secret,
})
afterAll(async () => {
  await app.close()
  await sql.end()
})

const { paths } = describeApi() as { paths: Record<string, object> }

describe('GET /api/v1/openapi.json › routes', () => {
  it('are exactly those of the document', async () => {
    const registered: string[] = []
    app.addHook('onRoute', ({ method, url, config }) => {
      if (config?.allow === undefined) registered.push(...[method].flat().map(one => `${one} ${url}`))
    })
    await app.ready()
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map(method => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
    )
    const preflights = registered.filter(route => route.startsWith('OPTIONS '))
    expect(preflights).toEqual(['OPTIONS /api/v1/public/consent'])
    const page = ['GET /', 'HEAD /', 'GET /dashboard/:file']
    expect(registered.filter(route => !preflights.includes(route)).sort()).toEqual([...described, ...page].sort())
  })

  it('serves the document to anyone, without a database', async () => {
    const answer = await app.inject('/api/v1/openapi.json')
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
    expect(answer.json()).toEqual(describeApi())
  })
})

describe('GET /api/v1/docs › page', () => {
  it('lists each operation of the document once, without scripts or external resources', async () => {
    const { statusCode, headers, body } = await app.inject('/api/v1/docs')
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const operations = Object.values(paths).flatMap(one => Object.values(one) as { operationId: string }[])
    const ids = [...body.matchAll(/<details id="([^"]+)"/g)].map(([, id]) => id)
    expect(ids.sort()).toEqual(operations.map(({ operationId }) => operationId).sort())
    expect(body).not.toMatch(/<script|<link|<img|url\(|@import|undefined|\[object/i)
    const digest = createHash('sha256')
      .update(/<style>([\s\S]*)<\/style>/.exec(body)?.[1] ?? '')
      .digest('base64')
    expect(headers['content-security-policy']).toContain(`default-src 'none'; style-src 'sha256-${digest}';`)
  })

  it('shows text of the document as plain text', async () => {
    const { body } = await app.inject('/api/v1/docs')
    expect(body).toContain('&#60;!doctype html&#62;')
    expect(body.match(/<!doctype/g)).toHaveLength(1)
  })
})

it('GET /api/v1/openapi.json › is compressed on request, and returns 304 for a matching If-None-Match', async () => {
  const get = (headers: object) => app.inject({ url: '/api/v1/openapi.json', headers: { ...headers } })
  const plain = await get({})
  const packed = await get({ 'accept-encoding': 'gzip' })
  expect(packed.headers).toMatchObject({
    'content-encoding': 'gzip',
    etag: plain.headers.etag,
    vary: 'Accept-Encoding',
  })
  expect(gunzipSync(packed.rawPayload).equals(plain.rawPayload)).toBe(true)
  expect(packed.rawPayload.length * 4).toBeLessThan(plain.rawPayload.length)
  expect((await get({ 'if-none-match': plain.headers.etag })).statusCode).toBe(304)
  expect((await get({ 'if-none-match': 'W/"another"' })).statusCode).toBe(200)
})
