import fc from 'fast-check'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { walk } from '../../../src/client/pages.ts'
import type { ConsentQuery } from '../../../src/contract/index.ts'
import { answers, byId, consent, consentsPath, machineError, screen, useCli, uuid } from '../support.ts'

const cli = useCli()

/** A service with `count` records that gives at most `largest` a page. */
function service(count: number, largest = 100) {
  const queries: ConsentQuery[] = []
  const list = async ({ query }: { query: ConsentQuery }) => {
    queries.push(query)
    const start = Number(query.cursor ?? 0)
    const end = Math.min(count, start + Math.min(largest, query.limit ?? 50))
    const data = Array.from({ length: end - start }, (_, index) => consent({ id: String(start + index) }))
    return { data, next_cursor: end < count ? String(end) : null }
  }
  return { list, queries }
}

async function walked(
  count: number,
  limit: number,
  options: { maxRequests?: number; largest?: number; cursor?: string } = {},
) {
  const { maxRequests = Number.POSITIVE_INFINITY, largest = 100, cursor } = options
  const { list, queries } = service(count, largest)
  const ids: string[] = []
  let next: string | null = null
  for await (const page of walk(list, { site_id: 's', cursor }, { limit, maxRequests })) {
    ids.push(...page.records.map(({ id }) => id))
    next = page.next
  }
  return { ids, next, queries }
}

it('any limit, request limit and page size give a prefix, and the cursor goes on exactly behind it', async () => {
  const sizes = fc.record({
    count: fc.nat(450),
    limit: fc.integer({ min: 1, max: 460 }),
    largest: fc.integer({ min: 7, max: 100 }),
    maxRequests: fc.integer({ min: 1, max: 9 }),
  })
  await fc.assert(
    fc.asyncProperty(sizes, async ({ count, limit, largest, maxRequests }) => {
      const { ids, next, queries } = await walked(count, limit, { largest, maxRequests })
      expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => String(index)))
      expect(ids.length).toBeLessThanOrEqual(Math.min(count, limit))
      expect(queries.length).toBeLessThanOrEqual(maxRequests)
      expect(next).toBe(ids.length < count ? String(ids.length) : null)
      if (queries.length < maxRequests) expect(ids.length).toBe(Math.min(count, limit))
      for (const query of queries)
        expect(query).toMatchObject({
          site_id: 's',
          limit: expect.toSatisfy((n: number) => n >= 1 && n <= 100),
        })
    }),
  )
})

it('begins at the cursor it is given', async () => {
  const { ids } = await walked(250, 120, { cursor: '40' })
  expect([ids[0], ids.at(-1), ids.length]).toEqual(['40', '159', 120])
})

it('a page is asked for only when the one before is used up', async () => {
  const { list, queries } = service(1000)
  for await (const _ of walk(list, {}, { limit: 1000, maxRequests: 10 })) if (queries.length === 2) break
  expect(queries).toHaveLength(2)
})

it('a page has been asked for when the one before is used, where two requests may be under way', async () => {
  const { list, queries } = service(1000)
  let left = 0
  const sending = async (input: Parameters<typeof list>[0]) => {
    await new Promise(process.nextTick) // as Node's HTTP does
    left += 1
    return await list(input)
  }
  let used = 0
  for await (const _ of walk(sending, {}, { limit: 1000, maxRequests: 10, concurrency: 2 })) {
    used += 1
    expect(left).toBe(used > 1 && used < 10 ? used + 1 : used)
  }
  expect(queries).toHaveLength(10)
})

describe('a list that leads back to where it was', () => {
  it.each([1, 2, 3, 7])('is an error where its cursors come again after %d pages', async period => {
    let pages = 0
    cli.instance.use(
      http.get(consentsPath, () => {
        pages += 1
        return HttpResponse.json({ data: [consent({ id: uuid(pages) })], next_cursor: `c${pages % period}` })
      }),
    )
    const { code, stderr } = await cli.run(['list', '--limit', '100000', '-o', 'json'])
    expect(code).toBe(5)
    expect(machineError(stderr)).toMatchObject({ code: 'endless_list' })
    expect(pages).toBeLessThan(5 * period + 2)
  })

  it('is none for a list of many pages, each with a cursor of its own', async () => {
    expect((await walked(3000, 3000, { largest: 7 })).ids).toHaveLength(3000)
  })
})

it('a data subject’s list that brings nothing new, page after page, is an error', async () => {
  let pages = 0
  cli.instance.use(
    answers('get', '*/api/v1/openapi.json', { openapi: '3.1.1', paths: {} }),
    http.get(consentsPath, () => {
      pages += 1
      return HttpResponse.json({ data: [consent({ subject_id: 'maria' })], next_cursor: `c${pages}` })
    }),
  )
  const { code, stderr } = await cli.run(['subject', 'find', 'maria', '-o', 'json'])
  expect(code).toBe(5)
  expect(machineError(stderr)).toMatchObject({ code: 'endless_list' })
}, 60_000)

describe('an instance that follows the specification in its own way', () => {
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
    [
      'more fields in the envelope',
      { data: [record], next_cursor: null, total: 1, has_more: false, limit: 50 },
    ],
    ['a limit that is no number', { data: [record], next_cursor: null, limit: null }],
    ['more fields in a record', { data: [{ ...record, tags: ['a'], version: 3 }], next_cursor: null }],
    [
      'unset fields as null',
      { data: [{ ...record, subject_id: null, preferences: null, country: null }], next_cursor: null },
    ],
  ])('%s', async (_, page) => {
    cli.instance.use(answers('get', consentsPath, page))
    const { code, stdout, stderr } = await cli.run(['list', '--json'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'rec_7', accepted: false, subject_id: null }])
    expect(cli.sent()).toHaveLength(1)
  })

  it('a page that is empty, with more behind it', async () => {
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
    'a time like %s is shown as it is',
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

  it('a history without actions, and with other fields', async () => {
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

  it('a create answered with 200, a base address with a path', async () => {
    cli.instance.use(answers('post', '*/tenant/api/v1/consents', record, 200))
    const env = { CONSENTCTL_BASE_URL: `${cli.instance.url}/tenant/` }
    expect(await cli.run(['create', '--site', uuid(1), '-q'], { env })).toMatchObject({
      code: 0,
      stdout: 'rec_7\n',
    })
  })
})
