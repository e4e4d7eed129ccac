import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type TestAccount, useService } from '../../support/service.ts'
import { seed } from './seed.ts'

const service = useService()
const root = '/api/v1/consents'

interface Page {
  readonly data: { readonly id: string; readonly created_at: string }[]
  readonly limit: number
  readonly next_cursor: string | null
}

describe('a walk', () => {
  it.each([
    [1, 150],
    [7, 2000],
    [50, 2000],
    [99, 2000],
    [100, 2000],
  ])('with pages of %i returns each of %i records once, newest first', async (limit, count) => {
    const account = await service.newAccount()
    const ids = await seed(service.sql, account, count)
    const pages = await walk(account, () => limit)
    expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(ids)
    expect(pages).toHaveLength(Math.ceil(count / limit))
    expect(pages.slice(0, -1).every(({ data }) => data.length === limit)).toBe(true)
  })

  it('ends with the last record, and never with an empty page', async () => {
    const account = await service.newAccount()
    expect(await walk(account, () => 10)).toEqual([{ data: [], limit: 10, next_cursor: null }])
    await seed(service.sql, account, 20)
    expect((await walk(account, () => 10)).map(({ data }) => data.length)).toEqual([10, 10])
    expect((await walk(account, () => 20)).map(({ data }) => data.length)).toEqual([20])
  })

  it('returns each of 10,000 records exactly once, in pages of 1 to 100, while others write', async () => {
    const account = await service.newAccount()
    const ids = await seed(service.sql, account, 10_000)
    const writers = startWriters(account, ids)
    const pages = await walk(account, index => (index % 100) + 1).finally(writers.stop)
    const { created, deleted } = writers

    const records = pages.flatMap(({ data }) => data)
    const seen = records.map(({ id }) => id)
    expect(seen.every((id, index) => index === 0 || id < (seen[index - 1] ?? ''))).toBe(true)
    const times = records.map(record => record.created_at)
    expect(times.every((time, index) => index === 0 || time <= (times[index - 1] ?? ''))).toBe(true)

    const returned = new Set(seen)
    expect(returned.size).toBe(seen.length)
    expect(ids.filter(id => !deleted.has(id) && !returned.has(id))).toEqual([])
    const known = new Set([...ids, ...created])
    expect(seen.filter(id => !known.has(id))).toEqual([])
    expect(Math.min(created.size, deleted.size)).toBeGreaterThan(20)
  })
})

/** Every page from the first to the last, with a limit that may change between them. */
async function walk({ key }: TestAccount, limitOf: (index: number) => number): Promise<Page[]> {
  const pages: Page[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`
    const limit = limitOf(pages.length)
    const answer = await service.call('GET', `${root}?limit=${limit}${query}`, { key })
    expect([answer.status, answer.body.limit]).toEqual([200, limit])
    expect(answer.body.next_cursor).not.toBe(cursor ?? '')
    pages.push(answer.body)
    cursor = answer.body.next_cursor
  } while (cursor !== null)
  return pages
}

/** Clients that create and delete until they are stopped; a deletion counts from before it is sent. */
function startWriters({ key, siteId }: TestAccount, ids: readonly string[]) {
  const created = new Set<string>()
  const deleted = new Set<string>()
  let going = true
  const create = async () => {
    while (going) {
      const answer = await service.call('POST', root, { key, body: { site_id: siteId } })
      expect(answer.status).toBe(201)
      created.add(answer.body.id)
      await delay(1)
    }
  }
  const remove = async (start: number) => {
    // Steps that share no divisor with 10,000 reach every part of the list, ahead of the walk and behind it.
    for (let index = start; going; index = (index + 3571) % ids.length) {
      const id = ids[index] ?? ''
      deleted.add(id)
      expect([200, 404]).toContain((await service.call('DELETE', `${root}/${id}`, { key })).status)
      await delay(1)
    }
  }
  const work = Promise.all([create(), create(), remove(0), remove(5)])
  const stop = async () => {
    going = false
    await work
  }
  return { stop, created, deleted }
}
