import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import type { DataSubjectRequest, RequestEntry } from '../../../src/contract/index.ts'
import { onCitus } from '../../support/database.ts'
import { type ServiceResponse, type TestAccount, useService } from '../../support/service.ts'
import { sealSince } from '../subjects/fixtures.ts'
import { verified } from '../verify/verified.ts'

const service = useService({ config: { holidays: ['12-25'] } })
const path = '/api/v1/requests'
const maria = 'maria@example.com'
const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)

let account: TestAccount
beforeAll(async () => {
  account = await service.newAccount()
})

const draft = (ticket: string, more: object = {}) => ({
  ticket,
  kind: 'erasure',
  subject_ids: [maria, 'customer-4711'],
  received_on: day(-3),
  ...more,
})
const post = (body: object, { key } = account) => service.call('POST', path, { key, body })
const add = async (ticket: string, more?: object) => (await post(draft(ticket, more))).body as DataSubjectRequest
const patch = ({ id }: { id: string }, body: object) =>
  service.call('PATCH', `${path}/${id}`, { key: account.key, body })
const read = async ({ id }: { id: string }) => (await service.call('GET', `${path}/${id}`, { key: account.key })).body
const list = async (query: Record<string, string>): Promise<ServiceResponse> =>
  service.call('GET', `${path}?${new URLSearchParams(query)}`, { key: account.key })
const tickets = async (query: Record<string, string>) =>
  (await list(query)).body.data.map(({ ticket }: DataSubjectRequest) => ticket)

/** What certificates of erasures have for a subject, too (server/subjects). */
function hmacOf(subject: string, { accountId } = account): string {
  const accountKey = createHmac('sha256', Buffer.alloc(32, 9)).update(accountId).digest()
  return createHmac('sha256', accountKey).update(subject).digest('hex')
}

describe('POST /api/v1/requests', () => {
  it('adds a request that is due one month later, on the next working day that is not a holiday', async () => {
    const answer = await post(draft('DSR-1', { received_on: '2025-11-25', assignee: 'privacy team' }))
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({
      ...{ ticket: 'DSR-1', kind: 'erasure', state: 'open', received_on: '2025-11-25', due_on: '2025-12-26' },
      ...{ subject_ids: [maria, 'customer-4711'], assignee: 'privacy team', outcome: null, receipts: [], version: 1 },
      subject_hmacs: [hmacOf(maria), hmacOf('customer-4711')],
    })
  })

  it('returns the same request for the same draft, also concurrently, and 409 for another draft with its ticket', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => post(draft('DSR-2'))))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1)
    for (const more of [{ kind: 'access' }, { received_on: day(-4) }, { subject_ids: [maria] }, { assignee: 'jo' }])
      expect((await post(draft('DSR-2', more))).status).toBe(409)
    expect((await read(answers[0]?.body)).history).toHaveLength(1)
  })

  it('returns the request for its own draft even if it was reassigned since', async () => {
    const made = await add('DSR-2b', { assignee: 'jo' })
    await patch(made, { assignee: 'maria' })
    expect(await post(draft('DSR-2b', { assignee: 'jo' }))).toMatchObject({ status: 201, body: { assignee: 'maria' } })
    expect((await post(draft('DSR-2b', { assignee: 'maria' }))).status).toBe(409)
  })

  it('accepts a ticket that another account uses', async () => {
    const other = await service.newAccount()
    const mine = await add('DSR-3')
    const theirs = await post(draft('DSR-3'), other)
    expect(theirs.status).toBe(201)
    expect([theirs.body.id, theirs.body.subject_hmacs]).not.toEqual([mine.id, mine.subject_hmacs])
    expect(theirs.body.subject_hmacs[0]).toBe(hmacOf(maria, other))
  })

  it.each([
    ['a day in the future', { received_on: '2999-01-01' }],
    ['a day that does not exist', { received_on: '2026-02-30' }],
    ['no identifier', { subject_ids: [] }],
    ['an identifier twice', { subject_ids: [maria, maria] }],
    ['an unknown kind', { kind: 'portability' }],
  ])('returns 400 for %s', async (_, more) => {
    expect((await post(draft('DSR-never', more))).status).toBe(400)
  })

  it('is not rejected when the quota is used up', async () => {
    const poor = await service.newAccount({ monthlyQuota: 0 })
    expect((await post(draft('DSR-1'), poor)).status).toBe(201)
  })
})

describe('PATCH /api/v1/requests/:id', () => {
  it('corrects and assigns, recalculates the due date, and records who changed what', async () => {
    const made = await add('DSR-10', { received_on: '2025-12-01' })
    const { headers, body } = { headers: { ...(await service.signIn(account)) }, body: { assignee: 'privacy team' } }
    await service.call('PATCH', `${path}/${made.id}`, { headers, body })
    const answer = await patch(made, { received_on: '2025-12-04', subject_ids: ['m.muster'], kind: 'objection' })
    expect(answer.body).toMatchObject({ due_on: '2026-01-05', subject_ids: ['m.muster'], version: 3 })
    const { history } = (await read(made)) as { history: RequestEntry[] }
    expect(history.map(({ version, action, changed_by, actor_id }) => [version, action, changed_by, actor_id])).toEqual(
      [
        [1, 'created', 'api_key', account.keyId],
        [2, 'updated', 'user', account.userId],
        [3, 'updated', 'api_key', account.keyId],
      ],
    )
    expect(history[0]?.before).toBeNull()
    const details_sha256 = expect.stringMatching(/^[\da-f]{64}$/)
    expect(history[0]?.after).toMatchObject({ kind: 'erasure', state: 'open', details_sha256 })
    expect(history[1]).toMatchObject({ before: { details_sha256 }, after: { details_sha256 } })
    expect(history[2]?.before).toEqual({
      ...{ kind: 'erasure', received_on: '2025-12-01', due_on: '2026-01-01', details_sha256 },
    })
    const log = await service.call('GET', `/api/v1/audit?target=${made.id}`, { headers })
    expect(log.body.data.map(({ action }: { action: string }) => action)).toEqual([
      ...['request_updated', 'request_updated', 'request_created'],
    ])
    const hmacs = [hmacOf(maria), hmacOf('m.muster')]
    const shown = JSON.stringify([history, log.body.data.map(({ document }: { document: string }) => document)])
    for (const text of ['DSR-10', 'maria', 'customer-', 'm.muster', 'privacy team', ...hmacs])
      expect(shown).not.toContain(text)
  })

  it('writes nothing if nothing changes', async () => {
    const made = await add('DSR-11')
    const changes = [{ kind: 'erasure' }, { assignee: null }, { subject_ids: [maria, 'customer-4711'] }, {}]
    for (const change of changes) expect((await patch(made, change)).body).toEqual(made)
  })

  it('extends once by two months from the receipt, until the first due date', async () => {
    const made = await add('DSR-12', { received_on: day(-20) })
    const extended = (await patch(made, { extension_reason: 'many systems' })).body
    expect(extended).toMatchObject({ state: 'extended', extension_reason: 'many systems' })
    expect(Date.parse(extended.due_on) - Date.parse(made.received_on)).toBeGreaterThan(88 * 86_400_000)
    expect((await patch(made, { extension_reason: 'many systems' })).body).toEqual(extended)
    const again = await patch(made, { extension_reason: 'more systems' })
    expect([again.status, again.body.message]).toEqual([409, expect.stringContaining('once')])
    expect((await read(made)).history.at(-1).action).toBe('extended')
  })

  it('returns 409 for an extension after the first due date', async () => {
    const late = await patch(await add('DSR-13', { received_on: '2026-01-15' }), { extension_reason: 'too late' })
    expect([late.status, late.body.message]).toEqual([409, expect.stringContaining('until 2026-02-16')])
  })

  it.each([
    ['kind', { kind: 'access' }],
    ['due_on', { due_on: '2026-03-01' }],
    ['outcome', { outcome: 'done' }],
    ['assignee', { assignee: 'nobody' }],
    ['outcome_reason', { outcome_reason: 'never existed' }],
  ])('when its %s is forged in the database, admin verify names the request', async (_, forged) => {
    const own = await service.newAccount()
    const { body } = await post(draft('DSR-1', { received_on: '2026-01-10' }), own)
    await service.call('PATCH', `${path}/${body.id}`, {
      ...{ key: own.key, body: { outcome: 'refused', outcome_reason: 'unfounded' } },
    })
    const find = async () => (await verified(service.sql, { account: own.accountId })).findings
    expect(await find()).toEqual([])
    await service.sql`update subject_requests set ${service.sql(forged)} where account_id = ${own.accountId}`
    expect(await find()).toMatchObject([
      { problem: 'changed', detail: expect.stringContaining(`of the request ${body.id} do not match`) },
    ])
    await service.sql`delete from subject_requests where account_id = ${own.accountId}`
    expect(await find()).toMatchObject([{ problem: 'lost', detail: `the request ${body.id} is missing` }])
  })

  it('closes with an outcome, and keeps only HMACs of the identifiers, in every column and entry', async () => {
    const made = await add('DSR-14', { subject_ids: ['only-here@example.com'] })
    const twin = await add('DSR-14b', { subject_ids: ['only-here@example.com'] }) // so that it is a common value
    await service.sql`analyze subject_requests`
    await patch(twin, { outcome: 'done' })
    const closed = (await patch(made, { outcome: 'done' })).body
    expect(closed).toMatchObject({ state: 'closed', outcome: 'done', subject_ids: null })
    expect(closed.subject_hmacs).toEqual(made.subject_hmacs)
    expect((await patch(made, { outcome: 'done' })).body).toEqual(closed)
    const rows = await service.sql`
      select r::text as row from subject_requests r union all select e::text from account_entries e`
    expect(JSON.stringify(rows)).not.toContain('only-here')
    const samples = await service.sql`select s::text as row from pg_stats s where tablename = 'subject_requests'`
    if (!onCitus()) expect(samples.length).toBeGreaterThan(0) // there they are on the workers
    expect(JSON.stringify(samples)).not.toContain('only-here')
    expect((await read(made)).history.at(-1)).toMatchObject({ action: 'closed', after: { outcome: 'done' } })
  })

  it('409 for an erasure that is done while a hold keeps records; tells of the hold and of sealed proofs', async () => {
    const own = await service.newAccount()
    const subject = 'held-8c1f'
    const ask = (method: string, to: string, body?: object) =>
      service.call(method, `/api/v1/${to}`, { key: own.key, ...(body && { body }) })
    await sealSince(service, own, { basis: 'a claim', period: 'P1Y' }, new Date(Date.now() - 1000))
    const { id } = (await ask('POST', 'consents', { site_id: own.siteId, subject_id: subject })).body
    const made = (await ask('POST', 'requests', draft('DSR-20', { subject_ids: ['other', subject] }))).body
    const held_until = new Date(Date.now() + 86_400_000).toISOString()
    const hold = (await ask('POST', 'holds', { subject_id: subject, reason: 'court', ticket: 'L-7', held_until })).body
    const change = (body: object) => ask('PATCH', `requests/${made.id}`, body)
    const left = async () => (await ask('GET', `requests/${made.id}`)).body
    expect(await left()).toMatchObject({ held_until, sealed_proofs: 0, sealed_until: null })
    expect(await change({ outcome: 'done' })).toMatchObject({
      status: 409,
      body: { reason: 'held', message: expect.stringMatching(`until ${held_until} .*: court, L-7; `) },
    })
    expect(await left()).toMatchObject({ state: 'open', version: 1 })
    await ask('DELETE', `holds/${hold.id}`)
    await ask('DELETE', `consents/${id}`)
    await ask('POST', 'subjects/purge', { ids: [id] })
    const again = (await ask('POST', 'holds', { subject_id: subject, reason: 'court', held_until })).body
    const closed = await change({ outcome: 'done' })
    const until = { held_until: again.held_until, sealed_proofs: 1, sealed_until: expect.any(String) }
    expect(closed).toMatchObject({ status: 200, body: { outcome: 'done', purged_on: day(0), ...until } })
    expect((await ask('GET', 'requests?ticket=DSR-20')).body.data).toEqual([closed.body])
    expect((await verified(service.sql, { account: own.accountId })).findings).toEqual([])
  })

  it('allows only receipts for a closed request, each once', async () => {
    const made = await add('DSR-15')
    await patch(made, { outcome: 'refused', outcome_reason: 'manifestly unfounded' })
    const receipt = { type: 'erasure_receipt', sha256: 'a'.repeat(64) }
    const answers = await Promise.all([1, 2, 3].map(() => patch(made, { receipt })))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await read(made)).receipts).toEqual([{ ...receipt, added_at: expect.any(String) }])
    const changes = [{ outcome: 'done' }, { kind: 'access' }, { assignee: 'x' }, { subject_ids: ['other'] }]
    for (const change of changes) expect((await patch(made, { ...change, receipt })).status).toBe(409)
  })

  it('returns 400 for a refusal without a reason, and for a reason without an outcome', async () => {
    const made = await add('DSR-16')
    for (const change of [{ outcome: 'refused' }, { outcome_reason: 'because' }])
      expect((await patch(made, change)).status).toBe(400)
  })

  it('applies each of several concurrent changes, with an entry for each', async () => {
    const made = await add('DSR-17')
    const digests = ['1', '2', '3', '4'].map(digit => digit.repeat(64))
    await Promise.all(digests.map(sha256 => patch(made, { receipt: { type: 'export_manifest', sha256 } })))
    const { receipts, history, version } = await read(made)
    expect(receipts.map(({ sha256 }: { sha256: string }) => sha256).sort()).toEqual(digests)
    expect(history.map((entry: RequestEntry) => entry.version)).toEqual([1, 2, 3, 4, 5])
    expect(version).toBe(5)
  })
})

describe('GET /api/v1/requests', () => {
  it('filters by state, ticket, subject and day, including closed requests by their HMAC', async () => {
    account = await service.newAccount()
    await add('DSR-1', { received_on: '2026-01-10' })
    const second = await add('DSR-2', { received_on: '2026-01-20', subject_ids: ['other'] })
    const third = await add('DSR-3', { received_on: day(-1) })
    await patch(second, { outcome: 'withdrawn' })
    await patch(third, { extension_reason: 'many systems' })
    expect(await tickets({})).toEqual(['DSR-3', 'DSR-2', 'DSR-1'])
    expect(await tickets({ state: 'open' })).toEqual(['DSR-3', 'DSR-1'])
    expect(await tickets({ state: 'closed', subject_id: 'other' })).toEqual(['DSR-2'])
    expect(await tickets({ subject_id: maria })).toEqual(['DSR-3', 'DSR-1'])
    expect(await tickets({ ticket: 'DSR-1' })).toEqual(['DSR-1'])
    expect(await tickets({ received_from: '2026-01-10', received_to: '2026-01-20' })).toEqual(['DSR-2', 'DSR-1'])
    const first = await list({ limit: '2' })
    expect(first.body.data).toHaveLength(2)
    expect(await tickets({ limit: '2', cursor: first.body.next_cursor })).toEqual(['DSR-1'])
    expect((await list({ state: 'open', cursor: first.body.next_cursor })).status).toBe(400)
  })
})
