import { createHash } from 'node:crypto'
import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { monthOf } from '../../../server/quota/quota.ts'
import { useService } from '../../support/service.ts'
import { makeKey } from '../keys/keys.ts'
import { purgeNow } from '../purge/purge.ts'
import { verified } from '../verify/verified.ts'
import { fileDigest, type Importer, newImporter, type Outcome } from './imports.ts'
import { publishNotice } from './notices.ts'
import { expectRefused, root, unknownId } from './records.ts'

const service = useService()
let importer: Importer
beforeAll(async () => {
  importer = await newImporter(service)
})

const statuses = (results: readonly Outcome[]) => results.map(({ status }) => status)

async function countOf(table: 'consents' | 'origins', { accountId }: Importer): Promise<number> {
  const [found] = await service.sql`
    select count(*)::int as count from ${service.sql(table)} where account_id = ${accountId}`
  return found?.['count']
}

async function used({ accountId }: Importer): Promise<number> {
  await service.quota.settle()
  const [found] = await service.sql`
    select used::int as used from usage where account_id = ${accountId} and month = ${monthOf(new Date())}::date`
  return found?.['used'] ?? 0
}

async function expectSound({ accountId }: Importer): Promise<void> {
  await coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })
  const { findings } = await verified(service.sql, { account: accountId })
  expect(findings.filter(({ consent_id }) => consent_id !== null)).toEqual([])
}

describe('import › 200', () => {
  it('stores when the record was created separately from when and where the answer was given', async () => {
    const before = Date.now()
    const origin = { system: 'usercentrics', id: 'controller 1', evidence: 'https://example.com/proof/1' }
    const fields = { consent_id: 'legacy', user_agent: 'old', notice_locale: 'de', ip_address: '203.0.113.7' }
    const [result] = (await importer.sendAll([importer.row('whole', { ...fields, origin })])) as [Outcome]
    const { consent } = result
    expect(result).toMatchObject({ status: 201, replayed: false })
    expect(consent).toMatchObject({
      site_id: importer.siteId,
      consent_id: 'legacy',
      subject_id: 'subject of whole',
      accepted: true,
      preferences: { marketing: true },
      policy_version: 3,
      notice_locale: 'de',
      given_at: '2021-03-04T05:06:07.891Z',
      origin,
    })
    expect(Date.parse(consent.created_at)).toBeGreaterThanOrEqual(before)
    expect(consent.updated_at).toBe(consent.created_at)
    expect((await importer.get(consent.id)).body).toEqual(consent)
    expect((await importer.list({ subject_id: 'subject of whole' })).body.data).toEqual([consent])
    const { data } = (await importer.history(consent.id)).body
    expect(data).toMatchObject([
      {
        action: 'imported',
        version: 1,
        changed_by: 'api_key',
        actor_id: importer.importKeyId,
        created_at: consent.created_at,
        given_at: '2021-03-04T05:06:07.891Z',
        file_sha256: fileDigest,
        record_hash: expect.any(String),
      },
    ])
    expect(Object.keys(data[0])).not.toContain('gpc')
    const plain = await importer.create()
    expect(Object.keys(plain)).not.toEqual(expect.arrayContaining(['given_at']))
    expect(Object.keys((await importer.history(plain.id)).body.data[0])).not.toContain('given_at')
    await expectSound(importer)
  })

  it('stores each later answer of the person as an entry with its own time, file and policy version', async () => {
    const other = 'ab'.repeat(32)
    const changes = [
      { given_at: '2021-03-04T05:06:07.891Z', accepted: false, preferences: {} },
      { given_at: '2022-01-01T00:00:00+01:00', accepted: true, preferences: { a: 1 }, policy_version: 4 },
      { given_at: '2023-01-01T00:00:00.1239Z', accepted: false, preferences: { a: 0 }, file_sha256: other },
    ]
    const [{ consent }] = (await importer.sendAll([importer.row('changes', { changes })])) as [Outcome]
    expect(consent).toMatchObject({
      accepted: false,
      preferences: { a: 0 },
      policy_version: 4,
      given_at: '2023-01-01T00:00:00.123Z',
    })
    const { data } = (await importer.history(consent.id)).body
    expect(
      data.map((entry: Record<string, unknown>) => [
        entry['action'],
        entry['accepted'],
        entry['policy_version'],
        entry['given_at'],
        entry['file_sha256'],
        entry['created_at'] === consent.created_at,
      ]),
    ).toEqual([
      ['imported', true, 3, '2021-03-04T05:06:07.891Z', fileDigest, true],
      ['imported', false, 3, '2021-03-04T05:06:07.891Z', fileDigest, true],
      ['imported', true, 4, '2021-12-31T23:00:00.000Z', fileDigest, true],
      ['imported', false, 4, '2023-01-01T00:00:00.123Z', other, true],
    ])
    const updated = await importer.update(consent.id, { accepted: true })
    expect(updated.body).toMatchObject({ accepted: true, given_at: consent.given_at, origin: consent.origin })
    const history = (await importer.history(consent.id)).body.data
    expect(history.at(-1)).toMatchObject({ action: 'updated', version: 5 })
    expect(Object.keys(history.at(-1))).not.toContain('given_at')
    await expectSound(importer)
  })

  it('responds to each row separately: an invalid row or an unknown site does not stop the others', async () => {
    const own = await newImporter(service)
    const stranger = await newImporter(service)
    const results = await own.sendAll([
      own.row('1'),
      own.row('2', { policy_version: undefined }),
      own.row('3', { site_id: unknownId }),
      own.row('4', { site_id: stranger.siteId }),
      own.row('5', { idempotency_key: 'k' }),
      own.row('6'),
    ])
    expect(statuses(results)).toEqual([201, 400, 404, 404, 400, 201])
    expect(results[2]).toEqual(results[3])
    expect([await countOf('consents', own), await countOf('origins', own)]).toEqual([2, 2])
    await expectSound(own)
  })

  it('when an earlier row of the batch has the origin, returns 409 rather than 404', async () => {
    const lost = importer.row('twice', { site_id: unknownId })
    const results = await importer.sendAll([lost, importer.row('twice'), lost])
    expect(results.map(({ error }) => error?.message)).toEqual([
      'There is no such site, or it is archived.',
      'An earlier row of the batch has this origin.',
      'There is no such site, or it is archived.',
    ])
    expect(statuses(results)).toEqual([404, 409, 404])
    expect(statuses(await importer.sendAll([importer.row('twice')]))).toEqual([201])
  })

  it.each<[string, object]>([
    ['policy_version', { policy_version: undefined }],
    ['file_sha256', { file_sha256: undefined }],
    ['file_sha256', { file_sha256: 'AB'.repeat(32) }],
    ['given_at', { given_at: undefined }],
    ['given_at', { given_at: '2021-03-04' }],
    ['given_at', { given_at: '1989-12-31T23:59:59.999Z' }],
    ['given_at', { given_at: new Date(Date.now() + 60_000).toISOString() }],
    ['origin.system', { origin: { system: '', id: '1' } }],
    ['origin.system', { origin: { system: 'x'.repeat(65), id: '1' } }],
    ['origin.id', { origin: { system: 'x', id: 'x'.repeat(256) } }],
    ['origin.id', { origin: { system: 'x' } }],
    ['origin.evidence', { origin: { system: 'x', id: '1', evidence: 'x'.repeat(1025) } }],
    ['origin', { origin: 'x' }],
    ['file', { origin: { system: 'x', id: '1', file: 'y' } }],
    ['changes.0.preferences', { changes: [{ given_at: '2022-01-01T00:00:00Z', accepted: true }] }],
    ['changes.0.given_at', { changes: [{ given_at: '2021-03-04T05:06:07.890Z', accepted: true, preferences: {} }] }],
    ['changes.0', { changes: [null] }],
    ['idempotency_key', { idempotency_key: 'k' }],
    ['created_at', { created_at: '2021-03-04T05:06:07.891Z' }],
    ['expires_at', { expires_at: '2021-03-04T05:06:07.891Z' }],
  ])('returns 400 for a row with an invalid %s', async (name, fields) => {
    const before = await countOf('origins', importer)
    const [result] = await importer.sendAll([importer.row('invalid', fields)])
    expect(result).toMatchObject({ status: 400, error: { error: 'invalid_request' } })
    expect(result?.error.message).toContain(name)
    expect(await countOf('origins', importer)).toBe(before)
  })

  it('on a strict site, accepts an answer without a notice, which names no notice and never expires', async () => {
    const own = await newImporter(service)
    await service.sql`update sites set strict_notices = true where account_id = ${own.accountId}`
    await publishNotice(service, own, { version: 3, languages: ['de'], validFor: 'P30D' })
    expect((await own.post({ site_id: own.siteId, policy_version: 9 })).status).toBe(400)
    const results = await own.sendAll([own.row('1', { notice_locale: 'fr' }), own.row('2', { policy_version: 9 })])
    expect(statuses(results)).toEqual([201, 201])
    const rows = await service.sql`
      select notice_entry, expires_at from consents where account_id = ${own.accountId}`
    expect(rows).toEqual([
      { notice_entry: null, expires_at: null },
      { notice_entry: null, expires_at: null },
    ])
    const [first] = results as [Outcome]
    await own.update(first.consent.id, { accepted: false })
    await own.update(first.consent.id, { accepted: true })
    await expectSound(own)
  })
})

describe('import › origin', () => {
  it('creates one record permanently: repeating the row returns the record as it was imported', async () => {
    const changes = [{ given_at: '2022-01-01T00:00:00Z', accepted: false, preferences: { b: 1 } }]
    const row = importer.row('again', { changes })
    const [first, twin] = (await importer.sendAll([row, row])) as [Outcome, Outcome]
    expect([first.replayed, twin]).toEqual([false, { ...first, replayed: true }])
    await service.sql`update idempotency_keys set created_at = now() - interval '30 days'`
    expect(await importer.sendAll([row])).toEqual([twin])
    await importer.update(first.consent.id, { accepted: true, preferences: {} })
    expect(await importer.sendAll([row])).toEqual([twin])
    const written = { ...row, given_at: '2021-03-04T06:06:07.8915+01:00', file_sha256: '00'.repeat(32) }
    expect(await importer.sendAll([written]), 'the same content, of another file').toEqual([twin])
    await importer.remove(first.consent.id)
    expect(await importer.sendAll([row])).toEqual([twin])
    expect((await importer.get(first.consent.id)).status).toBe(404)
    const minimal = await service.call('POST', `${root}/batch`, {
      key: importer.importKey,
      headers: { prefer: 'return=minimal' },
      body: { records: [row] },
    })
    expect(minimal.body.results).toEqual([{ status: 201, consent: { id: first.consent.id }, replayed: true }])
  })

  it('when the connection is lost at commit and the rows are retried, still reports the record as new', async () => {
    let statements = 0
    const isImport = ([text]: Parameters<Sql>) => [text].flat().join('').includes('insert into consents as c')
    const sql = new Proxy(service.sql, {
      apply(target, self, args: Parameters<Sql>) {
        const result = Reflect.apply(target, self, args)
        if (!isImport(args) || statements++ > 0) return result
        return result.then(() => Promise.reject(Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })))
      },
    })
    const known = importer.row('known before')
    await importer.sendAll([known])
    const [lost, other] = [importer.row('lost'), importer.row('lost too')]
    const results = await importer.sendAll([lost, known, lost, other], await service.addNode({ sql }))
    expect(statements).toBe(2)
    expect(results.map(({ status, replayed }) => [status, replayed])).toEqual([
      [201, false],
      [201, true],
      [201, true],
      [201, false],
    ])
    expect(results[2]?.consent).toEqual(results[0]?.consent)
    expect(await importer.sendAll([lost])).toEqual([{ ...results[0], replayed: true }])
    await expectSound(importer)
  })

  it.each<[string, object]>([
    ['acceptance', { accepted: false }],
    ['time', { given_at: '2021-03-04T05:06:07.892Z' }],
    ['policy version', { policy_version: 4 }],
    ['subject', { subject_id: 'another' }],
    ['later answer', { changes: [{ given_at: '2022-01-01T00:00:00Z', accepted: true, preferences: {} }] }],
    ['evidence', { origin: { system: 'usercentrics', id: 'conflict', evidence: 'x' } }],
  ])('returns 409 for another %s, and changes nothing', async (_what, fields) => {
    const row = importer.row('conflict')
    const [first] = (await importer.sendAll([row])) as [Outcome]
    const results = await importer.sendAll([importer.row('conflict', fields), row])
    expect(results).toMatchObject([
      { status: 409, error: { error: 'conflict' } },
      { status: 201, replayed: true },
    ])
    expect((await importer.get(first.consent.id)).body).toEqual(first.consent)
  })

  it('is separate per account and system', async () => {
    const other = await newImporter(service)
    const [one, two] = [
      await other.sendAll([other.row('shared'), other.row('shared', { origin: { system: 'didomi', id: 'shared' } })]),
      await importer.sendAll([importer.row('shared')]),
    ]
    expect([...one, ...two].map(({ status, replayed }) => [status, replayed])).toEqual(Array(3).fill([201, false]))
  })

  it('does not restore a record after an erasure or its purge', async () => {
    const own = await newImporter(service)
    const rows = [own.row('gone'), own.row('stays')]
    const [gone] = (await own.sendAll(rows)) as [Outcome]
    const erased = await service.call('POST', '/api/v1/subjects/erase', {
      key: own.key,
      body: { subject_id: gone.consent.subject_id },
    })
    expect(erased.status, erased.text).toBe(200)
    expect((await own.sendAll(rows)).map(({ replayed }) => replayed)).toEqual([true, true])
    expect((await own.get(gone.consent.id)).status).toBe(404)
    expect((await purgeNow(service.sql)).get(own.accountId)).toBe(1)
    const again = await own.sendAll(rows)
    expect(statuses(again)).toEqual([409, 201])
    expect(again[0]?.error.message).toContain('erased')
    expect(await countOf('consents', own)).toBe(2)
    const purged = (await own.get(gone.consent.id, { include_deleted: 'true' })).body
    expect(purged).toMatchObject({
      subject_id: null,
      given_at: gone.consent.given_at,
      origin: { system: 'usercentrics', id: null, evidence: null },
    })
    const { data } = (await own.history(gone.consent.id)).body
    expect(data[0]).toMatchObject({
      action: 'imported',
      given_at: gone.consent.given_at,
      file_sha256: fileDigest,
      salt: null,
    })
    const [mark] = await service.sql`
      select body_hash from origins where account_id = ${own.accountId} and consent_id = ${gone.consent.id}`
    expect(mark).toEqual({ body_hash: null })
    const guess = createHash('sha256')
      .update(Buffer.from(own.accountId.replaceAll('-', ''), 'hex'))
      .update(`usercentrics\0${rows[0]?.origin.id}`)
    const origins = await service.sql`select from origins where origin = ${guess.digest()}`
    expect(origins).toHaveLength(0)
    await expectSound(own)
  })
})

describe('import › scope', () => {
  it('requires the scope in addition to write; on its own, the scope allows only import rows', async () => {
    const writer = { key: importer.key, body: { records: [importer.row('forbidden')] } }
    const [refused, plain] = [
      await service.call('POST', `${root}/batch`, writer),
      await importer.sendRows([{ site_id: importer.siteId }]),
    ]
    expect([refused.status, refused.body.message]).toEqual([403, 'The API key lacks the scope import.'])
    expect([plain.status, plain.body.message]).toEqual([403, 'The API key lacks the scope write.'])
    const headers = await service.signIn(importer)
    const session = await service.call('POST', `${root}/batch`, { headers, body: writer.body })
    expect([session.status, session.body.error]).toEqual([403, 'forbidden'])
    const single = await service.call('POST', root, { key: importer.importKey, body: { site_id: importer.siteId } })
    expect(single.status).toBe(403)
    const { key } = await makeKey(service, headers, { scopes: ['write', 'import'] })
    for (const records of [[importer.row('both')], [{ site_id: importer.siteId }]])
      expect((await service.call('POST', `${root}/batch`, { key, body: { records } })).status).toBe(200)
  })

  it('rejects a batch that mixes import rows and other records', async () => {
    const before = await countOf('consents', importer)
    expectRefused(await importer.sendRows([importer.row('mixed'), { site_id: importer.siteId }]), 'origin')
    expect(await countOf('consents', importer)).toBe(before)
  })
})

describe('import › quota', () => {
  it('takes a unit per hundred rows, and returns 429 for rows without a unit', async () => {
    const poor = await newImporter(service)
    await service.sql`update accounts set monthly_quota = 3 where account_id = ${poor.accountId}`
    await service.sql`delete from usage where account_id = ${poor.accountId}`
    const rows = Array.from({ length: 101 }, (_, index) => poor.row(`${index}`))
    expect(statuses(await poor.sendAll(rows))).toEqual(Array(101).fill(201))
    expect(await used(poor)).toBe(2)
    const later = await poor.sendAll([...rows, ...rows])
    expect(statuses(later)).toEqual([...Array(100).fill(201), ...Array(102).fill(429)])
    expect(later.at(-1)).toMatchObject({ retry_after: expect.any(Number) })
    expect(await used(poor)).toBe(3)
    expect((await poor.sendRows([poor.row('1')])).status).toBe(429)
  })
})

describe('import › limits', () => {
  it('accepts thousands of answers of one person in a body of 1 MiB, and purges them all', async () => {
    const own = await newImporter(service)
    const changes = Array.from({ length: 3000 }, (_, n) => ({
      given_at: new Date(Date.UTC(2022, 0, 1) + n).toISOString(),
      accepted: n % 2 === 0,
      preferences: { marketing: n % 3 === 0 },
    }))
    const body = JSON.stringify({ records: [own.row('long', { changes })] }).padEnd(1024 * 1024)
    expect(body.length).toBe(1024 * 1024)
    const answer = await service.call('POST', `${root}/batch`, { key: own.importKey, body })
    expect(answer.status, answer.text).toBe(200)
    const [{ consent }] = answer.body.results
    expect(consent).toMatchObject({ given_at: changes.at(-1)?.given_at, accepted: false })
    const [history] = await service.sql`
      select count(*)::int as count from consent_history where consent_id = ${consent.id} and action = 'imported'`
    expect(history).toEqual({ count: 3001 })
    expect((await service.call('POST', `${root}/batch`, { key: own.importKey, body: `${body} ` })).status).toBe(413)
    await expectSound(own)
    await own.remove(consent.id)
    expect((await purgeNow(service.sql)).get(own.accountId)).toBe(1)
    await expectSound(own)
  })
})

describe('import › list', () => {
  it('returns imported records in pages, streams and counts, also with other filters', async () => {
    const own = await newImporter(service)
    const rows = Array.from({ length: 7 }, (_, n) => own.row(`${n}`, { accepted: n % 2 === 0, consent_id: `${n % 2}` }))
    const ids = (await own.sendAll(rows)).map(({ consent }) => consent.id).reverse()
    const others = [
      (await own.create({ consent_id: '1' })).id,
      (await own.create({ subject_id: 'subject of 1' })).id,
    ].reverse()
    await own.remove(ids[0] ?? '')
    const idsOf = async (query: Record<string, string>) =>
      (await own.list(query)).body.data.map(({ id }: { id: string }) => id)
    expect(await idsOf({ imported: 'true' })).toEqual(ids.slice(1))
    expect(await idsOf({ imported: 'true', include_deleted: 'true' })).toEqual(ids)
    expect(await idsOf({ imported: 'false', include_deleted: 'true' })).toEqual(others)
    expect(await idsOf({ imported: 'true', subject_id: 'subject of 1' })).toEqual([ids[5]])
    expect(await idsOf({ imported: 'false', subject_id: 'subject of 1' })).toEqual([others[0]])
    expect(await idsOf({ imported: 'true', site_id: own.siteId, consent_id: '1' })).toEqual([ids[1], ids[3], ids[5]])
    expect(await idsOf({ imported: 'true', accepted: 'false' })).toEqual([ids[1], ids[3], ids[5]])
    const first = (await own.list({ imported: 'true', limit: '4' })).body
    expect(first.data).toHaveLength(4)
    const cursor = first.next_cursor
    expect(await idsOf({ imported: 'true', cursor })).toEqual(ids.slice(5))
    for (const filters of [{}, { imported: 'false' }]) expectRefused(await own.list({ ...filters, cursor }), 'cursor')
    expectRefused(await own.list({ imported: 'true', expiry: 'P30D' }), 'expiry')
    const stream = await fetch(`${service.url}${root}?imported=true&limit=2`, {
      headers: { authorization: `Bearer ${own.key}`, accept: 'application/x-ndjson' },
    })
    const pages = (await stream.text())
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(pages.flatMap(({ data }) => data.map(({ id }: { id: string }) => id))).toEqual(ids.slice(1))
    const count = await service.call('GET', '/api/v1/stats/count?imported=true', { key: own.key })
    expect(count.body).toEqual({ count: 6 })
  })
})
