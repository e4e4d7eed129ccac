import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import { createClient } from '../../../src/client/connect.ts'
import { consents } from '../../../src/contract/consents.ts'
import { keys } from '../../../src/contract/keys.ts'
import { session } from '../../../src/contract/session.ts'
import { sites } from '../../../src/contract/sites.ts'
import { subjects } from '../../../src/contract/subjects.ts'
import { explain } from '../../../src/errors/explain.ts'
import { close, type Fault, reset, respond, useScriptedServer } from '../../support/scripted-server.ts'
import { consent, site, uuid } from '../support.ts'
import { connectionTo } from './ways.ts'

const faulty = useScriptedServer()
let api: Client
let waits: number[]

beforeEach(() => {
  waits = []
  const pause = async (seconds: number) => void waits.push(seconds)
  api = createClient(async () => ({ ...connectionTo(faulty.url), maxWait: 60, pause }))
})
afterEach(() => api.close())

const error = (status: number, code: string, headers = {}) => respond(status, { error: code, message: 'm' }, headers)
const document = (...parameters: object[]) =>
  respond(200, { openapi: '3.1.1', paths: { '/api/v1/consents': { post: { parameters } } } })
const keyParameter = { name: 'idempotency-key', in: 'header' }
const made = respond(201, consent({ id: uuid(1) }))
const posts = () => faulty.requests.filter(({ method }) => method === 'POST')
const exitOf = async (call: Promise<unknown>) => explain(await call.catch(cause => cause)).exit

/** Answers for the instance's description by `describes`, and for everything else in the order of `faults`. */
function serve(describes: Fault, ...faults: Fault[]) {
  faulty.script((socket, request) => {
    const fault = request.url.endsWith('/openapi.json') ? describes : faults.shift()
    fault?.(socket, request)
  })
}

describe.each([
  ['a key', () => api.call(keys.create, { body: { name: 'x' } })],
  ['a site', () => api.call(sites.create, { body: { name: 'x' } })],
  ['a token', () => api.call(sites.rotateToken, { params: { id: site }, body: {} })],
])('client › POST › creating %s', (_, make) => {
  it.each([
    ['a lost response', reset],
    ['an empty response', close],
    ['a 503, which may follow a completed create', error(503, 'unavailable', { 'retry-after': '1' })],
  ])('after %s, is not retried, and has no Idempotency-Key', async (_name, fault) => {
    faulty.script(fault)
    expect(await exitOf(make())).toBe(11)
    expect(faulty.requests).toHaveLength(1)
    expect(faulty.requests[0]?.headers).not.toHaveProperty('idempotency-key')
  })

  it('after a 429, which precedes any processing, is retried', async () => {
    faulty.script(error(429, 'rate_limited', { 'retry-after': '7' }), error(400, 'invalid_request'))
    expect(await exitOf(make())).toBe(5)
    expect([faulty.requests.length, waits]).toEqual([2, [7]])
  })
})

describe('client › POST › creating a record', () => {
  const create = (idempotencyKey?: string) =>
    api.consents.create({ body: { site_id: site }, ...(idempotencyKey && { idempotencyKey }) })

  it('sends the given Idempotency-Key with every attempt', async () => {
    serve(document(keyParameter), reset, error(503, 'unavailable'), reset, made)
    expect(await create('my-key')).toMatchObject({ id: uuid(1) })
    expect(posts().map(({ headers }) => headers['idempotency-key'])).toEqual(Array(4).fill('my-key'))
    expect(new Set(posts().map(({ body }) => body)).size).toBe(1)
    expect(waits).toHaveLength(3)
  })

  it('without a key, sends a new one with each call', async () => {
    serve(document(), made, made)
    await create()
    await create()
    expect(new Set(posts().map(({ headers }) => headers['idempotency-key'])).size).toBe(2)
  })

  it('after a 503 that states that nothing was applied, retries without reading the description', async () => {
    faulty.script(error(503, 'unavailable', { 'request-not-applied': 'true' }), made)
    expect(await create()).toMatchObject({ id: uuid(1) })
    expect(faulty.requests.map(({ method }) => method)).toEqual(['POST', 'POST'])
  })

  it('when a response is lost, exits with 11 regardless of what later attempts return', async () => {
    serve(document(keyParameter), reset, ...Array(3).fill(error(503, 'unavailable', { 'request-not-applied': 'true' })))
    expect(await exitOf(create())).toBe(11)
  })

  it.each([
    ['does not list the key', document({ name: 'Idempotency-Key', in: 'query' })],
    ['has no list', respond(200, { paths: {} })],
    ['is not there', error(404, 'not_found')],
    ['is a page', respond(200, '<html>', { 'content-type': 'text/html' })],
    ['cannot be had', reset],
  ])('is not retried when the response is lost and the description %s', async (_, describes) => {
    serve(describes, reset, made)
    expect(await exitOf(create())).toBe(11)
    expect(posts()).toHaveLength(1)
  })

  it('when several responses are lost, reads the description once', async () => {
    serve(document(keyParameter), reset, reset, reset, reset, made, made, made, made)
    await Promise.all([create(), create(), create(), create()])
    expect(faulty.requests.filter(({ url }) => url.endsWith('openapi.json'))).toHaveLength(1)
    expect(await api.supports(consents.create, { in: 'header', name: 'Idempotency-Key' })).toBe(true)
  })

  it('when the description could not be read, reads it again for the next call', async () => {
    faulty.script(reset, reset, reset, reset, document(keyParameter))
    await expect(api.supports(consents.create, { in: 'header', name: 'Idempotency-Key' })).rejects.toMatchObject({
      name: 'NetworkError',
    })
    expect(await api.supports(consents.create, { in: 'header', name: 'Idempotency-Key' })).toBe(true)
  })
})

it('client › POST › when a reused connection breaks, counts the request as sent', async () => {
  const sockets = new Set<unknown>()
  const one = respond(200, { data: [] })
  faulty.script((socket, request) => {
    sockets.add(socket)
    const fault = request.method === 'GET' ? one : reset
    fault(socket, request)
  })
  await api.call(keys.list, {})
  await new Promise(setImmediate) // the connection is free again
  expect(await exitOf(api.call(keys.create, { body: { name: 'x' } }))).toBe(11)
  expect([faulty.requests.length, sockets.size]).toEqual([2, 1])
})

it('client › POST › retries a sign-in', async () => {
  const signIn = createClient(async () => ({ ...connectionTo(faulty.url), key: null }))
  const body = { account_id: 'a', user: { id: 'u', email: 'e' }, expires_at: 'x' }
  faulty.script(reset, respond(201, body), respond(200, body))
  await signIn.call(session.create, { body: { email: 'e', password: 'p' } })
  expect(faulty.requests).toHaveLength(2)
  await signIn.close()
})

it('client › DELETE › when the response to a revocation is lost, finds the key in the list', async () => {
  const key = {
    id: uuid(5),
    name: 'n',
    hint: null,
    scopes: ['read'],
    created_at: 'x',
    expires_at: null,
    last_used_on: null,
  }
  const listed = (revoked_at: string | null) => respond(200, { data: [{ ...key, revoked_at }] })
  const revoke = () => api.call(keys.revoke, { params: { id: uuid(5) } })
  faulty.script(reset, error(404, 'not_found'), listed('y'))
  expect(await revoke()).toMatchObject({ id: uuid(5), revoked_at: 'y' })
  faulty.script(reset, error(404, 'not_found'), listed(null))
  expect(await exitOf(revoke())).toBe(3)
})

it('client › close › aborts running requests, which are not retried', async () => {
  faulty.script(() => void api.close())
  await expect(api.consents.get({ params: { id: '7' } })).rejects.toMatchObject({ code: 'CLOSED' })
  expect(faulty.requests).toHaveLength(1)
})

describe('client › POST › a dry run', () => {
  it('is retried after a lost response', async () => {
    const certificate = respond(200, { complete: true })
    faulty.script(reset, error(503, 'unavailable'), certificate)
    await api.call(subjects.erase, { body: { subject_id: 'a', dry_run: true } }).catch(() => {})
    expect(faulty.requests).toHaveLength(3)
  })
})
