import { verify as verifyEd25519 } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { publicKeyOf } from '../../../src/evidence/keys.ts'
import { hourMs, newHookOwner, useWebhooks, verify } from './receiver.ts'

const { service, receiver, clock, newNode, deliver, pass, received } = useWebhooks()
let own: Awaited<ReturnType<typeof newHookOwner>>
beforeEach(async () => {
  own = await newHookOwner(service)
})

describe('a delivery', () => {
  it('is the event of the feed, signed by Standard Webhooks, once', async () => {
    await own.createMany(1)
    const { id: hook, secret } = await own.createHook(receiver.url)
    const [id = ''] = await own.createMany(1)
    await own.update(id, { preferences: { marketing: false } })
    await deliver()
    await deliver()
    const known = receiver.deliveries.map(({ event }) => [event.type, event.record_id, event.purposes])
    expect(known).toHaveLength(3)
    expect(known).toContainEqual(['account.webhook_created', null, null])
    expect(known.filter(([, record]) => record !== null)).toEqual([
      ['created', id, { marketing: [null, true] }],
      ['withdrawn', id, { marketing: [true, false] }],
    ])
    const feed = (await service.call('GET', '/api/v1/events?limit=1000', { key: own.key })).body.data as object[]
    for (const delivery of receiver.deliveries) {
      expect(verify(secret, delivery)).toEqual(delivery.event)
      expect(feed).toContainEqual(delivery.event)
      expect(delivery.id).toBe(`${hook}_${delivery.event.hash.slice(0, 32)}`)
      expect(() => verify(secret, { ...delivery, body: `${delivery.body} ` })).toThrow()
    }
    expect(JSON.stringify(receiver.deliveries)).not.toContain('maria')
    expect(await own.show(hook)).toMatchObject({
      ...{
        state: 'active',
        undelivered: 0,
        position: Math.max(...receiver.deliveries.map(({ event }) => event.position)),
      },
      attempts: [{ status: 204, problem: null }, { status: 204 }, { status: 204 }],
    })
  })

  it('is signed with Ed25519 on request', async () => {
    const { secret, public_key } = await own.createHook(receiver.url, { signature: 'v1a' })
    expect(secret).toBeNull()
    await deliver()
    const [{ body, headers } = { body: '', headers: {} as Record<string, string> }] = receiver.deliveries
    const key = publicKeyOf(Buffer.from(public_key?.replace('whpk_', '') ?? '', 'base64'))
    const [scheme, signature = ''] = headers['webhook-signature']?.split(',') ?? []
    const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
    expect(scheme).toBe('v1a')
    expect(verifyEd25519(null, signed, key, Buffer.from(signature, 'base64'))).toBe(true)
  })

  it('is signed with the new secret and the previous one until that ends', async () => {
    const first = await own.createHook(receiver.url)
    const second = await own.rotate(first.id, { overlap_hours: 1 })
    await deliver()
    await own.rotate(first.id, { overlap_hours: 0 })
    await deliver()
    const [both, last] = [receiver.deliveries[0], receiver.deliveries.at(-1)]
    if (!both || !last) throw new Error('nothing was delivered')
    expect(verify(first.secret, both)).toEqual(verify(second.secret, both))
    expect(() => verify(second.secret, last)).toThrow()
  })

  it('is only of the wanted types and sites', async () => {
    const { body: site } = await service.call('POST', '/api/v1/sites', {
      headers: await service.signIn(own),
      body: { name: 'Other' },
    })
    await own.createHook(receiver.url, { types: ['withdrawn'], site_ids: [site.id] })
    const there = await own.create({ ...own.given, site_id: site.id })
    const [here = ''] = await own.createMany(1)
    for (const id of [there.id, here]) await own.update(id, { preferences: { marketing: false } })
    await deliver()
    expect(received()).toEqual([[there.id, 2]])
  })

  it('is only of what is wanted at its time', async () => {
    const { id: hook } = await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = () => 500
    await own.createMany(2)
    await deliver()
    receiver.deliveries = []
    receiver.answer = () => 200
    await own.change(hook, { types: ['erased'] })
    await deliver()
    expect(receiver.deliveries).toEqual([])
    expect(await own.show(hook)).toMatchObject({ undelivered: 0, next_attempt_at: null })
  })

  it('carries no purposes of a record that was purged meanwhile', async () => {
    const { id: hook } = await own.createHook(receiver.url, { types: ['created'] })
    const [id = ''] = await own.createMany(1)
    await own.change(hook, { paused: true })
    await deliver()
    await service.call('POST', '/api/v1/subjects/purge', { key: own.key, body: { ids: [id] } })
    await own.remove(id)
    await service.call('POST', '/api/v1/subjects/purge', { key: own.key, body: { ids: [id] } })
    await own.change(hook, { paused: false })
    await deliver()
    expect(receiver.deliveries.map(({ event }) => [event.type, event.purposes])).toEqual([['created', null]])
  })
})

describe('an endpoint that fails', () => {
  it.each([
    ['a redirect', 302],
    ['an error of the request', 400],
    ['an error of the server', 500],
  ])('is one that answers with %s', async (_, status) => {
    const { id: hook } = await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = (_delivery, response) => void response.writeHead(status, { location: '/elsewhere' }).end()
    await own.createMany(1)
    await deliver()
    expect(receiver.deliveries).toHaveLength(1)
    const { attempts } = await own.show(hook)
    expect(attempts).toEqual([expect.objectContaining({ status, problem: `answered ${status}` })])
  })

  it.each<[string, typeof receiver.answer, string | null]>([
    ['never', () => undefined, 'no answer within 0.5 s'],
    ['with garbage', (_d, _r, request) => void request.socket.end('nonsense\r\n\r\n'), 'no answer (HTTPParserError)'],
    ['by hanging up', (_d, _r, request) => void request.socket.destroy(), 'no answer (UND_ERR_SOCKET)'],
    ['with an endless body', (_d, response) => void response.writeHead(200).write('x'.repeat(1_000_000)), null],
    [
      'with a body that is never complete',
      (_d, response) => void response.writeHead(200, { 'content-length': '1000' }).write('x'),
      null,
    ],
  ])('answers %s, and does not keep the node', async (_, answer, problem) => {
    const { id: hook } = await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = answer
    await own.createMany(1)
    await deliver()
    expect((await own.show(hook)).attempts).toEqual([expect.objectContaining({ problem })])
  })

  it('is tried again soon after its first failures, however many were in flight', async () => {
    const { id } = await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = () => 500
    await own.createMany(40)
    await deliver()
    const { next_attempt_at, attempts } = await own.show(id)
    expect(attempts.length).toBeGreaterThanOrEqual(10)
    expect(Date.parse(next_attempt_at ?? '') - clock.now).toBeLessThan(6000)
  })

  it('gets what failed with the next event that it accepts', async () => {
    const { id } = await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = () => 500
    const ids = await own.createMany(5)
    await pass(hourMs, 10_000)
    receiver.answer = () => 200
    receiver.deliveries = []
    ids.push(...(await own.createMany(1)))
    await deliver()
    await deliver()
    expect(new Set(received().map(([record]) => record))).toEqual(new Set(ids))
    expect(await own.show(id)).toMatchObject({ undelivered: 0 })
  })

  it('is paused by 410 until it is continued, and then gets what it has not got', async () => {
    const { id: hook } = await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = () => 410
    const ids = await own.createMany(3)
    await deliver()
    const count = receiver.deliveries.length
    await pass(10 * hourMs)
    expect(receiver.deliveries).toHaveLength(count)
    expect(await own.show(hook)).toMatchObject({ state: 'paused', next_attempt_at: null })
    receiver.answer = () => 200
    expect(await own.change(hook, { paused: false })).toMatchObject({ state: 'active' })
    await deliver()
    expect(new Set(received().map(([id]) => id))).toEqual(new Set(ids))
    expect(await own.hookActions()).toEqual(['webhook_updated', 'webhook_updated', 'webhook_created'])
  })
})

describe('nodes', () => {
  it('share an endpoint: one delivers at a time', async () => {
    await own.createHook(receiver.url, { types: ['created'] })
    const ids = await own.createMany(20)
    await Promise.all([deliver(newNode()), deliver(newNode()), deliver(newNode())])
    expect(
      received()
        .map(([id]) => id)
        .toSorted(),
    ).toEqual(ids.toSorted())
  })

  it('stop delivering when the endpoint is removed, and use a new secret at once', async () => {
    const { id } = await own.createHook(receiver.url, { types: ['created'] })
    const other = await own.createHook(receiver.url, { types: ['created'] })
    await own.createMany(60)
    receiver.answer = async () => {
      await delay(200)
      clock.now += 200
      return 200
    }
    clock.now = Date.now() + 1
    const node = newNode()
    await node.job.run(new AbortController().signal)
    await delay(100)
    await own.send('DELETE', `/${id}`)
    const { secret } = await own.rotate(other.id, { overlap_hours: 0 })
    await node.ended()
    expect(receiver.deliveries.filter(delivery => delivery.id.startsWith(id)).length).toBeLessThan(30)
    receiver.answer = () => 200
    receiver.deliveries = []
    await deliver()
    expect(receiver.deliveries.length).toBeGreaterThan(0)
    for (const delivery of receiver.deliveries) expect(verify(secret, delivery)).toEqual(delivery.event)
  })

  it('serve other endpoints while one is slow', async () => {
    const slow = await own.createHook(receiver.url, { types: ['created'] })
    const fast = await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = async ({ id }) => {
      if (id.startsWith(slow.id)) await new Promise(resolve => setTimeout(resolve, 400))
      return 200
    }
    await own.createMany(40)
    clock.now = Date.now() + 1
    const node = newNode()
    await node.job.run(new AbortController().signal)
    await expect.poll(() => receiver.deliveries.filter(({ id }) => id.startsWith(fast.id)).length).toBe(40)
    expect(receiver.deliveries.filter(({ id }) => id.startsWith(slow.id)).length).toBeLessThan(40)
    await node.ended()
  })
})
