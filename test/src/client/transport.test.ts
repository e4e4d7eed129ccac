import { HttpResponse, http } from 'msw'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import { createClient } from '../../../src/client/connect.ts'
import { ContractError, NetworkError } from '../../../src/client/errors.ts'
import { log } from '../../../src/contract/log.ts'
import { interruptedError } from '../../../src/io/io.ts'
import { freePort } from '../../support/postgres.ts'
import { answers, apiKey, byId, consent, consentsPath, fails, useCli, uuid } from '../support.ts'
import { connectionTo } from './ways.ts'

const { instance, sent } = useCli()

let api: Client
beforeAll(() => {
  api = createClient(async () => connectionTo(instance.url))
})
afterAll(() => api.close())

describe('client › request', () => {
  it('sends the key, Accept and User-Agent, and a Content-Type only with a body', async () => {
    instance.use(answers('get', byId, consent()), answers('put', byId, consent({ id: '7' })))
    await api.consents.get({ params: { id: '7' } })
    await api.consents.update({ params: { id: '7' }, body: { accepted: true } })
    const [get, put] = instance.requests
    const common = { authorization: `Bearer ${apiKey}`, accept: 'application/json', 'user-agent': 'test/1' }
    expect(get).toMatchObject({ text: '', headers: common })
    expect(get?.headers).not.toHaveProperty('content-type')
    expect(put).toMatchObject({
      text: '{"accepted":true}',
      headers: { ...common, 'content-type': 'application/json' },
    })
  })

  it('omits an undefined query parameter, and sends one that is false', async () => {
    instance.use(answers('get', consentsPath, { data: [] }))
    await api.consents.list({ query: { accepted: false, subject_id: undefined, limit: 3 } })
    expect(instance.requests[0]?.url).toBe('/api/v1/consents?accepted=false&limit=3')
  })

  it('sends any text in a query unchanged', async () => {
    instance.use(answers('get', consentsPath, { data: [] }))
    const subject_id = `a b+c&d=e%20f#g?h/ï同👍"'\\`
    await api.consents.list({ query: { subject_id } })
    expect(sent()[0]?.query).toEqual({ subject_id })
  })

  it('sends any text of a body unchanged', async () => {
    instance.use(answers('post', consentsPath, consent(), 201))
    const body = {
      site_id: 's',
      subject_id: 'ï同👍\u0000\u001b\u2028',
      preferences: { '\ud800': [1e-7, -0.5, null] },
    }
    await api.consents.create({ body })
    expect(sent()[0]?.body).toEqual(body)
  })

  it('opens the connection once, at the first call', async () => {
    instance.use(answers('get', byId, consent()))
    let asked = 0
    const lazy = createClient(async () => {
      asked += 1
      return connectionTo(instance.url)
    })
    expect(asked).toBe(0)
    await Promise.all(['1', '2', '3'].map(id => lazy.consents.get({ params: { id } })))
    expect(asked).toBe(1)
    await lazy.close()
  })
})

describe('client › response', () => {
  it('when it is a record, returns null for absent fields, and no fields outside the contract', async () => {
    instance.use(answers('get', byId, { id: '7', accepted: true, created_at: 'x', invented: 1 }))
    const record = await api.consents.get({ params: { id: '7' } })
    expect(record).toEqual({
      ...Object.fromEntries(Object.keys(consent()).map(field => [field, null])),
      id: '7',
      accepted: true,
      created_at: 'x',
    })
  })

  it.each([
    ['update', (id: string) => api.consents.update({ params: { id }, body: {} })],
    ['removal', (id: string) => api.consents.remove({ params: { id } })],
  ])('to a %s, when it is about another record, throws a ContractError', async (_, change) => {
    instance.use(answers('put', byId, consent()), answers('delete', byId, consent()))
    const error = await change(uuid(2)).catch(each => each)
    expect(error).toBeInstanceOf(ContractError)
    expect(error).toMatchObject({ message: `the response is about ${uuid(1)}`, maybeDone: true })
    expect(await change(uuid(1).toUpperCase())).toMatchObject({ id: uuid(1) })
  })

  it('ignores a request id longer than 255 characters', async () => {
    const withId = fails(409, 'conflict')
    withId.headers.set('x-request-id', 'r'.repeat(256))
    instance.use(http.get(byId, () => withId))
    expect(await api.consents.get({ params: { id: '7' } }).catch(each => each)).toMatchObject({ requestId: null })
  })

  it('when it is anything else, throws a ContractError with the invalid field and the first 200 characters', async () => {
    instance.use(answers('get', byId, { id: 7, note: 'x'.repeat(900) }))
    const error = await api.consents.get({ params: { id: '7' } }).catch(each => each)
    expect(error).toBeInstanceOf(ContractError)
    expect(error.message).toContain('(id)')
    expect(error.excerpt).toHaveLength(200)
  })

  it('when none arrives, throws a NetworkError that states whether the request was sent', async () => {
    const nobody = createClient(async () => connectionTo('http://127.0.0.1:0'))
    await expect(nobody.consents.get({ params: { id: '7' } })).rejects.toBeInstanceOf(NetworkError)
    const port = await freePort()
    const refused = createClient(async () => connectionTo(`http://127.0.0.1:${port}`))
    await expect(refused.consents.get({ params: { id: '7' } })).rejects.toMatchObject({
      code: 'ECONNREFUSED',
      maybeDone: false,
    })
    await Promise.all([nobody.close(), refused.close()])
  })

  it('when it is not JSON, returns the bytes if the media type is the endpoint’s', async () => {
    const bytes = Buffer.from([0x30, 0xff, 0x00, 0x0a])
    const path = '*/api/v1/log/timestamp'
    const respond = (type: string) =>
      instance.use(http.get(path, () => new HttpResponse(bytes, { headers: { 'content-type': type } })))
    respond('application/timestamp-reply')
    expect(await api.bytes(log.timestamp, { query: { tree_size: 3 } })).toEqual(bytes)
    expect(instance.requests[0]).toMatchObject({ url: '/api/v1/log/timestamp?tree_size=3', headers: { accept: '*/*' } })
    respond('text/html; charset=utf-8')
    await expect(api.bytes(log.timestamp, {})).rejects.toThrow(
      'the response is not application/timestamp-reply (text/html)',
    )
    instance.use(http.get(path, () => fails(404, 'not_found')))
    await expect(api.bytes(log.timestamp, {})).rejects.toMatchObject({ name: 'ApiError', code: 'not_found' })
  })

  it('when it has 2 MB, is read in full', async () => {
    const data = Array.from({ length: 100 }, (_, index) =>
      consent({ id: String(index), user_agent: 'x'.repeat(20_000) }),
    )
    instance.use(http.get(consentsPath, () => HttpResponse.json({ data })))
    expect((await api.consents.list({})).data).toEqual(data)
  })
})

it('when a signal aborts the read before a change is retried, reports the error of the change', async () => {
  const interruption = new AbortController()
  instance.use(
    http.put(byId, () => fails(503, 'unavailable', 'overloaded')),
    http.get(byId, async () => {
      interruption.abort(interruptedError())
      await new Promise(() => {})
    }),
  )
  const client = createClient(async () => ({ ...connectionTo(instance.url), interruption: interruption.signal }))
  const error = await client.consents.update({ params: { id: '7' }, body: { accepted: true } }).catch(each => each)
  client.close()
  expect(error).toMatchObject({ name: 'ApiError', message: 'overloaded', maybeDone: true })
  expect(sent().map(({ method }) => method)).toEqual(['PUT', 'GET'])
})
