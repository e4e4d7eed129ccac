import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { instant, newOwner, type Owner, recordKeys } from './records.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

async function actionsOf(id: string): Promise<string[]> {
  return (await owner.history(id)).body.data.map(({ action }: { action: string }) => action)
}

describe('DELETE /api/v1/consents/{id} › 200', () => {
  it('returns the whole record with only deleted_at changed', async () => {
    const created = await owner.create({ subject_id: 'one', accepted: true, preferences: { a: 1 } })
    await delay(2)
    const removed = await owner.remove(created.id)
    expect(removed.status).toBe(200)
    const { deleted_at } = removed.body
    expect(deleted_at).toMatch(instant)
    expect(deleted_at > created.created_at).toBe(true)
    expect(removed.body).toStrictEqual({ ...created, deleted_at, updated_at: deleted_at })
    expect(Object.keys(removed.body).sort()).toEqual(recordKeys)
  })

  it.each([
    ['none, called JSON', undefined, 'application/json'],
    ['JSON', '{"accepted":true}', 'application/json'],
    ['malformed JSON', '{"a":1,"a":', 'application/json'],
    ['text', 'rubbish \0', 'text/plain'],
    ['bytes', Buffer.from([0xff, 0, 0xfe]), 'application/octet-stream'],
    ['a form', 'accepted=true', 'application/x-www-form-urlencoded'],
    ['of a type that is none', 'x', 'rubbish'],
    ['of no type', 'x', ''],
  ])('ignores the body: %s', async (_what, body, type) => {
    const { id } = await owner.create()
    const answer = await owner.remove(id, { body, headers: { 'content-type': type } })
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body).toMatchObject({ id, accepted: false, deleted_at: expect.stringMatching(instant) })
  })

  it('is returned to exactly one of 16 concurrent requests, and written once', async () => {
    const { id } = await owner.create()
    const answers = await Promise.all(Array.from({ length: 16 }, () => owner.remove(id)))
    const statuses = answers.map(answer => answer.status).sort()
    expect(statuses).toEqual([200, ...Array.from({ length: 15 }, () => 404)])
    expect(await actionsOf(id)).toEqual(['created', 'deleted'])
  })

  it('ends the history even when other requests update the record concurrently', async () => {
    const { id } = await owner.create()
    const updates = Array.from({ length: 12 }, (_, n) => owner.update(id, { preferences: { n } }))
    const [removed, ...updated] = await Promise.all([owner.remove(id), ...updates])
    expect(removed.status).toBe(200)
    const changed = updated.filter(answer => answer.status === 200)
    expect(updated.filter(answer => answer.status === 404)).toHaveLength(updated.length - changed.length)
    expect(await actionsOf(id)).toEqual(['created', ...changed.map(() => 'updated'), 'deleted'])
  })
})

describe('DELETE /api/v1/consents/{id} › 404', () => {
  it('is returned by get and update after a deletion', async () => {
    const { id } = await owner.create()
    await owner.remove(id)
    expect((await owner.get(id)).status).toBe(404)
    expect((await owner.update(id, { accepted: true })).status).toBe(404)
    expect((await owner.update(id, {})).status).toBe(404)
  })
})
