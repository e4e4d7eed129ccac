import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { useService } from '../../support/service.ts'
import { expectKept, inTurns, newOwner } from './records.ts'

const service = useService()

describe('POST /api/v1/consents › 201', () => {
  it('stores every field of a thousand realistic records, except the address', async () => {
    const lines = readFileSync(new URL('../../fixtures/consents.ndjson', import.meta.url), 'utf8')
      .trim()
      .split('\n')
    const other = await newOwner(service)
    const drafts = lines.map(line => JSON.parse(line) as Record<string, unknown>)
    const ids = await inTurns(drafts, 16, async draft => (await other.create(draft)).id)
    const listed = new Map<string, object>()
    for (let query = 'limit=100'; ; ) {
      const { body } = await other.list(query)
      for (const record of body.data) listed.set(record.id, record)
      if (body.next_cursor === null) break
      query = `limit=100&cursor=${body.next_cursor}`
    }
    expect(listed.size).toBe(1000)
    for (const [index, { ip_address: _, ...sent }] of drafts.entries()) {
      expectKept(listed.get(ids[index] ?? ''), { accepted: false, ...sent, site_id: other.siteId })
    }
  })
})
