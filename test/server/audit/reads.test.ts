import { beforeAll, describe, expect, it, vi } from 'vitest'
import { AccessLog } from '../../../server/audit/access-log.ts'
import { insertReads } from '../../../server/audit/read-queries.ts'
import { firstIdAt, newId } from '../../../server/ids.ts'
import { purgeJob } from '../../../server/purge/service.ts'
import { hashSubject } from '../../../server/subjects/hmac.ts'
import type { SubjectRead } from '../../../src/contract/index.ts'
import { type Signed, subjectSecret, type TestAccount, useService } from '../../support/service.ts'

const service = useService()
const path = '/api/v1/audit/reads'

let account: TestAccount
let session: Signed

beforeAll(async () => {
  account = await service.newAccount()
  session = await service.signIn(account)
})

async function list(query = ''): Promise<SubjectRead[]> {
  const { status, body } = await service.call('GET', path + query, { headers: session })
  expect(status).toBe(200)
  return body.data
}

async function create(subject_id?: string): Promise<string> {
  const body = { site_id: account.siteId, subject_id, preferences: { marketing: true } }
  return (await service.call('POST', '/api/v1/consents', { key: account.key, body })).body.id
}

describe('access log', () => {
  it('has a row for each read of a person, with its operation, caller and HMAC, and none for anything else', async () => {
    const [id, anonymous] = [await create('maria@example.com'), await create()]
    const { key } = account
    const get = (query: string) => service.call('GET', `/api/v1${query}`, { key })
    const post = (query: string, body: object) => service.call('POST', `/api/v1${query}`, { key, body })
    const about = 'subject_id=maria%40example.com'
    for (const query of [`/consents/${anonymous}`, '/consents', '/stats/count', `/consents/${newId()}`])
      await get(query)
    await service.call('PUT', `/api/v1/consents/${id}`, { key, body: { accepted: true } })
    await service.call('POST', '/api/v1/log/checkpoint', { key })
    const preview = await post('/subjects/erase', { subject_id: 'maria@example.com', dry_run: true })
    await post('/subjects/near-matches', { subject_id: 'maria@example.com' })
    await get(`/subjects/check?${about}&purpose=marketing`)
    await post('/subjects/check', { subject_ids: ['maria@example.com', 'paula'], purpose: 'marketing' })
    for (const what of ['/evidence', '/receipt', '/history', ''])
      expect((await get(`/consents/${id}${what}`)).status).toBe(200)
    await get(`/stats/count?${about}`)
    await service.call('GET', `/api/v1/consents?${about}`, { headers: session })
    const rows = await vi.waitFor(async () => {
      expect(await list('?subject_id=paula')).toMatchObject([{ operation: 'check' }])
      const found = await list('?subject_id=maria%40example.com')
      expect(found).toHaveLength(10)
      return found
    }, 5000)
    const operations = [
      'list',
      'count',
      'get',
      'history',
      'receipt',
      'evidence',
      'check',
      'check',
      'near_matches',
      'erasure_preview',
    ]
    expect(rows.map(({ operation }) => operation)).toEqual(operations)
    expect(new Set(rows.map(({ subject_hmac }) => subject_hmac))).toEqual(new Set([preview.body.subject_hmac]))
    expect(rows[0]?.actor).toEqual({ kind: 'user', id: account.userId, name: account.email })
    for (const { actor, at } of rows.slice(1)) {
      expect(actor).toEqual({ kind: 'api_key', id: account.keyId, name: 'a key' })
      expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000)
    }
    const [{ text } = { text: '' }] = await service.sql<{ text: string }[]>`
      select string_agg(r::text, ' ') as text from subject_reads r where account_id = ${account.accountId}`
    expect(text).not.toContain('maria')
  })

  it('is filtered by subject and time, and listed page by page', async () => {
    const { accountId, keyId } = account
    const read = (subject: string, time: string) => ({
      id: firstIdAt(Date.parse(time)),
      operation: 'get' as const,
      subjectHmac: hashSubject({ subjectSecret }, accountId, subject),
      readBy: 'api_key' as const,
      actorId: keyId,
    })
    const days = Array.from({ length: 5 }, (_, index) => `2026-03-0${index + 1}T12:00:00.000Z`)
    await insertReads(service.sql, accountId, [
      ...days.map(day => read('paul', day)),
      read('anna', '2026-03-02T13:00:00Z'),
    ])
    expect((await list('?subject_id=paul')).map(({ at }) => at)).toEqual(days.toReversed())
    expect(await list('?subject_id=Paul')).toEqual([])
    const some = await list('?subject_id=paul&from=2026-03-02T12:00:00Z&to=2026-03-04T11:59:59Z')
    expect(some.map(({ at }) => at)).toEqual([days[2], days[1]])
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const query = `?subject_id=paul&limit=2${cursor && `&cursor=${cursor}`}`
      const { body } = await service.call('GET', path + query, { headers: session })
      found.push(...body.data.map(({ at }: SubjectRead) => at))
      if (body.next_cursor === null) break
      cursor = body.next_cursor
    }
    expect(found).toEqual(days.toReversed())
  })

  it('loses none of many requests for many persons at once', async () => {
    const caller = { accountId: account.accountId, siteIds: null, kind: 'api_key', id: account.keyId } as const
    const lost: number[] = []
    const log = new AccessLog(service.sql, { subjectSecret }, reads => lost.push(reads))
    const people = Array.from({ length: 1000 }, (_, index) => `person ${index}`)
    const ask = async () => {
      for (let requests = 0; requests < 6; requests += 1) await log.recordAll(caller, 'check', people)
    }
    await Promise.all(Array.from({ length: 4 }, ask))
    await log.close()
    expect(lost).toEqual([])
    expect(await list('?subject_id=person%20999')).toHaveLength(24)
  })

  it('has the last reads after an ordinary stop, and says how many it could not write', async () => {
    const caller = { accountId: account.accountId, siteIds: null, kind: 'api_key', id: account.keyId } as const
    const lost: number[] = []
    const log = new AccessLog(service.sql, { subjectSecret }, reads => lost.push(reads))
    for (let index = 0; index < 1200; index += 1) log.record(caller, 'check', 'at the end')
    await log.close()
    const counted = await service.sql`
      select from subject_reads
      where account_id = ${account.accountId} and subject_hmac = ${hashSubject({ subjectSecret }, caller.accountId, 'at the end')}`
    expect([counted.length, lost]).toEqual([1200, []])
    const broken = Object.assign(() => Promise.reject(new Error('no writes')), {}) as never
    const failing = new AccessLog(broken, { subjectSecret }, reads => lost.push(reads))
    failing.record(caller, 'get', 'somebody')
    await expect(failing.flush()).rejects.toThrow('no writes')
    await failing.close()
    expect(lost).toEqual([1])
  })

  it('is kept for 13 months, then removed by the job that purges', async () => {
    const { accountId, keyId } = account
    const monthsAgo = (months: number) => {
      const now = new Date()
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, now.getUTCDate())
    }
    const [old, kept] = [firstIdAt(monthsAgo(13) - 1), firstIdAt(monthsAgo(13))]
    const subjectHmac = hashSubject({ subjectSecret }, accountId, 'long ago')
    const rest = { operation: 'get', subjectHmac, readBy: 'api_key', actorId: keyId } as const
    await insertReads(
      service.sql,
      accountId,
      [old, kept].map(id => ({ id, ...rest })),
    )
    const job = purgeJob(service.sql, { purgeAfterDays: null })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 40 * 24 * 60 * 60 * 1000 })
    await expect(job.run(new AbortController().signal)).rejects.toThrow(
      'the clocks of this machine and of the database',
    )
    vi.useRealTimers()
    expect(await list('?subject_id=long%20ago')).toHaveLength(2)
    await job.run(new AbortController().signal)
    expect((await list('?subject_id=long%20ago')).map(({ id }) => id)).toEqual([kept])
  })
})
