import { beforeAll, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/contract/index.ts'
import { useService } from '../../support/service.ts'
import { newShop, type Shop } from '../banner/shop.ts'
import { purgeNow } from '../purge/purge.ts'
import { verified } from '../verify/verified.ts'
import { type Importer, newImporter } from './imports.ts'
import { expectRefused, recordKeys } from './records.ts'

const service = useService()
let importer: Importer
let shop: Shop
beforeAll(async () => {
  importer = await newImporter(service)
  shop = await newShop(service)
})

const sent = {
  ...{ method: 'paper', channel: 'shop 3', form: 'F-12', form_sha256: 'f2'.repeat(32), given_by: 'guardian' },
  ...{ relation: 'mother', confirmed_at: '2026-01-31T10:30:00.1239+01:00', reference: 'K-77', note: '„signed“' },
}
const stored = { ...sent, confirmed_at: '2026-01-31T09:30:00.123Z' }
const { relation: _, reference: __, note: ___, ...lasting } = stored

const told = (entries: readonly AuditEntry[]) => entries.map(({ circumstances }) => circumstances)
const toldOf = async (id: string) => told((await importer.history(id)).body.data)

const batch = (records: object[]) => importer.send('POST', '/batch', { body: { records } })

async function findings(accountId: string) {
  const found = await verified(service.sql, { account: accountId })
  return found.findings.filter(({ consent_id }) => consent_id !== null)
}

describe('circumstances › 200', () => {
  it('are stored with the answer they were sent with, in the history alone, and verify', async () => {
    const record = await importer.create({ circumstances: sent })
    expect(Object.keys(record).sort()).toEqual(recordKeys)
    await importer.update(record.id, { accepted: true })
    await importer.update(record.id, { accepted: false, circumstances: { method: 'phone' } })
    await importer.remove(record.id)
    await importer.restore(record.id)
    expect(await toldOf(record.id)).toStrictEqual([stored, undefined, { method: 'phone' }, undefined, undefined])
    expect(await findings(importer.accountId)).toEqual([])
  })

  it('of the same answer are an event, which a repeated request does not write again', async () => {
    const { id } = await importer.create({ accepted: true })
    for (const change of [{ circumstances: sent }, { accepted: true, circumstances: sent }, { accepted: true }]) {
      const { status, body } = await importer.update(id, change)
      expect([status, body]).toEqual([200, (await importer.get(id)).body])
    }
    expect(await toldOf(id)).toEqual([undefined, stored])
    expect(await findings(importer.accountId)).toEqual([])
  })

  it('are stored of each row of a batch and of each answer of an import', async () => {
    const row = (circumstances?: object) => ({ site_id: importer.siteId, ...(circumstances && { circumstances }) })
    const { body } = await batch([row(sent), row(), row({ note: 'n' })])
    const made: string[] = body.results.map(({ consent }: { consent: { id: string } }) => consent.id)
    expect(await Promise.all(made.map(toldOf))).toStrictEqual([[stored], [undefined], [{ note: 'n' }]])
    const change = { accepted: false, preferences: {} }
    const id = await importer.importOne({
      circumstances: { method: 'import' },
      changes: [
        { ...change, given_at: '2022-01-01T00:00:00Z' },
        { ...change, given_at: '2022-01-02T00:00:00Z', circumstances: sent },
      ],
    })
    expect(await toldOf(id)).toStrictEqual([{ method: 'import' }, undefined, stored])
    expect(await findings(importer.accountId)).toEqual([])
  })

  it('are stored of a visitor’s answer, and repeated with it', async () => {
    const circumstances = { method: 'web', form: 'https://shop.example.com/form' }
    const first = await shop.visit({ accepted: true, circumstances })
    const body = { consent_token: first.body.consent_token, accepted: false, circumstances: sent }
    expect([first.status, (await shop.visit(body)).status, (await shop.visit(body)).status]).toEqual([201, 201, 201])
    expect((await shop.visit({ ...body, circumstances })).status).toBe(409)
    expect(told((await shop.history(first.body.id)).body.data)).toStrictEqual([circumstances, stored])
    expect(await findings(shop.accountId)).toEqual([])
  })

  it('lose only their personal part in a purge, and the history still verifies', async () => {
    const { id } = await importer.create({ circumstances: sent })
    await importer.update(id, { accepted: true, circumstances: { note: 'called back' } })
    await importer.remove(id)
    await purgeNow(service.sql)
    expect(await toldOf(id)).toStrictEqual([lasting, undefined, undefined, undefined])
    expect(await findings(importer.accountId)).toEqual([])
    await service.sql`
      update consent_history set circumstances = circumstances || '{"note": "again"}' where consent_id = ${id} and version = 1`
    expect(await findings(importer.accountId)).toMatchObject([{ consent_id: id, problem: 'changed' }])
    await service.sql`update consent_history set circumstances = ${service.sql.json(lasting)} where consent_id = ${id} and version = 1`
  })
})

describe('circumstances › 409', () => {
  it('when others are sent with a used Idempotency-Key or a known origin', async () => {
    const key = { 'idempotency-key': `circumstances of ${importer.accountId}` }
    const body = { site_id: importer.siteId, circumstances: sent }
    expect((await importer.post(body, key)).status).toBe(201)
    expect((await importer.post(body, key)).headers['idempotent-replayed']).toBe('true')
    expect((await importer.post({ ...body, circumstances: lasting }, key)).status).toBe(409)
    const rows = [sent, sent, lasting].map(circumstances => importer.row('circumstances', { circumstances }))
    const results = []
    for (const row of rows) results.push(...(await importer.sendAll([row])))
    expect(results.map(({ status }) => status)).toEqual([201, 201, 409])
  })
})

describe('circumstances › 400', () => {
  const longest = { channel: 100, form: 300, relation: 100, reference: 200, note: 500 }
  const giver = { given_by: 'agent', form: 'F' }

  it.each(Object.entries(longest))(
    'when %s has more than %i characters, and not when it has as many',
    async (name, most) => {
      const text = '🙂'.repeat(most)
      const circumstances = { ...giver, [name]: text }
      expect((await shop.visit({ circumstances })).status).toBe(201)
      const answer = await importer.post({
        site_id: importer.siteId,
        circumstances: { ...circumstances, [name]: `${text}x` },
      })
      expectRefused(answer, `circumstances.${name}`)
    },
  )

  it.each([
    ['without a field', {}, 'circumstances'],
    ['with an unknown field', { colour: 'red' }, 'colour'],
    ['with an unknown method', { method: 'fax' }, 'method'],
    ['with an unknown giver', { given_by: 'neighbour' }, 'given_by'],
    ['with an empty text', { channel: '' }, 'channel'],
    ['with a NUL', { note: 'a\0b' }, 'note'],
    ['with a relation of nobody', { relation: 'mother' }, 'relation'],
    ['with a relation to oneself', { relation: 'me', given_by: 'self' }, 'relation'],
    ['with a digest of no form', { form_sha256: 'f2'.repeat(32) }, 'form_sha256'],
    ['with a digest in capitals', { form: 'F', form_sha256: 'F2'.repeat(32) }, 'form_sha256'],
    ['with a confirmation in the future', { confirmed_at: '2126-01-31T09:30:00Z' }, 'confirmed_at'],
    ['with a confirmation without an offset', { confirmed_at: '2026-01-31T09:30:00' }, 'confirmed_at'],
  ])('%s, to a create, an update, a batch, an import and a banner', async (_what, circumstances, field) => {
    const { id } = await importer.create()
    const { body } = await batch([{ site_id: importer.siteId, circumstances }])
    const answers = [
      await importer.post({ site_id: importer.siteId, circumstances }),
      await importer.update(id, { accepted: true, circumstances }),
      await shop.visit({ circumstances }),
    ]
    for (const answer of answers) expectRefused(answer, field)
    const [imported] = await importer.sendAll([importer.row('refused', { circumstances })])
    for (const row of [body.results[0], imported]) {
      expect(row).toMatchObject({ status: 400, error: { message: expect.stringContaining(field) } })
    }
  })
})
