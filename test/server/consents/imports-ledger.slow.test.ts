import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { verified } from '../verify/verified.ts'
import { newImporter, type Outcome } from './imports.ts'

const service = useService()
const kinds = Number(process.env['CONSENTCTL_TEST_IMPORTS'] ?? 700)
const rows = Math.min(100, kinds)
const batches = Math.ceil((2 * kinds) / rows)

/** The embedded database has one backend, which cannot be terminated. */
const canCut = process.env['TEST_ENGINE'] === 'postgres'

it('import › when two nodes import the same origins and connections are cut, creates one record per origin', {
  timeout: 600_000,
}, async () => {
  const importer = await newImporter(service)
  const nodes = [service, await service.addNode()]
  const acknowledged = new Map<string, Set<string>>()
  let isOver = false
  const rowOf = (number: number) => {
    const changes = Array.from({ length: number % 3 }, (_, year) => ({
      ...{ given_at: `202${year + 2}-01-01T00:00:00Z`, accepted: year === 0, preferences: { number, year } },
    }))
    return importer.row(`${number}`, { changes, consent_id: `${number}` })
  }
  /** Both nodes import every origin, one from the first on, the other from the last. */
  const send = async (batch: number) => {
    const start = Math.floor(batch / 2) * rows
    const numbers = Array.from({ length: rows }, (_, row) => (start + row) % kinds)
    if (batch % 2) numbers.reverse()
    for (;;) {
      const answer = await importer.sendRows(numbers.map(rowOf), nodes[batch % 2])
      if (answer.status >= 500) continue
      expect(answer.status, answer.text).toBe(200)
      const results = answer.body.results as Outcome[]
      expect(results.filter(({ status }) => status !== 201 && status < 500)).toEqual([])
      for (const { consent } of results) {
        if (!consent) continue
        const ids = acknowledged.get(consent.consent_id ?? '') ?? new Set()
        acknowledged.set(consent.consent_id ?? '', ids.add(consent.id))
      }
      if (results.every(({ status }) => status === 201)) return
    }
  }
  const cutting = (async () => {
    for (let cuts = 0; canCut && !isOver && cuts < 20; cuts += 1) {
      await service.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state = 'active'`.catch(() => {})
      await delay(15)
    }
  })()
  const waiting = Array.from({ length: batches }, (_, batch) => batch).values()
  const sender = async () => {
    for (const batch of waiting) await send(batch)
  }
  await Promise.all(Array.from({ length: 16 }, sender))
  isOver = true
  await cutting
  const stored = await service.sql<{ consent_id: string; id: string; entries: number }[]>`
    select consent_id, id, version as entries from consents where account_id = ${importer.accountId}`
  expect(stored).toHaveLength(kinds)
  const [origins] = await service.sql`
    select count(*)::int as count from origins where account_id = ${importer.accountId}`
  expect(origins).toEqual({ count: kinds })
  for (const { consent_id, id, entries } of stored) {
    expect([...(acknowledged.get(consent_id) ?? [])]).toEqual([id])
    expect(entries).toBe(1 + (Number(consent_id) % 3))
  }
  expect((await verified(service.sql, { account: importer.accountId })).findings).toEqual([])
})
