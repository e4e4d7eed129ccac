import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { newOwner, type Owner, recordKeys } from './records.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

describe('GET /api/v1/consents/{id} › 200', () => {
  it('returns the record as it was created, with exactly the fields of a record', async () => {
    const created = await owner.create({ subject_id: 'one', accepted: true, preferences: { a: [1, null] } })
    const read = await owner.get(created.id)
    expect(read.status).toBe(200)
    expect(read.body).toStrictEqual(created)
    expect(Object.keys(read.body).sort()).toEqual(recordKeys)
  })

  it('returns a deleted record only with include_deleted', async () => {
    const { id } = await owner.create()
    const deleted = await owner.remove(id)
    const read = await owner.get(id, { include_deleted: 'true' })
    expect(read.status).toBe(200)
    expect(read.body).toEqual(deleted.body)
    expect((await owner.get(id, { include_deleted: 'false' })).status).toBe(404)
  })

  it('returns a live record with include_deleted too', async () => {
    const created = await owner.create()
    expect((await owner.get(created.id, { include_deleted: 'true' })).body).toEqual(created)
  })
})

describe('GET /api/v1/consents/{id} › 404', () => {
  it('responds identically for a deleted record of another account, with include_deleted', async () => {
    const stranger = await newOwner(service)
    const { id } = await stranger.create()
    await stranger.remove(id)
    expect((await owner.get(id, { include_deleted: 'true' })).status).toBe(404)
  })
})
