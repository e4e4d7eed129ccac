import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { keyIdOf, newSigningKey, readPublicKey } from '../../../src/evidence/keys.ts'
import { leafHash } from '../../../src/evidence/merkle.ts'
import { rootOfInclusion } from '../../../src/evidence/proofs.ts'
import { readCheckpoint, readSigned } from '../../../src/evidence/signed.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { useService } from '../../support/service.ts'
import { fileDigest, type Importer, newImporter } from './imports.ts'
import { publishNotice } from './notices.ts'
import { instant, newOwner, type Owner, uuidV7 } from './records.ts'

const service = useService()
let owner: Owner
let importer: Importer
beforeAll(async () => {
  owner = await newOwner(service)
  importer = await newImporter(service)
})

const publicKeys = async () => (await service.call('GET', '/.well-known/consent-keys.json')).body.keys

/** The receipt of a record, whose signature and schema are looked at. */
async function receiptOf(id: string, of: Pick<Owner, 'receipt'> = owner) {
  const { status, text, body, headers } = await of.receipt(id)
  expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  expect(schemaProblems(text)).toEqual([])
  const [{ pem }] = await publicKeys()
  expect(readSigned(Buffer.from(text)).isSignedBy(readPublicKey(pem))).toBe(true)
  return body
}

describe('GET /api/v1/consents/{id}/receipt › 200', () => {
  it('returns the record in the fields of the standards, with a valid signature', async () => {
    const subject = 'maría\u202e@example.com'
    const record = await owner.create({
      subject_id: subject,
      consent_id: 'newsletter',
      accepted: true,
      preferences: { marketing: true },
      policy_version: 3,
    })
    const receipt = await receiptOf(record.id)
    const [entry] = (await owner.history(record.id)).body.data
    const [row] = await service.sql`select chain_head from consents where id = ${record.id}`
    expect(receipt).toMatchObject({
      type: 'consent_receipt',
      version: 1,
      receipt_id: expect.stringMatching(uuidV7),
      issued_at: expect.stringMatching(instant),
      record_id: record.id,
      pii_principal_id: subject,
      consent_id: 'newsletter',
      privacy_notice: { site_id: owner.siteId, policy_version: 3, locale: null, notice: 'not held' },
      country: null,
      region: null,
      consent_status: 'dpv:ConsentGiven',
      preferences: { marketing: true },
      record_version: 1,
      chain_head: row?.['chain_head'].toString('hex'),
      inclusion: null,
    })
    expect(receipt.events).toEqual([
      {
        event_id: entry.id,
        event_time: record.created_at,
        event_type: 'dpv:Consent',
        event_state: 'dpv:ConsentGiven',
        entity_id: owner.keyId,
        changed_by: 'api_key',
        preferences: { marketing: true },
        given_at: null,
        gpc: false,
      },
    ])
    expect(receipt.origin).toBeNull()
  })

  it('when a record is accepted but no purpose is, states that consent was not given', async () => {
    const { id } = await owner.create({ accepted: true, preferences: { marketing: true, analytics: true } })
    await owner.update(id, { preferences: { marketing: true, analytics: false } })
    await owner.update(id, { preferences: { marketing: false, analytics: false } })
    const { consent_status, events } = await receiptOf(id)
    expect(events.map((event: { event_state: string }) => event.event_state)).toEqual([
      'dpv:ConsentGiven',
      'urn:consentctl:ConsentPartlyGiven',
      'dpv:ConsentWithdrawn',
    ])
    expect(consent_status).toBe('dpv:ConsentWithdrawn')
    const refused = await owner.create({ accepted: true, preferences: { marketing: false } })
    expect((await receiptOf(refused.id)).consent_status).toBe('dpv:ConsentRefused')
  })

  it('states each purpose since the event that gave, refused or withdrew it', async () => {
    const own = await newOwner(service)
    await publishNotice(service, own, { version: 1, languages: ['en'], purposes: ['marketing'] })
    const created = await own.create({ accepted: true, preferences: { necessary: true, analytics: true } })
    const [first] = (await own.history(created.id)).body.data
    expect(await receiptOf(created.id, own)).toMatchObject({
      consent_status: 'dpv:ConsentGiven',
      purposes: [
        { purpose: 'analytics', state: 'given', since: first.created_at },
        { purpose: 'marketing', state: 'not_answered', since: null },
        { purpose: 'necessary', state: 'given', since: first.created_at },
      ],
    })
    await own.update(created.id, { preferences: { necessary: true, analytics: false, marketing: false } })
    const [, last] = (await own.history(created.id)).body.data
    expect(await receiptOf(created.id, own)).toMatchObject({
      consent_status: 'dpv:ConsentWithdrawn', // by marketing, the purpose of the notice
      purposes: [
        { purpose: 'analytics', state: 'withdrawn', since: last.created_at },
        { purpose: 'marketing', state: 'refused', since: last.created_at },
        { purpose: 'necessary', state: 'given', since: first.created_at },
      ],
    })
  })

  it('names newer answers of the same identifier on the site, in other records, by purpose as the check does', async () => {
    const subject_id = 'newer@example.com'
    const newer = async (id: string) => (await receiptOf(id)).newer_answers
    const checked = async (purpose: string) => {
      const query = `subject_id=${subject_id}&purpose=${purpose}&site_id=${owner.siteId}`
      return (await service.call('GET', `/api/v1/subjects/check?${query}`, { key: owner.key })).body.record.id
    }
    const first = await owner.create({ subject_id, accepted: true, preferences: { marketing: true } })
    await owner.create({ subject_id: `x${subject_id}`, accepted: false, preferences: { marketing: false } })
    expect(await newer(first.id)).toEqual([])
    const second = await owner.create({ subject_id, accepted: true, preferences: { marketing: true, analytics: true } })
    await owner.update(second.id, { preferences: { marketing: false, analytics: true } })
    const [, withdrawn] = (await owner.history(second.id)).body.data
    expect(await newer(first.id)).toEqual([
      { purpose: 'marketing', record_id: second.id, answered_at: withdrawn.created_at, state: 'withdrawn' },
    ])
    expect(await newer(second.id)).toEqual([])
    await owner.update(first.id, { preferences: { marketing: true, analytics: false } })
    const [, last] = (await owner.history(first.id)).body.data
    const ofMarketing = { purpose: 'marketing', record_id: second.id, state: 'withdrawn' }
    expect(await newer(first.id)).toEqual([{ ...ofMarketing, answered_at: withdrawn.created_at }])
    expect(await newer(second.id)).toEqual([
      { purpose: 'analytics', record_id: first.id, answered_at: last.created_at, state: 'refused' },
    ])
    expect([await checked('marketing'), await checked('analytics')]).toEqual([second.id, first.id])
    await owner.remove(second.id)
    expect(await receiptOf(first.id)).toMatchObject({ compared_records: 1, newer_answers: [] })
  })

  it('names a newer answer, but not what it says, when its history does not verify', async () => {
    const subject_id = 'damaged@example.com'
    const first = await owner.create({ subject_id, accepted: true })
    const second = await owner.create({ subject_id, accepted: false })
    await service.sql`update consent_history set accepted = true where consent_id = ${second.id}`
    expect((await receiptOf(first.id)).newer_answers).toEqual([
      { purpose: null, record_id: second.id, answered_at: second.created_at, state: null },
    ])
  })

  it('names no newer answer of an identifier with more than 1,000 records, which is no person', async () => {
    const subject_id = 'guest'
    const { id } = await owner.create({ subject_id, accepted: true })
    for (let sent = 0; sent < 1000; sent += 100) {
      const records = Array.from({ length: 100 }, () => ({ site_id: owner.siteId, subject_id }))
      const { status } = await service.call('POST', '/api/v1/consents/batch', { key: owner.key, body: { records } })
      expect(status).toBe(200)
      if (sent === 0) expect(await receiptOf(id)).toMatchObject({ compared_records: 101, newer_answers: [{}] })
    }
    expect(await receiptOf(id)).toMatchObject({ compared_records: null, newer_answers: [] })
  })

  it('names no newer answer of a record without a subject', async () => {
    const { id } = await owner.create({ accepted: true })
    await owner.create({ accepted: false })
    expect(await receiptOf(id)).toMatchObject({ compared_records: null, newer_answers: [] })
  })

  it('says that a consent is expired from the end of its validity on, unless it was withdrawn', async () => {
    const own = await newOwner(service)
    await publishNotice(service, own, { version: 1, languages: ['en'], validFor: 'P1D' })
    const draft = { accepted: true, preferences: { marketing: true } }
    const [kept, withdrawn] = [await own.create(draft), await own.create(draft)]
    await own.update(withdrawn.id, { preferences: { marketing: false } })
    const expires_at = new Date(Date.parse(kept.created_at) + 86_400_000).toISOString()
    expect(await receiptOf(kept.id, own)).toMatchObject({ consent_status: 'dpv:ConsentGiven', expires_at })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(expires_at) })
    try {
      const receipt = await receiptOf(kept.id, own)
      expect(receipt).toMatchObject({ consent_status: 'dpv:ConsentExpired', expires_at })
      expect(receipt.events[0].event_state).toBe('dpv:ConsentGiven')
      expect((await receiptOf(withdrawn.id, own)).consent_status).toBe('dpv:ConsentWithdrawn')
    } finally {
      vi.useRealTimers()
    }
  })

  it('issues a new receipt each time, with every preference as it was sent', async () => {
    const preferences = { 'é"\\': ['\u0001', 1.5, null, { __proto: 'x' }], '😀': {} }
    const { id } = await owner.create({ preferences })
    const [one, other] = [await receiptOf(id), await receiptOf(id)]
    expect(one.receipt_id).not.toBe(other.receipt_id)
    expect(one.preferences).toEqual(preferences)
  })

  it('never shows a state that the record did not have, even during changes', async () => {
    const { id } = await owner.create({ accepted: true })
    const changes = Array.from({ length: 20 }, (_, index) => owner.update(id, { preferences: { index } }))
    const receipts = await Promise.all(Array.from({ length: 20 }, () => owner.receipt(id)))
    await Promise.all(changes)
    const issued = receipts.filter(({ status }) => status !== 503) // a busy service sheds load
    expect(issued).not.toEqual([])
    for (const { status, body } of issued) {
      expect(status).toBe(200)
      expect(body.events).toHaveLength(body.record_version)
      expect(body.preferences).toEqual(body.events.at(-1).preferences)
    }
  })
})

/** A record that was imported with two answers, of two files, and changed since. */
async function newImport(id: string): Promise<{ readonly id: string; readonly created_at: string }> {
  const later = { given_at: '2022-03-04T05:06:07.000Z', accepted: false, preferences: {}, file_sha256: 'f2'.repeat(32) }
  const origin = { system: 'acme \u202e", imported on 2015-01-01T00:00:00.000Z', id, evidence: 'page 3' }
  const [result] = await importer.sendAll([importer.row(id, { origin, changes: [later] })])
  if (!result) throw new Error('the import has no result')
  await importer.update(result.consent.id, { accepted: true })
  return result.consent
}

describe('GET /api/v1/consents/{id}/receipt › 200 › an imported record', () => {
  it('states its origin as reported by the importer, and when each answer was given and recorded', async () => {
    const { id, created_at } = await newImport('told')
    const receipt = await receiptOf(id, importer)
    const files = [fileDigest, 'f2'.repeat(32)]
    expect(receipt.origin).toEqual({
      system: 'acme \u202e", imported on 2015-01-01T00:00:00.000Z',
      id: 'told',
      evidence: 'page 3',
      imported_at: created_at,
      files,
      statement: `as told by "acme \u202e\\", imported on 2015-01-01T00:00:00.000Z", imported on ${created_at}, file SHA-256 ${files.join(', ')}`,
    })
    const told = receipt.events.map((event: Record<string, unknown>) => [event['event_state'], event['given_at']])
    expect(told).toEqual([
      ['dpv:ConsentGiven', '2021-03-04T05:06:07.891Z'],
      ['dpv:ConsentWithdrawn', '2022-03-04T05:06:07.000Z'],
      ['dpv:ConsentWithdrawn', null],
    ])
    expect(receipt.events.map(({ event_time }: { event_time: string }) => event_time === created_at)).toEqual([
      true,
      true,
      false,
    ])
  })

  it.each([
    ['consents', 'origin_system', 'other'],
    ['consents', 'origin_system', null],
    ['consents', 'origin_id', 'other'],
    ['consents', 'origin_evidence', null],
    ['consent_history', 'given_at', '2021-03-04T05:06:07.890Z'],
    ['consent_history', 'given_at', null],
    ['consent_history', 'file_sha256', Buffer.of(1)],
    ['consent_history', 'gpc', true],
    ['consent_history', 'circumstances', '{"method": "paper"}'],
    ['consent_history', 'action', 'created'],
  ])('signs nothing if in %s the column %s is %j', async (table, column, value) => {
    const { id } = await newImport(randomUUID())
    const { sql } = service
    const row = table === 'consents' ? sql`id = ${id}` : sql`consent_id = ${id} and version = 1`
    await sql`update ${sql(table)} set ${sql({ [column]: value })} where ${row}`
    expect(await importer.receipt(id)).toMatchObject({ status: 500, body: { error: 'internal_error' } })
  })
})

describe('GET /api/v1/consents/{id}/receipt › 200 › circumstances', () => {
  it('states the circumstances of each answer that came with them', async () => {
    const circumstances = { method: 'paper', form: 'F-12', given_by: 'guardian', relation: 'mother', note: '„here“' }
    const { id } = await owner.create({ accepted: true, circumstances })
    await owner.update(id, { accepted: false })
    const { events } = await receiptOf(id)
    expect(events.map((event: object) => Object.hasOwn(event, 'circumstances'))).toEqual([true, false])
    expect(events[0].circumstances).toEqual(circumstances)
    await service.sql`
      update consent_history set circumstances = circumstances || '{"note": "there"}'
      where consent_id = ${id} and version = 1`
    expect(await owner.receipt(id)).toMatchObject({ status: 500, body: { error: 'internal_error' } })
  })
})

describe('GET /api/v1/consents/{id}/receipt › 200 › a browser', () => {
  it('names the answer that a signal accompanied', async () => {
    const answer = (headers: Record<string, string>) =>
      service.call('POST', '/api/v1/public/consent', {
        body: { accepted: true },
        headers: { 'x-site-token': owner.siteToken, ...headers },
      })
    for (const [value, expected] of [
      ['1', true],
      ['0', false],
      ['', false],
    ] as const) {
      const { body } = await answer({ 'sec-gpc': value })
      const { events, origin } = await receiptOf(body.id)
      expect([events[0].gpc, events[0].event_state, origin]).toEqual([expected, 'dpv:ConsentGiven', null])
      await owner.update(body.id, { accepted: false })
      expect((await receiptOf(body.id)).events.map(({ gpc }: { gpc: boolean }) => gpc)).toEqual([expected, false])
    }
  })
})

describe('GET /api/v1/consents/{id}/receipt › 200 › inclusion', () => {
  it('proves the last entry under the newest checkpoint, but not an entry without a checkpoint', async () => {
    const { id } = await owner.create()
    await owner.update(id, { accepted: true })
    const signer = await openSigner(service.sql, null)
    await coverAll({ sql: service.sql, signer })
    const { chain_head, inclusion } = await receiptOf(id)
    const { checkpoint, isSignedBy } = readCheckpoint(inclusion.checkpoint)
    expect(isSignedBy(signer.publicKey)).toBe(true)
    expect(checkpoint.account_id).toBe(owner.accountId)
    const path = inclusion.path.map((node: string) => Buffer.from(node, 'hex'))
    const claim = { leafHash: leafHash(Buffer.from(chain_head, 'hex')), index: inclusion.leaf_index, path }
    expect(rootOfInclusion({ ...claim, size: checkpoint.tree_size })?.toString('hex')).toBe(checkpoint.root_hash)
    await owner.update(id, { accepted: false })
    expect((await receiptOf(id)).inclusion).toBeNull()
    await coverAll({ sql: service.sql, signer })
    expect((await receiptOf(id)).inclusion).not.toBeNull()
    await service.sql`update log_entries set leaf_index = null where consent_id = ${id} and version = 1`
    await service.sql`update log_entries set leaf_index = ${inclusion.leaf_index - 1} where consent_id = ${id} and version = 3`
    expect((await owner.receipt(id)).body.error).toBe('internal_error')
  })
})

describe('GET /api/v1/consents/{id}/receipt › 500', () => {
  const changes: [what: string, change: (id: string) => Promise<unknown>][] = [
    [
      'whose refusals were made consents, and whose middle is gone',
      async id => {
        await service.sql`update consent_history set accepted = true where consent_id = ${id}`
        await service.sql`delete from consent_history where consent_id = ${id} and version = 2`
      },
    ],
    ['whose end was cut off', id => service.sql`delete from consent_history where consent_id = ${id} and version = 3`],
    ['of another subject', id => service.sql`update consents set subject_id = 'eve' where id = ${id}`],
    ['whose head is another one', id => service.sql`update consents set chain_head = sha256('x') where id = ${id}`],
    [
      'whose deletion was undone by SQL',
      async id => {
        await owner.remove(id)
        await service.sql`update consents set deleted_at = null where id = ${id}`
      },
    ],
    ['whose acceptance was turned', id => service.sql`update consents set accepted = true where id = ${id}`],
    ['that the log has lost', id => service.sql`delete from log_entries where consent_id = ${id} and version = 3`],
    [
      'that the log has as another one',
      id => service.sql`update log_entries set hash = sha256('x') where consent_id = ${id} and version = 1`,
    ],
    [
      'whose checkpoint is gone',
      async id => {
        await coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })
        await service.sql`
          delete from checkpoints where account_id = ${owner.accountId}
            and tree_size > (select leaf_index from log_entries where consent_id = ${id} and version = 3)`
      },
    ],
    [
      'whose number JavaScript cannot tell from another one',
      id =>
        service.sql`update consent_history set preferences = '{"a":1e400}' where consent_id = ${id} and version = 3`,
    ],
  ]
  it.each(changes)('signs no receipt for a record %s', async (_what, change) => {
    const { id } = await owner.create({ subject_id: 'maria', accepted: false })
    await owner.update(id, { preferences: { a: 1 } })
    await owner.update(id, { preferences: { a: 2 } })
    await change(id)
    expect(await owner.receipt(id)).toMatchObject({ status: 500, body: { error: 'internal_error' } })
  })

  it('names the record and its problem in the response and in the log', async () => {
    const lines: string[] = []
    const node = await service.addNode({ logger: pino({}, { write: line => void lines.push(line) }) })
    const { id } = await owner.create({ subject_id: 'maria', accepted: false })
    await service.sql`update consent_history set accepted = true where consent_id = ${id}`
    const { body } = await node.call('GET', `/api/v1/consents/${id}/receipt`, { key: owner.key })
    expect(body.message).toMatch(`The record ${id} does not verify: version 1: its content`)
    expect(lines.map(line => JSON.parse(line))).toMatchObject([{ level: 50, msg: body.message }])
  })
})

describe('GET /api/v1/consents/{id}/receipt › 409', () => {
  it('rejects a record with more than 500 events', async () => {
    const { id } = await owner.create()
    for (let event = 2; event <= 500; event += 1) await owner.update(id, { accepted: event % 2 === 0 })
    expect((await owner.receipt(id)).status).toBe(200)
    await owner.update(id, { accepted: false, preferences: { last: true } })
    const { status, body } = await owner.receipt(id)
    expect([status, body.error]).toEqual([409, 'conflict'])
  })
})

describe('the published signing keys', () => {
  it('include the key of every node, the current one first, in both formats', async () => {
    const [present, ...others] = await publicKeys()
    expect(others).toEqual([])
    const own = newSigningKey()
    const node = await service.addNode({ signer: await openSigner(service.sql, own) })
    const { body, headers } = await node.call('GET', '/.well-known/consent-keys.json')
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(body.keys.map(({ kid }: { kid: string }) => kid)).toEqual([keyIdOf(own), present.kid])
    expect((await publicKeys())[0]).toEqual(present)
    for (const { kid, pem, x, statement, revocation, ...rest } of body.keys) {
      expect([JSON.parse(statement).kid, revocation]).toEqual([kid, null])
      expect(rest).toEqual({ kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA' })
      expect(keyIdOf(readPublicKey(pem))).toBe(kid)
      expect(readPublicKey(pem).export({ format: 'jwk' })['x']).toBe(x)
    }
  })
})
