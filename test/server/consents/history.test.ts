import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/contract/index.ts'
import { verifyAudit } from '../../../src/evidence/history.ts'
import { useService } from '../../support/service.ts'
import { purgeNow } from '../purge/purge.ts'
import { anyPreferences, anyText } from './bodies.ts'
import { instant, newOwner, type Owner, root } from './records.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

describe('GET /api/v1/consents/{id}/history?details=true › 200', () => {
  const details = async (own: Owner, id: string) => {
    const { status, body } = await own.send('GET', `/${id}/history?details=true`)
    expect(status).toBe(200)
    const names = body.data.map((entry: { actor_name: string }) => entry.actor_name)
    return { ip_network: body.ip_network, entry: body.notice_entry, names }
  }

  it('returns the address as stored, until the purge, and the name of each actor', async () => {
    const own = await newOwner(service)
    const [{ name: keyName } = { name: '' }] = await service.sql`select name from api_keys where id = ${own.keyId}`
    const { id } = await own.create({ ip_address: '203.0.113.77' })
    const headers = await service.signIn(own)
    await service.call('PUT', `${root}/${id}`, { headers, body: { accepted: true } })
    expect(await details(own, id)).toEqual({ ip_network: '203.0.113.0/24', entry: null, names: [keyName, own.email] })
    const plain = (await own.history(id)).body
    expect([Object.keys(plain), Object.keys(plain.data[0])]).toEqual([
      ['data'],
      expect.not.arrayContaining(['actor_name']),
    ])
    await own.remove(id)
    await purgeNow(service.sql)
    expect(await details(own, id)).toEqual({
      ip_network: null,
      entry: null,
      names: [keyName, own.email, keyName, null],
    })
  })

  it('when a banner created the record, names the site', async () => {
    const own = await newOwner(service)
    const [{ name: siteName } = { name: '' }] = await service.sql`select name from sites where id = ${own.siteId}`
    const { body } = await service.call('POST', '/api/v1/public/consent', {
      headers: { 'x-site-token': own.siteToken },
      body: { subject_id: 'visitor' },
    })
    expect(await details(own, body.id)).toMatchObject({ names: [siteName] })
  })
})

describe('GET /api/v1/consents/{id}/history › 200', () => {
  it('returns {data} with exactly the fields of an entry for a record that never changed', async () => {
    const { id, created_at } = await owner.create({ accepted: true, policy_version: 4 })
    const answer = await owner.history(id)
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({
      data: [
        {
          id: expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/),
          consent_id: id,
          action: 'created',
          accepted: true,
          preferences: {},
          policy_version: 4,
          changed_by: 'api_key',
          actor_id: owner.keyId,
          created_at,
          version: 1,
          salt: expect.stringMatching(/^[\da-f]{32}$/),
          record_hash: expect.stringMatching(/^[\da-f]{64}$/),
          payload_hash: expect.stringMatching(/^[\da-f]{64}$/),
          hash: expect.stringMatching(/^[\da-f]{64}$/),
        },
      ],
    })
  })

  it('returns every event, oldest first, with the state after it', async () => {
    const { id } = await owner.create({ preferences: { a: 1 } })
    await owner.update(id, { accepted: true })
    await owner.update(id, { preferences: { a: 2 } })
    await owner.update(id, { accepted: false, preferences: {} })
    const { body: removed } = await owner.remove(id)
    const { data } = (await owner.history(id)).body as { data: AuditEntry[] }
    expect(data.map(entry => [entry.action, entry.accepted, entry.preferences])).toEqual([
      ['created', false, { a: 1 }],
      ['updated', true, { a: 1 }],
      ['updated', true, { a: 2 }],
      ['updated', false, {}],
      ['deleted', false, {}],
    ])
    const times = data.map(entry => entry.created_at)
    expect(times).toEqual(times.toSorted())
    for (const time of times) expect(time).toMatch(instant)
    expect(times.at(-1)).toBe(removed.deleted_at)
    expect(new Set(data.map(entry => entry.id)).size).toBe(5)
    for (const entry of data) {
      expect(entry).toMatchObject({
        consent_id: id,
        changed_by: 'api_key',
        actor_id: owner.keyId,
        policy_version: 1,
      })
    }
  })

  it('returns every entry of a long history', async () => {
    const { id } = await owner.create()
    for (let n = 0; n < 120; n += 1) await owner.update(id, { preferences: { n } })
    const { data } = (await owner.history(id)).body
    expect(data).toHaveLength(121)
    expect(data.at(-1).preferences).toEqual({ n: 119 })
  })
})

describe('GET /api/v1/consents/{id}/history › hash chain', () => {
  it('matches its definition from the first entry to the deletion', async () => {
    const { id } = await owner.create({
      consent_id: 'é',
      subject_id: '🙂',
      user_agent: 'x',
      ip_address: '203.0.113.9',
    })
    await owner.update(id, {
      accepted: true,
      preferences: { z: 1, a: [1e-7, 0.1, 'é', null, { b: '\u2028"\\' }] },
    })
    await owner.update(id, { preferences: {} })
    await owner.remove(id)
    await expectChain(id, 4)
  })

  it('is a single chain under concurrent updates', async () => {
    const { id } = await owner.create()
    await Promise.all(Array.from({ length: 16 }, (_, n) => owner.update(id, { preferences: { n } })))
    await expectChain(id, 17)
  })

  it('can be recomputed from the rows of any record', async () => {
    const [text, preferences] = [anyText(20), anyPreferences()]
    const network = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('0:0:1::', '1:0:0::', '0:1::', '1:0:1::'))
    const fields = fc.record({ subject_id: text, user_agent: text, ip_address: network, preferences })
    const property = fc.asyncProperty(fields, preferences, async (draft, next) => {
      const { id } = await owner.create(draft)
      await owner.update(id, { accepted: true, preferences: next })
      await expectChain(id, 2)
    })
    await fc.assert(property, { numRuns: 60 })
  })
})

describe('GET /api/v1/consents/{id}/history › verification from the response alone', () => {
  it('succeeds for live, deleted and purged records', async () => {
    const { id } = await owner.create({ subject_id: '🙂', preferences: { z: 1, a: [1e-7, 'é', null] } })
    const result = async () => verifyAudit(id, (await owner.history(id)).body.data)
    expect(await result()).toEqual({ result: 'ok', detail: null })
    await owner.update(id, { accepted: true, preferences: { b: { '\u2028': [] } } })
    expect(await result()).toEqual({ result: 'ok', detail: null })
    await owner.remove(id)
    expect(await result()).toEqual({ result: 'ok', detail: null })
    await purgeNow(service.sql)
    expect(await result()).toEqual({ result: 'ok', detail: null })
  })

  it('includes the salts and the record’s hash before a purge, and only those of the purge afterwards', async () => {
    const { id } = await owner.create()
    await owner.remove(id)
    const parts = async () =>
      ((await owner.history(id)).body.data as AuditEntry[]).map(({ version, salt, record_hash }) => [
        version,
        salt !== null,
        record_hash !== null,
      ])
    expect(await parts()).toEqual([
      [1, true, true],
      [2, true, false],
    ])
    await purgeNow(service.sql)
    expect(await parts()).toEqual([
      [1, false, false],
      [2, false, false],
      [3, true, true],
    ])
  })
})

/** Recomputes a record's chain from its rows, by the definitions in the design and nothing of the server's. */
async function expectChain(id: string, length: number): Promise<void> {
  const entries = await service.sql`select * from consent_history where consent_id = ${id} order by version`
  const [record] = await service.sql`select *, ip_network::text as ip_network from consents where id = ${id}`
  expect(entries).toHaveLength(length)
  const { site_id, consent_id, subject_id, country, region, user_agent, ip_network } = record ?? {}
  const labels = { site_id, consent_id, subject_id, country, region, user_agent, ip_network }
  const origin = { origin_system: null, origin_id: null, origin_evidence: null }
  const identity = { ...labels, ...origin, notice_locale: null, notice_entry: null }
  const recordHash = sha256([2], entries[0]?.['salt'], jcs(identity))
  expect(record?.['record_hash']).toEqual(recordHash)
  let previous = Buffer.alloc(32)
  for (const [index, entry] of entries.entries()) {
    const { salt, version, accepted, preferences, policy_version, action, changed_by, actor_id, created_at } = entry
    expect(version).toBe(index + 1)
    expect(salt).toHaveLength(16)
    const first = index === 0 ? { record_hash: recordHash.toString('hex') } : {}
    const payloadHash = sha256([0], salt, jcs({ preferences, ...first }))
    const state = Buffer.alloc(13)
    state.writeBigUInt64BE(BigInt(created_at.getTime()))
    state.writeUInt8(accepted ? 1 : 0, 8)
    state.writeUInt32BE(policy_version, 9)
    const who = [[action.length], action, [changed_by.length], changed_by, uuid(actor_id)]
    previous = sha256([1], previous, uuid(id), [0, 0, 0, version], ...who, state, sha256('{}'), payloadHash)
    expect(entry['payload_hash']).toEqual(payloadHash)
    expect(entry['hash']).toEqual(previous)
  }
  expect(record?.['chain_head']).toEqual(previous)
  expect(new Set(entries.map(entry => entry['salt'].toString('hex'))).size).toBe(length)
}

function sha256(...parts: (Buffer | number[] | string)[]) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(typeof part === 'string' ? part : Buffer.from(part))
  return hash.digest()
}

function jcs(value: object): string {
  return canonicalize(value) ?? ''
}

function uuid(text: string | null): Buffer {
  return text === null ? Buffer.alloc(16) : Buffer.from(text.replaceAll('-', ''), 'hex')
}
