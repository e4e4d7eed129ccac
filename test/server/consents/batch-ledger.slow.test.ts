import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { verified } from '../verify/verified.ts'

const service = useService()
const [batches, rows, kinds] = [20, 100, 700]

interface Acknowledged {
  readonly key: string
  readonly id: string
}

/** The embedded database has one backend, which cannot be terminated. */
const canCut = process.env['TEST_ENGINE'] === 'postgres'

it('POST /api/v1/consents/batch › stores every acknowledged row of 20 batches with common keys exactly once when connections are cut', async () => {
  const { key, siteId, accountId } = await service.newAccount()
  const keyOf = (batch: number, row: number) => `key ${(batch * 61 + row * 7) % kinds}`
  const acknowledged: Acknowledged[] = []
  let isOver = false
  const send = async (batch: number) => {
    const keys = Array.from({ length: rows }, (_, row) => keyOf(batch, row))
    const records = keys.map(name => ({ site_id: siteId, consent_id: name, idempotency_key: name }))
    for (;;) {
      const { status, body } = await service.call('POST', '/api/v1/consents/batch', {
        key,
        body: { records },
      })
      if (status >= 500) continue
      expect(status).toBe(200)
      const left = (body.results as { status: number; consent?: { id: string } }[]).flatMap(({ consent }, row) => {
        if (consent) acknowledged.push({ key: keys[row] ?? '', id: consent.id })
        return consent ? [] : [row]
      })
      if (left.length === 0) return
    }
  }
  const cutting = (async () => {
    for (let cuts = 0; canCut && !isOver && cuts < 8; cuts += 1) {
      await service.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state = 'active'`.catch(() => {})
      await delay(15)
    }
  })()
  await Promise.all(Array.from({ length: batches }, (_, batch) => send(batch)))
  isOver = true
  await cutting
  const stored = await service.sql<Acknowledged[]>`
    select consent_id as key, id from consents where account_id = ${accountId}`
  const idOf = new Map(stored.map(record => [record.key, record.id]))
  expect(stored).toHaveLength(idOf.size)
  expect(acknowledged.filter(({ key, id }) => idOf.get(key) !== id)).toEqual([])
  expect(acknowledged).toHaveLength(batches * rows)
  expect(new Set(acknowledged.map(one => one.key)).size).toBe(stored.length)
  expect((await verified(service.sql, { account: accountId })).findings).toEqual([])
})
