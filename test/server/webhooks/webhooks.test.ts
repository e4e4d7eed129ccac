import { beforeEach, describe, expect, it } from 'vitest'
import type { AccountEntry, NewWebhook } from '../../../src/contract/index.ts'
import { dumpDatabase } from '../keys/keys.ts'
import { verified } from '../verify/verified.ts'
import { newHookOwner, useWebhooks, verify } from './receiver.ts'

const { service, receiver, deliver } = useWebhooks()
let own: Awaited<ReturnType<typeof newHookOwner>>
beforeEach(async () => {
  own = await newHookOwner(service)
})

const url = 'https://hooks.example.com/consents'
const entries = async (): Promise<AccountEntry[]> =>
  (await service.call('GET', '/api/v1/audit?target=webhook', { key: own.key })).body.data
const newest = async () => (await entries())[0]

describe('webhooks', () => {
  it('are listed newest first, without their secrets', async () => {
    const first = await own.createHook(url)
    const second = await own.createHook(url, { types: ['erased'], site_ids: [own.siteId], signature: 'v1a' })
    expect(first.secret).toMatch(/^whsec_[\w+/]{43}=$/)
    expect([second.secret, second.public_key]).toEqual([null, expect.stringMatching(/^whpk_[\w+/]{43}=$/)])
    const { body } = await own.send('GET')
    const known = ({ secret: _, ...shown }: NewWebhook) => ({ ...shown, position: expect.any(Number) })
    expect(body.data).toEqual([known(second), known(first)])
    expect(JSON.stringify(body)).not.toContain('whsec_')
    expect(JSON.stringify(await own.show(first.id))).not.toContain('whsec_')
  })

  it('show the URL without what may be secret in it, everywhere', async () => {
    const hook = await own.createHook('https://user:canary-1@Hooks.example.com/a@b?key=canary-2#canary-3')
    expect(hook.url).toBe('https://hooks.example.com/a@b')
    await own.change(hook.id, { url: 'https://canary-4@hooks.example.com?canary-5' })
    expect(JSON.stringify([await own.show(hook.id), await entries(), (await own.send('GET')).body])).not.toContain(
      'canary',
    )
    const [row] = (await dumpDatabase(service)).split('\n').filter(line => line.includes('canary-5'))
    expect(row).toContain('https://canary-4@hooks.example.com/?canary-5') // in their own row alone
    expect((await dumpDatabase(service)).split('\n').filter(line => line.includes('canary'))).toEqual([row])
  })

  it('begin with the next event', async () => {
    const { id } = await own.create({ accepted: true })
    await own.createHook(receiver.url, { types: ['created', 'deleted'] })
    await own.remove(id)
    await deliver()
    expect(receiver.deliveries.map(({ event }) => event.type)).toEqual(['deleted'])
  })

  it.each<[string, object, string]>([
    ['a type that there is not', { types: ['gone'] }, 'types.0'],
    ['a type twice', { types: ['erased', 'erased'] }, 'twice'],
    ['no type', { types: [] }, 'types'],
    ['another signature', { signature: 'v2' }, 'signature'],
    ['another field', { secret: 'whsec_' }, 'secret'],
  ])('are rejected with %s', async (_, draft, named) => {
    const { status, body } = await own.send('POST', '', { url, ...draft })
    expect([status, body.message]).toEqual([400, expect.stringContaining(named)])
  })

  it('of a site that the account has not, or that are not there, are unknown', async () => {
    const other = await newHookOwner(service)
    const { id } = await other.createHook(url)
    expect((await own.send('POST', '', { url, site_ids: [other.siteId] })).status).toBe(404)
    const mine = await own.createHook(url)
    expect((await own.send('PATCH', `/${mine.id}`, { site_ids: [other.siteId] })).status).toBe(404)
    for (const [method, below, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { paused: true }],
      ['DELETE', '', undefined],
      ['POST', '/secret', {}],
      ['POST', '/test', undefined],
      ['POST', '/rewind', { after: null }],
    ] as const)
      expect([method, (await own.send(method, `/${id}${below}`, body)).status]).toEqual([method, 404])
    expect((await other.show(id)).state).toBe('active')
  })

  it('are at most 50 an account', async () => {
    for (let count = 0; count < 50; count += 1) await own.createHook(url)
    const { status, body } = await own.send('POST', '', { url })
    expect([status, body.message]).toEqual([409, 'The account has 50 webhooks, the most that one can have.'])
  })

  it('are in the administrators’ log with each change', async () => {
    const { id } = await own.createHook(url, { types: ['erased'] })
    await own.change(id, { types: null, paused: true })
    expect(await newest()).toMatchObject({
      ...{ action: 'webhook_updated', target: { kind: 'webhook', id }, actor: { kind: 'api_key' } },
      before: { types: ['erased'], paused_at: null },
      after: { types: null, paused_at: expect.any(String) },
    })
    await own.change(id, { paused: true })
    expect((await entries()).length).toBe(2)
    await own.rotate(id)
    expect((await newest())?.action).toBe('webhook_secret_rotated')
    await own.rewind(id, { after: null })
    expect(await newest()).toMatchObject({ action: 'webhook_rewound', after: { rewound: { after: -1 } } })
    expect((await own.send('DELETE', `/${id}`)).status).toBe(200)
    expect(await newest()).toMatchObject({ action: 'webhook_removed', before: { id }, after: null })
    expect((await own.send('GET')).body.data).toEqual([])
  })
})

describe('a paused webhook', () => {
  it('gets nothing, and continues where it stopped', async () => {
    const { id } = await own.createHook(receiver.url, { types: ['created'] })
    await own.change(id, { paused: true })
    const record = await own.create({ accepted: true })
    await deliver()
    expect(receiver.deliveries).toEqual([])
    await own.change(id, { paused: false })
    await deliver()
    expect(receiver.deliveries.map(({ event }) => event.record_id)).toEqual([record.id])
  })
})

describe('rewind', () => {
  it('sends events again with their ids, from a position, a time or the beginning', async () => {
    const { id } = await own.createHook(receiver.url, { types: ['created'] })
    for (let count = 0; count < 3; count += 1) await own.create({ accepted: true })
    await deliver()
    const sent = receiver.deliveries.map(delivery => delivery.id).toSorted()
    const { event } = receiver.deliveries.toSorted((a, b) => a.event.position - b.event.position)[0] ?? { event: null }
    const again = async (to: object) => {
      receiver.deliveries = []
      await own.rewind(id, to)
      await deliver()
      return receiver.deliveries.map(delivery => delivery.id).toSorted()
    }
    expect(await again({ after: null })).toEqual(sent)
    expect(await again({ from: '2020-01-01T00:00:00Z' })).toEqual(sent)
    expect(await again({ after: event?.position })).toHaveLength(2)
  })

  it('gives up what is undelivered, and clears a failure', async () => {
    const { id } = await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = () => 500
    await own.create({ accepted: true })
    await deliver()
    const { position, undelivered } = await own.show(id)
    expect(undelivered).toBe(1)
    expect(await own.rewind(id, { after: position })).toMatchObject({ undelivered: 0, next_attempt_at: null, position })
  })

  it.each<[object, number]>([
    [{}, 400],
    [{ after: 1, from: '2026-01-01T00:00:00Z' }, 400],
    [{ after: -1 }, 400],
    [{ after: 5000 }, 409],
  ])('rejects %j', async (to, status) => {
    const { id } = await own.createHook(url)
    expect((await own.send('POST', `/${id}/rewind`, to)).status).toBe(status)
  })
})

describe('a test', () => {
  it('is sent at once, signed, and says how the endpoint answered', async () => {
    const { id, secret } = await own.createHook(receiver.url)
    await own.change(id, { paused: true })
    const { body } = await own.send('POST', `/${id}/test`)
    expect(body).toEqual({ at: expect.any(String), position: null, status: 204, ms: expect.any(Number), problem: null })
    const [delivery] = receiver.deliveries
    expect(delivery && verify(secret, delivery)).toEqual({ type: 'test' })
    receiver.answer = () => 401
    expect((await own.send('POST', `/${id}/test`)).body).toMatchObject({ status: 401, problem: 'answered 401' })
  })

  it('is only made a few at a time, and holds up no other request', async () => {
    const { id } = await own.createHook(receiver.url)
    receiver.answer = () => undefined
    const tests = Array.from({ length: 20 }, () => own.send('POST', `/${id}/test`))
    expect((await own.send('GET')).status).toBe(200)
    expect(new Set((await Promise.all(tests)).map(({ status }) => status))).toEqual(new Set([200, 503]))
  })
})

describe('admin verify', () => {
  it.each(['url', 'secret', 'types'])('finds a changed %s of a webhook', async column => {
    const { id } = await own.createHook(url)
    const value = { url: 'https://evil.example.com/', secret: Buffer.alloc(32), types: null }[column]
    await own.change(id, { types: ['erased'] })
    expect(await findings()).toEqual([])
    await service.sql`update webhooks set ${service.sql({ [column]: value ?? null })} where id = ${id}`
    expect(await findings()).toEqual([expect.stringContaining(`webhook ${id}`)])
  })

  const findings = async () =>
    (await verified(service.sql, { account: own.accountId })).findings.map(({ detail }) => detail)
})
