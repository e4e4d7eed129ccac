import fc from 'fast-check'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { type Call, EndlessListError, NetworkError } from '../../../src/client/errors.ts'
import { type Extent, type RequestPages, walk } from '../../../src/client/pages.ts'
import type { ConsentQuery } from '../../../src/contract/index.ts'
import { answers, byId, consent, consentsPath, expectExit, screen, useCli, uuid } from '../support.ts'

const cli = useCli()

const unlimited = { limit: Number.POSITIVE_INFINITY, maxRequests: Number.POSITIVE_INFINITY }

interface Behaviour {
  /** Records a page at most. */
  readonly largest?: number
  /** Pages that the next stream carries before its connection is cut; null for an instance that does not stream. */
  readonly cutAfter?: () => number | null
  readonly isCleanEnd?: boolean
}

/** A list of `count` records, as the client's request function. */
function fakeList(count: number, { largest = 100, cutAfter = () => null, isCleanEnd }: Behaviour = {}) {
  const queries: ConsentQuery[] = []
  const streamed: boolean[] = []
  let openStreams = 0
  const pageAt = ({ cursor, limit = 50 }: ConsentQuery) => {
    const start = Number(cursor ?? 0)
    const end = Math.min(count, start + Math.min(largest, limit))
    const data = Array.from({ length: end - start }, (_, index) => consent({ id: String(start + index) }))
    return { data, next_cursor: end < count ? String(end) : null }
  }
  async function* streamAfter(query: ConsentQuery, cursor: string | null, pages: number) {
    openStreams += 1
    try {
      for (let left = pages; cursor !== null; left -= 1) {
        if (left === 0 && isCleanEnd) return
        if (left === 0) throw new NetworkError({} as Call, { code: 'ECONNRESET' }, true)
        const page = pageAt({ ...query, cursor })
        cursor = page.next_cursor
        yield page
      }
    } finally {
      openStreams -= 1
    }
  }
  const request: RequestPages = async (query, stream) => {
    queries.push(query)
    streamed.push(stream)
    const first = pageAt(query)
    const pages = stream ? cutAfter() : null
    return { first, rest: pages === null ? null : streamAfter(query, first.next_cursor, pages) }
  }
  return { request, queries, streamed, openStreams: () => openStreams }
}

/** Reads a list to its end; returns the ids in order and the last cursor. */
async function read(request: RequestPages, query: ConsentQuery, extent: Extent) {
  const ids: string[] = []
  let next: string | null = null
  for await (const page of walk(request, query, extent)) {
    ids.push(...page.records.map(({ id }) => id))
    next = page.next
  }
  return { ids, next }
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index))

describe('walk › one request a page', () => {
  it('with any limit, request limit and page size, returns a prefix, and the cursor continues right after it', async () => {
    const sizes = fc.record({
      count: fc.nat(450),
      limit: fc.integer({ min: 1, max: 460 }),
      largest: fc.integer({ min: 7, max: 100 }),
      maxRequests: fc.integer({ min: 1, max: 9 }),
      readAhead: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(sizes, async ({ count, limit, largest, maxRequests, readAhead }) => {
        const { request, queries, streamed } = fakeList(count, { largest, cutAfter: () => 100 })
        const { ids, next } = await read(request, { site_id: 's' }, { limit, maxRequests, readAhead })
        expect(ids).toEqual(numbers(ids.length))
        expect(ids.length).toBeLessThanOrEqual(Math.min(count, limit))
        expect(queries.length).toBeLessThanOrEqual(maxRequests)
        expect(next).toBe(ids.length < count ? String(ids.length) : null)
        if (queries.length < maxRequests) expect(ids.length).toBe(Math.min(count, limit))
        expect(streamed).not.toContain(true) // what a stream sends cannot be limited
        for (const { site_id, limit: size = 0 } of queries) {
          expect(site_id).toBe('s')
          expect(size).toBeGreaterThanOrEqual(1)
          expect(size).toBeLessThanOrEqual(100)
        }
      }),
    )
  })

  it('starts at the given cursor', async () => {
    const { request } = fakeList(250)
    const { ids } = await read(request, { cursor: '40' }, { limit: 120, maxRequests: 9 })
    expect([ids[0], ids.at(-1), ids.length]).toEqual(['40', '159', 120])
  })

  it('without read-ahead, a page is requested only when the one before is used', async () => {
    const { request, queries } = fakeList(1000)
    for await (const _ of walk(request, {}, { limit: 1000, maxRequests: 10 })) if (queries.length === 2) break
    expect(queries).toHaveLength(2)
  })

  it.each([
    ['with a limit', { limit: 1000, maxRequests: 10, readAhead: true }],
    ['without a limit, if the instance does not stream', { ...unlimited, readAhead: true }],
  ])('with read-ahead, %s, the next page is already requested when one is used', async (_, extent) => {
    const { request } = fakeList(1000)
    let sent = 0
    const sending: RequestPages = async (query, stream) => {
      await new Promise(process.nextTick) // as Node's HTTP does
      sent += 1
      return await request(query, stream)
    }
    let used = 0
    for await (const _ of walk(sending, {}, extent)) {
      used += 1
      expect(sent).toBe(used > 1 && used < 10 ? used + 1 : used)
    }
    expect([used, sent]).toEqual([10, 10])
  })
})

describe('walk › streams', () => {
  const readAhead = { ...unlimited, readAhead: true }

  it.each([
    ['is cut', false],
    ['ends early without an error, as over HTTP/1.0', true],
  ])(
    'when a stream %s anywhere, the list continues from its last cursor without losing or repeating a record',
    async (_, isCleanEnd) => {
      const cases = fc.record({
        count: fc.nat(1500),
        largest: fc.integer({ min: 7, max: 100 }),
        cuts: fc.array(fc.nat(6)),
      })
      await fc.assert(
        fc.asyncProperty(cases, async ({ count, largest, cuts }) => {
          const list = fakeList(count, { largest, isCleanEnd, cutAfter: () => cuts.shift() ?? 1000 })
          expect(await read(list.request, {}, readAhead)).toEqual({ ids: numbers(count), next: null })
          expect(list.openStreams()).toBe(0)
        }),
      )
    },
  )

  it('when reading stops early, closes the stream', async () => {
    const { request, openStreams } = fakeList(2000, { cutAfter: () => 100 })
    let pages = 0
    for await (const _ of walk(request, {}, readAhead)) {
      pages += 1
      if (pages === 5) break
    }
    expect([pages, openStreams()]).toEqual([5, 0])
  })

  it('when cursors repeat within a stream, fails', async () => {
    const page = (cursor: string) => ({ data: [consent()], next_cursor: cursor })
    async function* circle() {
      for (let index = 0; ; index += 1) yield page(`c${index % 3}`)
    }
    const request: RequestPages = async (_, stream) => ({ first: page('a'), rest: stream ? circle() : null })
    await expect(read(request, {}, readAhead)).rejects.toBeInstanceOf(EndlessListError)
  })
})

describe('list › endless', () => {
  it.each([1, 2, 3, 7])('when cursors repeat after %d pages, fails', async period => {
    let pages = 0
    cli.instance.use(
      http.get(consentsPath, () => {
        pages += 1
        return HttpResponse.json({ data: [consent({ id: uuid(pages) })], next_cursor: `c${pages % period}` })
      }),
    )
    expectExit(await cli.run(['list', '--limit', '100000', '-o', 'json']), 5, { code: 'endless_list' })
    expect(pages).toBeLessThan(5 * period + 2)
  })

  it('when each page has a new cursor, reads to the end', async () => {
    const { request } = fakeList(3000, { largest: 7 })
    expect((await read(request, {}, unlimited)).ids).toEqual(numbers(3000))
  })
})

it('subject find › when pages bring no new records, fails', async () => {
  let pages = 0
  cli.instance.use(
    answers('get', '*/api/v1/openapi.json', { openapi: '3.1.1', paths: {} }),
    http.get(consentsPath, () => {
      pages += 1
      return HttpResponse.json({ data: [consent({ subject_id: 'maria' })], next_cursor: `c${pages}` })
    }),
  )
  expectExit(await cli.run(['subject', 'find', 'maria', '-o', 'json']), 5, { code: 'endless_list' })
}, 60_000)

describe('client › other instances of the specification', () => {
  const record = {
    id: 'rec_7',
    site_id: 'shop',
    accepted: false,
    created_at: '2026-01-31 09:30:00+00',
    deleted_at: null,
  }

  it.each([
    ['no limit in the envelope', { data: [record], next_cursor: null }],
    ['no next_cursor on the last page', { data: [record] }],
    ['an empty next_cursor on the last page', { data: [record], next_cursor: '' }],
    ['more fields in the envelope', { data: [record], next_cursor: null, total: 1, has_more: false, limit: 50 }],
    ['a limit that is not a number', { data: [record], next_cursor: null, limit: null }],
    ['more fields in a record', { data: [{ ...record, tags: ['a'], version: 3 }], next_cursor: null }],
    [
      'unset fields as null',
      { data: [{ ...record, subject_id: null, preferences: null, country: null }], next_cursor: null },
    ],
  ])('with %s, reads the list', async (_, page) => {
    cli.instance.use(answers('get', consentsPath, page))
    const { code, stdout, stderr } = await cli.run(['list', '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'rec_7', accepted: false, subject_id: null }])
    expect(cli.sent()).toHaveLength(1)
  })

  it('continues the list when a page is empty and has a cursor', async () => {
    cli.instance.use(
      http.get(consentsPath, ({ request }) =>
        request.url.includes('cursor=')
          ? HttpResponse.json({ data: [record], next_cursor: null })
          : HttpResponse.json({ data: [], next_cursor: 'more' }),
      ),
    )
    expect((await cli.run(['list', '-q'])).stdout).toBe('rec_7\n')
    expect((await cli.run(['list', '--color', 'never'], screen)).stdout).toMatch(/^ID /)
  })

  it.each(['1769851800', '2026-01-31T09:30:00.123456+02:00', 'Sat, 31 Jan 2026 09:30:00 GMT'])(
    'shows a time like %s unchanged',
    async created_at => {
      cli.instance.use(answers('get', byId, { ...record, created_at }))
      expect((await cli.run(['get', 'rec_7', '-o', 'tsv'])).stdout).toContain(created_at)
      const { stdout } = await cli.run(['get', 'rec_7', 'rec_7', '--color', 'never'], {
        ...screen,
        columns: 200,
      })
      expect(stdout).toContain(created_at)
    },
  )

  it('shows a history without actions and with other fields', async () => {
    const entry = {
      id: 'h1',
      consent_id: 'rec_7',
      accepted: true,
      preferences: {},
      policy_version: 1,
      changed_by: 'Ann',
      actor_id: 'Ann',
      created_at: 'yesterday',
      ip: 'x',
    }
    cli.instance.use(answers('get', `${byId}/history`, { data: [entry] }))
    const { code, stdout } = await cli.run(['history', 'rec_7'], { ...screen, columns: 200 })
    expect(code).toBe(0)
    for (const shown of ['Ann', 'Ann', 'yesterday']) expect(stdout).toContain(shown)
  })

  it('accepts a 200 for a create at a base address with a path', async () => {
    cli.instance.use(answers('post', '*/tenant/api/v1/consents', record, 200))
    const env = { CONSENTCTL_BASE_URL: `${cli.instance.url}/tenant/` }
    expect(await cli.run(['create', '--site', uuid(1), '--refused', '-q'], { env })).toMatchObject({
      code: 0,
      stdout: 'rec_7\n',
    })
  })
})
