import { beforeEach, describe, expect, it } from 'vitest'
import { hourMs, newHookOwner, useWebhooks } from './receiver.ts'

const { service, receiver, clock, newNode, deliver, pass, received } = useWebhooks()
let own: Awaited<ReturnType<typeof newHookOwner>>
beforeEach(async () => {
  own = await newHookOwner(service)
})

describe('an endpoint that fails', () => {
  it('gets everything after 72 hours, each record in order and with the ids of the first attempts', async () => {
    const { id: hook } = await own.createHook(receiver.url)
    receiver.answer = () => 500
    const ids = await own.createMany(60)
    for (const id of ids) await own.update(id, { preferences: { marketing: false } })
    await pass(72 * hourMs)
    expect(receiver.deliveries.length).toBeLessThan(300)
    expect(await own.show(hook)).toMatchObject({ state: 'failing', failing_since: expect.any(String) })
    const tried = new Set(receiver.deliveries.map(({ id }) => id))
    receiver.deliveries = []
    receiver.answer = () => 200
    await pass(3 * hourMs)
    expect(tried.size).toBeGreaterThan(9)
    for (const id of tried) expect(receiver.deliveries.map(delivery => delivery.id)).toContain(id)
    for (const id of ids)
      expect(received().filter(([record]) => record === id)).toEqual([
        [id, 1],
        [id, 2],
      ])
    expect(await own.show(hook)).toMatchObject({ state: 'active', failing_since: null, undelivered: 0 })
    expect(await own.hookActions()).toEqual(['webhook_recovered', 'webhook_failing', 'webhook_created'])
  })

  it('is tried again after 5 seconds, then after twice as long, up to an hour, and never less often', async () => {
    await own.createHook(receiver.url, { types: ['created'] })
    receiver.answer = () => 503
    const times: number[] = []
    await own.createMany(1)
    for (const until = clock.now + 6 * hourMs; clock.now < until; clock.now += 1000) {
      const before = receiver.deliveries.length
      if (clock.now - (times.at(-1) ?? 0) >= 3000) await deliver()
      if (receiver.deliveries.length > before) times.push(clock.now)
      if (times.length > 10) clock.now += 60_000
    }
    const pauses = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000)
    for (const [index, pause] of pauses.slice(0, 9).entries()) {
      expect(pause).toBeGreaterThanOrEqual(5 * 2 ** index * 0.8)
      expect(pause).toBeLessThanOrEqual(5 * 2 ** index * 1.2 + 4)
    }
    expect(Math.max(...pauses)).toBeLessThanOrEqual(1.25 * 3600)
  })

  it('holds up only the record of an event that it never accepts', async () => {
    const { id: hook } = await own.createHook(receiver.url, { types: ['created', 'withdrawn'] })
    const ids = await own.createMany(30)
    const bad = ids[3]
    let isBad = true
    receiver.answer = ({ event }) => (isBad && event.record_id === bad && event.version === 1 ? 500 : 200)
    for (const id of ids) await own.update(id, { preferences: { marketing: false } })
    await pass(24 * hourMs, hourMs / 60)
    expect(await own.show(hook)).toMatchObject({ undelivered: 1, state: 'failing' })
    for (const id of ids) {
      const versions = received()
        .filter(([record]) => record === id)
        .map(([, version]) => version)
      expect(new Set(versions)).toEqual(new Set(id === bad ? [1] : [1, 2]))
    }
    const more = await own.createMany(1) // although nothing but failures was seen for hours
    await pass(2 * hourMs)
    expect(received()).toContainEqual([more[0], 1])
    isBad = false
    await pass(2 * hourMs)
    expect(
      received()
        .filter(([record]) => record === bad)
        .slice(-2),
    ).toEqual([
      [bad, 1],
      [bad, 2],
    ])
    expect(await own.show(hook)).toMatchObject({ undelivered: 0, state: 'active' })
  }, 120_000)

  it('holds up no other record, however many events of one are not accepted', async () => {
    const { id: hook } = await own.createHook(receiver.url, { types: ['created', 'updated', 'withdrawn'] })
    const [bad = ''] = await own.createMany(1)
    let isBad = true
    receiver.answer = ({ event }) => (isBad && event.record_id === bad ? 400 : 200)
    for (let round = 0; round < 230; round += 1) await own.update(bad, { preferences: { marketing: round % 2 === 1 } })
    await pass(8 * hourMs)
    const [good] = await own.createMany(1)
    const before = clock.now
    while (!received().some(([record]) => record === good) && clock.now < before + hourMs) await pass(1000, 1000)
    expect(clock.now - before).toBeLessThan(20_000)
    isBad = false
    await pass(3 * hourMs)
    const versions = received()
      .filter(([record]) => record === bad)
      .map(([, version]) => Number(version))
    expect(versions.slice(-231)).toEqual(Array.from({ length: 231 }, (_, index) => index + 1))
    expect(await own.show(hook)).toMatchObject({ undelivered: 0, state: 'active' })
  })

  it('keeps at most 100 undelivered records, and its place', async () => {
    const { id: hook } = await own.createHook(receiver.url, { types: ['created'] })
    let isDown = true
    receiver.answer = ({ event }) => (isDown && event.position % 2 === 0 ? 500 : 200)
    const ids = await own.createMany(260)
    await pass(30_000, 7000)
    const { undelivered, position } = await own.show(hook)
    expect(undelivered).toBe(100)
    expect(position).toBeLessThan(240)
    isDown = false
    await pass(2 * hourMs)
    expect(new Set(received().map(([id]) => id))).toEqual(new Set(ids))
  })
})

describe('nodes', () => {
  it('that are killed by turns lose nothing, and keep the order of each record', async () => {
    await own.createHook(receiver.url, { types: ['created', 'updated', 'withdrawn'] })
    const ids = await own.createMany(12)
    receiver.answer = () => (Math.random() < 0.2 ? 500 : 200)
    const until = performance.now() + 6000
    const changes = (async () => {
      for (let round = 0; performance.now() < until; round += 1)
        for (const id of ids) await own.update(id, { preferences: { marketing: round % 2 === 1 } })
    })()
    while (performance.now() < until) {
      const killed = new AbortController()
      const nodes = [newNode(), newNode()]
      await Promise.all(nodes.map(node => node.job.run(killed.signal)))
      setTimeout(() => killed.abort(), Math.random() * 60)
      await Promise.all(nodes.map(node => node.ended()))
      clock.now += Math.random() * 20_000
    }
    await changes
    receiver.answer = () => 200
    await pass(3 * hourMs)
    for (const id of ids) {
      const { data: history } = (await own.history(id)).body as { data: { version: number }[] }
      const versions = received()
        .filter(([record]) => record === id)
        .map(([, version]) => Number(version))
      const firsts = versions.filter((version, index) => versions.indexOf(version) === index)
      expect(firsts).toEqual(history.map(({ version }) => version))
    }
  })
})
