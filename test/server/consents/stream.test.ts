import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import type { Load } from '../../../server/admission.ts'
import type { Observer, RequestSummary } from '../../../server/http/logging.ts'
import { drain } from '../../../server/http/server.ts'
import { describeApi } from '../../../server/openapi/document.ts'
import { Quota, type Units } from '../../../server/quota/quota.ts'
import { type TestAccount, useService } from '../../support/service.ts'
import { root } from './records.ts'
import { seed } from './seed.ts'

/** Summaries of requests, newest last, and the load of the private flow. */
const summaries: RequestSummary[] = []
let load: () => Load = () => ({ running: 0, waiting: 0, shed: 0 })
const observer: Observer = {
  onRequestEnd: summary => void summaries.push(summary),
  watchLoad: (flow, read) => {
    if (flow === 'private') load = read
  },
}
const service = useService({ observer })

interface Page {
  readonly data: readonly { readonly id: string }[]
  readonly limit: number
  readonly next_cursor: string | null
}

interface Options {
  readonly url?: string
  readonly headers?: Record<string, string>
}

/** Requests a stream, and resolves to its response before its body. */
async function open(
  { key }: Pick<TestAccount, 'key'>,
  query: Record<string, string> = {},
  { url = service.url, headers = { authorization: `Bearer ${key}` } }: Options = {},
): Promise<IncomingMessage> {
  const outgoing = request(`${url}${root}?${new URLSearchParams(query)}`, {
    headers: { accept: 'application/x-ndjson', ...headers },
  }).end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return response
}

/** Reads a stream to its end: its pages, and `isCut` if the connection closed before the end of the body. */
async function read(response: IncomingMessage) {
  let body = ''
  let isCut = false
  try {
    for await (const chunk of response.setEncoding('utf8')) body += chunk
  } catch {
    isCut = true
  }
  const lines = body.split('\n')
  return { pages: lines.slice(0, -1).map(line => JSON.parse(line) as Page), tail: lines.at(-1), isCut }
}

const idsOf = (pages: readonly Page[]) => pages.flatMap(({ data }) => data.map(({ id }) => id))

async function used({ accountId }: TestAccount): Promise<number> {
  const [row] = await service.sql<{ used: number }[]>`
    select sum(used)::integer as used from usage where account_id = ${accountId}`
  return row?.used ?? 0
}

/** A quota without limits that calls `onPage` with the number of the page before each unit. */
class PagedQuota extends Quota {
  pages = 0
  onPage: (page: number) => Promise<void> | void = () => {}
  override spendHeld() {
    return null
  }
  override async spend(): Promise<Units> {
    this.pages += 1
    await this.onPage(this.pages)
    return { count: 1, headers: {}, giveBack: () => {} }
  }
}

describe('GET /api/v1/consents as application/x-ndjson', () => {
  it.each([1, 7, 100])('with pages of %i, sends the pages of single requests, one page per line', async limit => {
    const account = await service.newAccount()
    await seed(service.sql, account, 150)
    const response = await open(account, { limit: String(limit), accepted: 'true' })
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'cache-control': 'no-store',
      vary: 'Accept',
      'x-request-id': expect.any(String),
    })
    const { pages, tail, isCut } = await read(response)
    expect({ tail, isCut }).toEqual({ tail: '', isCut: false })
    let cursor: string | null = null
    for (const page of pages) {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`
      const single = await service.call('GET', `${root}?accepted=true&limit=${limit}${query}`, account)
      expect(page).toEqual(single.body)
      cursor = page.next_cursor
    }
    expect(cursor).toBeNull()
    expect(pages).toHaveLength(Math.ceil(150 / limit))
  })

  it('is in the OpenAPI document', () => {
    const { paths } = describeApi() as {
      paths: Record<string, { get: { responses: Record<string, { content: object }> } }>
    }
    const { content = {} } = paths[root]?.get.responses['200'] ?? {}
    expect(Object.keys(content)).toEqual(['application/json', 'application/x-ndjson'])
  })

  it('sends each page as one line, with any text in a record', async () => {
    const account = await service.newAccount()
    const text = 'a\nb\r\nc\u0085d\u2028e\u2029f\\n"g'
    const body = {
      site_id: account.siteId,
      subject_id: text,
      consent_id: text,
      user_agent: text,
      preferences: { [text]: text },
    }
    for (let index = 0; index < 3; index += 1) await service.call('POST', root, { key: account.key, body })
    const { pages } = await read(await open(account, { limit: '2' }))
    expect(pages.flatMap(({ data }) => data)).toMatchObject([body, body, body])
    expect(pages).toHaveLength(2)
  })

  it('without records, sends one empty page', async () => {
    const { pages, isCut } = await read(await open(await service.newAccount()))
    expect({ pages, isCut }).toEqual({ pages: [{ data: [], limit: 50, next_cursor: null }], isCut: false })
  })

  it('starts at the cursor of a single request', async () => {
    const account = await service.newAccount()
    const ids = await seed(service.sql, account, 50)
    const first = await service.call('GET', `${root}?limit=20`, account)
    const { pages } = await read(await open(account, { limit: '20', cursor: first.body.next_cursor }))
    expect(idsOf(pages)).toEqual(ids.slice(20))
  })

  it('sends every record exactly once while others are created and deleted', async () => {
    const account = await service.newAccount()
    const ids = await seed(service.sql, account, 3000)
    const deleted = new Set<string>()
    let isOver = false
    const write = async () => {
      for (let index = 0; !isOver; index = (index + 1571) % ids.length) {
        await service.call('POST', root, { key: account.key, body: { site_id: account.siteId } })
        const id = ids[index] ?? ''
        deleted.add(id)
        await service.call('DELETE', `${root}/${id}`, account)
      }
    }
    const writing = write()
    const { pages, isCut } = await read(await open(account, { limit: '10' }))
    isOver = true
    await writing
    const seen = idsOf(pages)
    expect(isCut).toBe(false)
    expect(new Set(seen).size).toBe(seen.length)
    const returned = new Set(seen)
    expect(ids.filter(id => !deleted.has(id) && !returned.has(id))).toEqual([])
    expect(deleted.size).toBeGreaterThan(5)
  })

  it.each([
    [undefined, false],
    ['*/*', false],
    ['application/json', false],
    ['text/html, application/xhtml+xml, */*;q=0.8', false],
    ['application/json, application/x-ndjson', false],
    ['application/x-ndjson;q=0.5, application/json', false],
    ['application/x-ndjson;q=0', false],
    ['application/x-ndjson;q=x', false],
    ['application/x-ndjson', true],
    ['Application/X-NDJSON; q=1', true],
    ['application/x-ndjson, application/json;q=0.9', true],
    ['application/x-ndjson, */*;q=0.1', true],
  ])('Accept: %s returns lines: %s', async (accept, isStream) => {
    const { key } = await service.newAccount()
    const headers = { authorization: `Bearer ${key}`, ...(accept && { accept }) }
    const outgoing = request(service.url + root, { headers }).end()
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    expect(response.headers['content-type']).toBe(
      isStream ? 'application/x-ndjson; charset=utf-8' : 'application/json; charset=utf-8',
    )
    expect(await text(response)).toBe(`{"data":[],"limit":50,"next_cursor":null}${isStream ? '\n' : ''}`)
  })

  it.each([
    ['an invalid key', { authorization: 'Bearer sk-nonsense' }, {}, 401, 'unauthorized'],
    ['an invalid limit', undefined, { limit: '101' }, 400, 'invalid_request'],
    ['a foreign cursor', undefined, { cursor: 'AQGh-rl3bHegq8q02QmN7Tg4' }, 400, 'invalid_request'],
  ])('%s gets the same error as a single request', async (_, headers, query, status, error) => {
    const response = await open(await service.newAccount(), query, headers ? { headers } : {})
    expect([response.statusCode, response.headers['content-type']]).toEqual([status, 'application/json; charset=utf-8'])
    expect(JSON.parse(await text(response))).toMatchObject({ error })
  })
})

describe('a stream › quota', () => {
  it('takes one unit per page', async () => {
    const account = await service.newAccount({ monthlyQuota: 100 })
    await seed(service.sql, account, 50)
    const response = await open(account, { limit: '10' })
    expect(response.headers['x-quota-remaining']).toBe('99')
    expect((await read(response)).pages).toHaveLength(5)
    await vi.waitFor(async () => expect(await used(account)).toBe(5), { timeout: 5000 })
  })

  it('when it is used up, ends after a page, and the next request returns the reason', async () => {
    const account = await service.newAccount({ monthlyQuota: 3 })
    const ids = await seed(service.sql, account, 50)
    const { pages, tail, isCut } = await read(await open(account, { limit: '10' }))
    expect({ tail, isCut }).toEqual({ tail: '', isCut: true })
    expect(idsOf(pages)).toEqual(ids.slice(0, 30))
    const cursor = pages.at(-1)?.next_cursor ?? ''
    const next = await open(account, { limit: '10', cursor })
    expect([next.statusCode, JSON.parse(await text(next)).error]).toEqual([429, 'quota_exceeded'])
    expect(await used(account)).toBe(3)
    expect(summaries.some(({ status, error }) => status === 499 && error === 'quota_exceeded')).toBe(true)
  })

  it('rejects a session', async () => {
    const account = await service.newAccount({ monthlyQuota: 1 })
    await seed(service.sql, account, 50)
    const headers = { ...(await service.signIn(account)) }
    expect((await read(await open(account, { limit: '10' }, { headers }))).pages).toHaveLength(5)
    expect(await used(account)).toBe(0)
  })

  it('when a page fails with a server error, ends, and returns the unit of that page', async () => {
    const account = await service.newAccount({ monthlyQuota: 100 })
    await seed(service.sql, account, 50)
    const quota = new (class extends Quota {
      units = 0
      override spendHeld() {
        return null
      }
      override async spend(...args: Parameters<Quota['spend']>) {
        this.units += 1
        if (this.units === 3) await service.sql`alter table consents rename to consents_elsewhere`
        return await super.spend(...args)
      }
    })(service.sql)
    const { url } = await service.addNode({ quota })
    const { pages, tail, isCut } = await read(await open(account, { limit: '10' }, { url }))
    await service.sql`alter table consents_elsewhere rename to consents`
    expect({ tail, isCut, pages: pages.length }).toEqual({ tail: '', isCut: true, pages: 2 })
    await vi.waitFor(async () => expect(await used(account)).toBe(2), { timeout: 5000 })
  })
})

describe('a stream › its end', () => {
  const start = async (records: number, preferences?: Record<string, string>) => {
    const account = await service.newAccount()
    const ids = await seed(service.sql, account, records, preferences)
    const quota = new PagedQuota(service.sql)
    const node = await service.addNode({ quota, observer })
    return { ...node, account, ids, quota }
  }

  it('when the key is revoked, ends within a second', async () => {
    const { account, quota, url } = await start(100)
    quota.onPage = async page => {
      if (page === 1) return
      await service.sql`update api_keys set revoked_at = now() where id = ${account.keyId}`
      await delay(600)
    }
    const { pages, tail, isCut } = await read(await open(account, { limit: '10' }, { url }))
    expect({ tail, isCut }).toEqual({ tail: '', isCut: true })
    expect(pages.length).toBeGreaterThanOrEqual(2)
    expect(pages.length).toBeLessThanOrEqual(4)
  })

  it('when the server stops, ends after a page, and another node continues', async () => {
    const { account, ids, quota, url, app } = await start(100)
    let stopping: Promise<void> | undefined
    quota.onPage = page => {
      if (page === 4) stopping = drain(app)
    }
    const { pages, tail, isCut } = await read(await open(account, { limit: '10' }, { url }))
    expect({ tail, isCut, pages: pages.length }).toEqual({ tail: '', isCut: true, pages: 4 })
    await stopping
    const cursor = pages.at(-1)?.next_cursor ?? ''
    const rest = await read(await open(account, { limit: '10', cursor }))
    expect([...idsOf(pages), ...idsOf(rest.pages)]).toEqual(ids)
  })

  it('when the client disconnects, reads no more pages and releases its slot', async () => {
    const { account, quota, url } = await start(100)
    let response: IncomingMessage | undefined
    quota.onPage = async page => {
      if (page > 1) await vi.waitFor(() => expect(response).toBeDefined(), 10_000)
      if (page === 3) response?.destroy()
      await delay(200)
    }
    response = await open(account, { limit: '10' }, { url })
    await read(response)
    await delay(1000)
    expect(quota.pages).toBeLessThanOrEqual(4)
    expect(load()).toMatchObject({ running: 0, waiting: 0 })
  })

  it("when the client does not read, reads only what fits into the connection's buffers, and holds no slot", async () => {
    const { account, ids, quota, url } = await start(1500, { text: 'x'.repeat(16_000) })
    const response = await open(account, { limit: '20' }, { url })
    await vi.waitFor(
      async () => {
        const before = quota.pages
        await delay(500)
        expect(quota.pages).toBe(before)
      },
      { timeout: 20_000 },
    )
    expect(quota.pages).toBeLessThan(60)
    expect(load()).toMatchObject({ running: 0, waiting: 0 })
    const { pages, isCut } = await read(response)
    expect([idsOf(pages), isCut]).toEqual([ids, false])
  })
})
