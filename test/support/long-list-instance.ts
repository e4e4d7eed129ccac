import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll } from 'vitest'

/** An instance with a long list of records, each made when it is asked for; pages of a hundred at most. */
export interface LongListInstance {
  url: string
  /** How many records it has. */
  total: number
  /** Milliseconds that each answer takes; Infinity for an instance that never answers. */
  delayMs: number
  /** Ids that were deleted, in order. */
  readonly deleted: string[]
}

/** A record's JSON by its number, with what makes real ones as large as they are. */
export function recordJson(number: number): string {
  const id = `01939d2c-7b1a-7c3e-9a51-${String(number).padStart(12, '0')}`
  return `{"id":"${id}","site_id":"01939d2c-0000-7000-8000-000000000001","consent_id":"banner-2026-05","subject_id":"user-${number}@example.com","country":"DE","region":null,"user_agent":"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0","accepted":true,"preferences":{"analytics":false,"marketing":true,"functional":true},"policy_version":3,"created_at":"2026-03-03T10:00:00.000Z","updated_at":"2026-03-03T10:00:00.000Z","deleted_at":null}`
}

export function useLongListInstance(): LongListInstance {
  const endless: LongListInstance = { url: '', total: 0, delayMs: 0, deleted: [] }
  const server = createServer(async (request, response) => {
    const { method, url = '' } = request
    request.resume()
    if (!Number.isFinite(endless.delayMs)) return
    if (endless.delayMs > 0) await delay(endless.delayMs)
    response.setHeader('content-type', 'application/json')
    const { pathname, searchParams } = new URL(url, 'http://x')
    const id = pathname.split('/')[4]
    if (method === 'DELETE') endless.deleted.push(id ?? '')
    if (id) return void response.end(recordJson(Number(id.slice(-12))))
    const start = Number(searchParams.get('cursor') ?? 0)
    const end = Math.min(endless.total, start + Number(searchParams.get('limit') ?? 50))
    const records = Array.from({ length: end - start }, (_, index) => recordJson(start + index))
    const next = end < endless.total ? `"${end}"` : 'null'
    response.end(`{"data":[${records.join(',')}],"limit":100,"next_cursor":${next}}`)
  })
  beforeAll(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    endless.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  return endless
}
