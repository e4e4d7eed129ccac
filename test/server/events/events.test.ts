import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { coverAccount, placeEntries } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import type { Event, EventPage } from '../../../src/contract/index.ts'
import { MerkleTree } from '../../../src/evidence/merkle.ts'
import { readCheckpoint } from '../../../src/evidence/signed.ts'
import { type TestNode, useService } from '../../support/service.ts'
import { type Importer, newImporter } from '../consents/imports.ts'
import { inTurns } from '../consents/records.ts'
import { makeKey } from '../keys/keys.ts'

const service = useService()
const path = '/api/v1/events'
let own: Importer
beforeEach(async () => {
  own = await newImporter(service)
})

type Query = Readonly<Record<string, string | number | null>>

async function read(query: Query, key = own.key, node: TestNode = service) {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== null) search.set(name, String(value))
  const { status, body, text } = await node.call('GET', `${path}?${search}`, { key })
  expect(status, text).toBe(200)
  return body as EventPage
}

/** Every event so far. */
async function readAll(query: Query = {}): Promise<Event[]> {
  const all: Event[] = []
  await placeEntries(service, own.accountId)
  for (let after: number | null = null; ; ) {
    const page: EventPage = await read({ limit: 1000, ...query, after })
    if (page.data.length === 0) return all
    all.push(...page.data)
    after = page.next_after
  }
}

const ofRecord = async (id: string) => (await readAll()).filter(({ record_id }) => record_id === id)
const purgeRecord = async (id: string) =>
  await service.call('POST', '/api/v1/subjects/purge', { key: own.key, body: { ids: [id] } })

async function coverNow() {
  const signer = await openSigner(service.sql, null)
  for await (const _ of coverAccount({ sql: service.sql, signer }, own.accountId));
}

describe('GET /api/v1/events', () => {
  it('has each change of a record, with the purposes that it changed', async () => {
    const preferences = { marketing: true, theme: 'dark', ads: false }
    const { id } = await own.create({ subject_id: 'maria@example.com', accepted: true, preferences })
    await own.update(id, { preferences: { marketing: false, theme: 'maria@example.com', ads: true } })
    await own.update(id, { preferences: { marketing: true, ads: true } })
    await own.update(id, { accepted: false })
    await own.remove(id)
    await own.restore(id)
    await service.call('POST', '/api/v1/subjects/erase', {
      key: own.key,
      body: { subject_id: 'maria@example.com' },
    })
    const events = await ofRecord(id)
    expect(events.map(({ type, version, accepted, purposes }) => [version, type, accepted, purposes])).toEqual([
      [1, 'created', true, { marketing: [null, true], ads: [null, false] }],
      [2, 'withdrawn', true, { marketing: [true, false], ads: [false, true] }],
      [3, 'updated', true, { marketing: [false, true] }],
      [4, 'withdrawn', false, {}],
      [5, 'deleted', false, {}],
      [6, 'restored', false, {}],
      [7, 'erased', false, {}],
    ])
    const { data: history } = (await own.history(id)).body
    expect(events.map(({ at, hash, site_id, actor_kind }) => [at, hash, site_id, actor_kind])).toEqual(
      history.map((entry: { created_at: string; hash: string }) => [
        ...[entry.created_at, entry.hash, own.siteId, 'api_key'],
      ]),
    )
    expect(JSON.stringify(events)).not.toContain('maria')
  })

  it('has imports, and entries of the administrators’ log by kind and target alone', async () => {
    const id = await own.importOne({ preferences: { marketing: true } })
    expect(await ofRecord(id)).toMatchObject([{ type: 'imported', purposes: { marketing: [null, true] } }])
    const events = (await readAll()).filter(({ record_id }) => record_id === null)
    expect(events[0]).toEqual({
      ...{
        position: expect.any(Number),
        hash: expect.any(String),
        type: 'account.account_created',
        at: expect.any(String),
      },
      ...{ record_id: null, version: 1, site_id: null, accepted: null, purposes: null, actor_kind: 'admin' },
      target: { kind: 'account', id: own.accountId },
    })
    expect(events.at(-1)).toMatchObject({
      type: 'account.key_created',
      target: { kind: 'api_key', id: own.importKeyId },
    })
  })

  it('when a record is purged, has no purposes of it any more, and the same hashes', async () => {
    const { id } = await own.create({ preferences: { marketing: true } })
    await own.update(id, { preferences: { marketing: false } })
    await own.remove(id)
    const before = await ofRecord(id)
    await purgeRecord(id)
    const events = await ofRecord(id)
    expect(events.map(({ type, purposes }) => [type, purposes])).toEqual([
      ['created', null],
      ['updated', null],
      ['deleted', null],
      ['purged', null],
    ])
    expect(events.slice(0, 3).map(({ position, hash }) => [position, hash])).toEqual(
      before.map(({ position, hash }) => [position, hash]),
    )
  })

  it('has every position once, and the root of its hashes is that of the signed checkpoint', async () => {
    for (let index = 0; index < 5; index += 1) {
      const { id } = await own.create()
      await own.update(id, { accepted: true })
      if (index % 2 === 0) await coverNow()
      await readAll({ limit: 3 })
    }
    await coverNow()
    const events = await readAll({ limit: 3 })
    expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index))
    const tree = new MerkleTree()
    for (const { hash } of events) tree.append(Buffer.from(hash, 'hex'))
    const { text } = await service.call('GET', '/api/v1/log/checkpoint', { key: own.key })
    expect(readCheckpoint(text).checkpoint).toMatchObject({
      tree_size: events.length,
      root_hash: tree.root.toString('hex'),
    })
  })

  it('without a wait, and while nobody waits, gives no entry a position', async () => {
    await own.create()
    expect(await read({})).toEqual({ data: [], next_after: null })
    const [row] =
      await service.sql`select from log_entries where account_id = ${own.accountId} and leaf_index is not null`
    expect(row).toBeUndefined()
  })

  it('answers a follower within two seconds of the commit, and after its wait without an event', async () => {
    const { length } = await readAll()
    const waiting = read({ after: length - 1, wait: 20 })
    await delay(1500)
    const start = performance.now()
    const { id } = await own.create()
    const { data, next_after } = await waiting
    expect(performance.now() - start).toBeLessThan(2000)
    expect([data.map(({ record_id }) => record_id), next_after]).toEqual([[id], length])
    const [empty, ms] = await timed(() => read({ after: length, wait: 2 }))
    expect(empty).toEqual({ data: [], next_after: length })
    expect(ms).toBeGreaterThan(1900)
  })

  it('gives positions once a second, however often a follower waits', async () => {
    const pages: number[] = []
    let { length: after } = await readAll()
    const end = performance.now() + 3000
    const follow = async () => {
      while (performance.now() < end) {
        const { data } = await read({ after: after - 1, wait: 5, limit: 1000 })
        after += data.length
        pages.push(data.length)
      }
    }
    const write = async () => {
      while (performance.now() < end + 1000) await own.create()
    }
    await Promise.all([follow(), write()])
    expect(pages.length).toBeLessThan(6)
    expect(pages.reduce((sum, length) => sum + length)).toBeGreaterThan(pages.length)
  })

  it('while many followers wait, answers other requests of the account', async () => {
    const { length } = await readAll()
    const waiting = Array.from({ length: 60 }, () => read({ after: length - 1, wait: 25 }))
    await delay(300)
    expect((await own.list()).status).toBe(200)
    const { id } = await own.create()
    for (const { data } of await Promise.all(waiting)) expect(data).toMatchObject([{ record_id: id }])
  })

  it('gives a key of some sites the events of their records alone', async () => {
    const headers = await service.signIn(own)
    const { body: blog } = await service.call('POST', '/api/v1/sites', { headers, body: { name: 'Blog' } })
    const { key } = await makeKey(service, headers, { scopes: ['read'], site_ids: [blog.id] })
    await own.create()
    const { id } = await own.create({ site_id: blog.id })
    const all = await readAll()
    const page = await read({}, key)
    expect(page.data.map(({ record_id }) => record_id)).toEqual([id])
    expect(page.next_after).toBe(all.length - 1)
  })

  it('begins at the checkpoint before a time', async () => {
    await own.create()
    await coverNow()
    const { length } = await readAll()
    const earlier = new Date(Date.now() - 3_600_000)
    await service.sql`update checkpoints set created_at = ${earlier} where account_id = ${own.accountId}`
    const { id } = await own.create()
    await readAll()
    const from = new Date(Date.now() - 30 * 60_000).toISOString()
    expect(await read({ from })).toMatchObject({ data: [{ position: length, record_id: id }], next_after: length })
    expect((await read({ from: '2020-01-01T00:00:00Z' })).data).toHaveLength(length + 1)
  })

  it('begins behind all that is committed', async () => {
    await own.create()
    const { length } = await readAll()
    await own.create()
    expect(await read({ newest: 'true' })).toEqual({ data: [], next_after: length })
  })

  it('rejects a position together with a time', async () => {
    const { status, body } = await service.call('GET', `${path}?after=1&from=2026-01-01T00:00:00Z`, { key: own.key })
    expect([status, body.message]).toEqual([400, 'after, from and newest exclude each other.'])
  })

  it('when an entry was changed, says that it is unreadable', async () => {
    const { id } = await own.create()
    await readAll()
    await service.sql`delete from consent_history where account_id = ${own.accountId} and consent_id = ${id}`
    await service.sql`update account_entries set document = 'no json' where account_id = ${own.accountId} and version = 1`
    const events = await readAll()
    expect(events.filter(({ type }) => type === 'unreadable').map(({ position, at }) => [position, at])).toEqual(
      [
        [events.find(({ record_id }) => record_id === null)?.position, null],
        [events.find(({ record_id }) => record_id === id)?.position, null],
      ].sort(([a], [b]) => Number(a) - Number(b)),
    )
    await service.sql`delete from log_entries where account_id = ${own.accountId}` // its log cannot be continued
  })

  it('with three nodes and many writers, gives each entry once and in order', async () => {
    const nodes = [service, await service.addNode(), await service.addNode()]
    const followed: Event[][] = [[], [], []]
    let isOver = false
    const following = nodes.map(async (node, index) => {
      for (let after: number | null = null; ; ) {
        const page: EventPage = await read({ after, wait: 1, limit: 50 }, own.key, node)
        if (page.data.length === 0 && isOver) return
        followed[index]?.push(...page.data)
        after = page.next_after
      }
    })
    const written = await inTurns(
      Array.from({ length: 150 }, (_, index) => index),
      16,
      async index => {
        const node = nodes[index % 3] as TestNode
        const { body } = await node.call('POST', '/api/v1/consents', { key: own.key, body: { site_id: own.siteId } })
        await node.call('PUT', `/api/v1/consents/${body.id}`, { key: own.key, body: { accepted: true } })
        return [`${body.id} 1`, `${body.id} 2`]
      },
    )
    isOver = true
    await Promise.all(following)
    for (const events of followed) {
      expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index))
      const ofRecords = events
        .filter(({ record_id }) => record_id)
        .map(({ record_id, version }) => `${record_id} ${version}`)
      expect(ofRecords.toSorted()).toEqual(written.flat().toSorted())
    }
  })
})

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now()
  return [await work(), performance.now() - start]
}
