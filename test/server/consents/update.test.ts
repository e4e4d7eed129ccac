import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/contract/index.ts'
import { untilAdmitted, useService } from '../../support/service.ts'
import * as bodies from './bodies.ts'
import { expectRefused, instant, newOwner, type Owner, recordKeys } from './records.ts'

const service = useService()
let owner: Owner
beforeAll(async () => {
  owner = await newOwner(service)
})

const first = { accepted: false, preferences: { a: 1, b: { c: [1, 2] } } }

async function entriesOf(id: string): Promise<AuditEntry[]> {
  return (await owner.history(id)).body.data
}

describe('PUT /api/v1/consents/{id} › 200', () => {
  it.each([
    ['the acceptance alone', { accepted: true }],
    ['the preferences alone, whole', { preferences: { b: { d: null } } }],
    ['both', { accepted: true, preferences: {} }],
  ])('changes only %s', async (_what, change) => {
    const created = await owner.create({ ...first, subject_id: 'one', user_agent: 'x', policy_version: 3 })
    await delay(2)
    const updated = await owner.update(created.id, change)
    expect(updated.status).toBe(200)
    expect(updated.body).toStrictEqual({ ...created, ...change, updated_at: updated.body.updated_at })
    expect(Object.keys(updated.body).sort()).toEqual(recordKeys)
    expect(updated.body.updated_at).toMatch(instant)
    expect(updated.body.updated_at > created.created_at).toBe(true)
    expect((await owner.get(created.id)).body).toEqual(updated.body)
  })

  it('writes one audit entry per change, with its time and the state after it', async () => {
    const { id } = await owner.create(first)
    const { body } = await owner.update(id, { accepted: true })
    const entries = await entriesOf(id)
    expect(entries.map(entry => entry.action)).toEqual(['created', 'updated'])
    const { preferences } = first
    expect(entries[1]).toMatchObject({ accepted: true, preferences, created_at: body.updated_at })
  })

  it.each([
    ['an empty body', {}],
    ['the same acceptance', { accepted: false }],
    ['the same preferences, their keys in another order', { preferences: { b: { c: [1, 2] }, a: 1.0 } }],
    ['both as they are', first],
  ])('writes no event for %s: the record, its time and its history are unchanged', async (_what, change) => {
    const created = await owner.create(first)
    await delay(2)
    const answer = await owner.update(created.id, change)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(created)
    expect(await entriesOf(created.id)).toHaveLength(1)
  })

  it('treats a different number, list order, case or Unicode form as a change', async () => {
    const { id } = await owner.create()
    const states = [
      { a: [1, 2] },
      { a: [2, 1] },
      { a: 'é' },
      { a: 'e\u0301' },
      { a: 'É' },
      { a: '1' },
      { a: 1 },
      { a: null },
    ]
    for (const preferences of states)
      expect((await owner.update(id, { preferences })).body).toMatchObject({ preferences })
    expect(await entriesOf(id)).toHaveLength(1 + states.length)
  })

  it('loses none of 32 concurrent updates of a record: versions have no gaps and times are in order', async () => {
    const { id } = await owner.create({ preferences: { n: -1 } })
    const numbers = Array.from({ length: 32 }, (_, n) => n)
    let sent = 0
    const update = (n: number) =>
      untilAdmitted(() => {
        sent += 1 // one whose answer did not come in time may have been made
        return owner.update(id, { preferences: { n } })
      })
    const answers = await Promise.all(numbers.map(update))
    expect(answers.map(answer => answer.status)).toEqual(numbers.map(() => 200))
    expect(answers.map(answer => answer.body.preferences.n)).toEqual(numbers)
    const entries = await entriesOf(id)
    const seen = entries.map(entry => entry.preferences?.['n'] as number)
    expect([...new Set(seen)].sort((a, b) => a - b)).toEqual([-1, ...numbers])
    expect(seen.length).toBeLessThanOrEqual(1 + sent)
    const times = entries.map(entry => entry.created_at)
    expect(times).toEqual(times.toSorted())
    const rows = await service.sql`select version from consent_history where consent_id = ${id} order by version`
    expect(rows.map(row => row['version'])).toEqual(entries.map((_, index) => index + 1))
    const [record] = await service.sql`select version from consents where id = ${id}`
    expect(record?.['version']).toBe(entries.length)
    expect((await owner.get(id)).body.preferences).toEqual(entries.at(-1)?.preferences)
  })

  it('merges concurrent updates of different fields', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id } = await owner.create()
      const changes = [{ accepted: true }, { preferences: { round } }]
      await Promise.all(changes.map(change => owner.update(id, change)))
      expect((await owner.get(id)).body).toMatchObject({ accepted: true, preferences: { round } })
    }
  })
})

describe('PUT /api/v1/consents/{id} › 400', () => {
  const refuse = async (change: unknown, named: string) => {
    const created = await owner.create(first)
    expectRefused(await owner.update(created.id, change), named)
    expect((await owner.get(created.id)).body).toEqual(created)
  }

  it.each(bodies.largePreferences)('rejects preferences of %s', (_what, preferences) =>
    refuse({ preferences }, 'preferences'),
  )

  it('is returned before the 404 for an unknown record', async () => {
    expectRefused(await owner.update('x', { acepted: true }), 'acepted')
  })
})

describe('PUT /api/v1/consents/{id} › 413', () => {
  it('rejects a body of more than 128 KiB', async () => {
    const { id } = await owner.create()
    expect((await owner.update(id, '{}'.padEnd(131_072))).status).toBe(200)
    const answer = await owner.update(id, '{}'.padEnd(131_073))
    expect(answer.status).toBe(413)
    expect(answer.body.error).toBe('payload_too_large')
  })
})
