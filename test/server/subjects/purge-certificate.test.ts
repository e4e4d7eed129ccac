import { expect, it, vi } from 'vitest'
import { signerOf } from '../../../server/evidence/signer.ts'
import { PurgeCertificate } from '../../../src/contract/documents/purge-certificate.ts'
import { newSigningKey } from '../../../src/evidence/keys.ts'
import { readSigned } from '../../../src/evidence/signed.ts'
import { schemaProblems } from '../../support/document-schema.ts'
import { useService } from '../../support/service.ts'
import { newOwner } from '../consents/records.ts'
import { purgeNow } from '../purge/purge.ts'

const key = newSigningKey()
const signer = signerOf(key)
const service = useService({ signer })
const path = '/api/v1/subjects/purged'
const subject_id = 'maria@example.com'

it('POST /api/v1/subjects/purged › 200 › certifies only the purged records of the account, and returns the state of the others', async () => {
  const [own, stranger] = [await newOwner(service), await newOwner(service)]
  const [purged, deleted, live] = [
    await own.create({ subject_id }),
    await own.create({ subject_id }),
    await own.create(),
  ]
  const foreign = await stranger.create({ subject_id })
  await own.remove(purged.id)
  await stranger.remove(foreign.id)
  await purgeNow(service.sql)
  await own.remove(deleted.id)
  const ids = [live.id, purged.id, foreign.id, deleted.id, own.siteId]
  const ask = (caller: { key: string }, body: object) => service.call('POST', path, { key: caller.key, body })

  const answer = await ask(own, { ids })
  const history = (await own.history(purged.id)).body.data
  const [deletion, purge] = history.slice(-2)
  expect(answer.status).toBe(200)
  const instants = { deleted_at: deletion.created_at, purged_at: purge.created_at }
  expect(answer.body.records).toEqual([
    { id: purged.id, site_id: own.siteId, state: 'purged', ...instants },
    { id: deleted.id, site_id: own.siteId, state: 'deleted', deleted_at: expect.any(String), purged_at: null },
    { id: live.id, site_id: own.siteId, state: 'live', deleted_at: null, purged_at: null },
  ])
  const { document, isSignedBy } = readSigned(Buffer.from(answer.body.certificate))
  expect([isSignedBy(key), schemaProblems(answer.body.certificate)]).toEqual([true, []])
  expect(PurgeCertificate.parse(document)).toMatchObject({
    account_id: own.accountId,
    requested_by: { kind: 'api_key', id: own.keyId },
    request_id: answer.headers['x-request-id'],
    records: [{ id: purged.id, site_id: own.siteId, ...instants, chain_head: purge.hash }],
  })
  expect(answer.body.certificate).not.toContain('maria')

  expect((await ask(own, { ids: [live.id, deleted.id, foreign.id] })).body).toMatchObject({ certificate: null })
  expect((await ask(stranger, { ids: [purged.id] })).body).toEqual({ records: [], certificate: null })
})

it.each([
  ['its subject was put back', "update consents set subject_id = 'maria' where id ="],
  ['its acceptance was inverted', 'update consents set accepted = not accepted where id ='],
  [
    'preferences were put back into its history',
    `update consent_history set preferences = '{"a":1}' where consent_id =`,
  ],
])('POST /api/v1/subjects/purged › 200 › does not certify a purged record if %s', async (_, statement) => {
  const own = await newOwner(service)
  const { id } = await own.create({ subject_id })
  await own.remove(id)
  await purgeNow(service.sql)
  await service.sql.unsafe(`${statement} '${id}'`)
  const { body } = await service.call('POST', path, { key: own.key, body: { ids: [id] } })
  expect(body).toMatchObject({ records: [{ id, state: 'unverified' }], certificate: null })
})

it('POST /api/v1/subjects/purge › signs nothing in a dry run', async () => {
  const own = await newOwner(service)
  const { id } = await own.create({ subject_id })
  await own.remove(id)
  const purge = async (body: object) =>
    (await service.call('POST', '/api/v1/subjects/purge', { key: own.key, body: { ids: [id], ...body } })).body
  const sign = vi.spyOn(signer, 'sign')
  expect((await purge({})).certificate).toContain(id)
  expect(sign).toHaveBeenCalledTimes(1)
  expect(await purge({ dry_run: true })).toMatchObject({ records: [{ state: 'purged' }], certificate: null })
  expect(sign).toHaveBeenCalledTimes(1)
})
