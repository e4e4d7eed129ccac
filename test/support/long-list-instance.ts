import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll } from 'vitest'
import { close, listen } from './net.ts'

/** A fake instance with a long list. Each record is made when it is requested; a page has at most 100. */
export interface LongListInstance {
  url: string
  /** Number of records. */
  total: number
  /** Time before each response; Infinity for an instance that never responds. */
  delayMs: number
  /** Number of requests that have come. */
  requests: number
  /** Ids that were deleted, in order. */
  readonly deleted: string[]
}

/** Returns the JSON of a record by its number, as large as a real one. */
export function recordJson(number: number): string {
  const id = `01939d2c-7b1a-7c3e-9a51-${String(number).padStart(12, '0')}`
  return `{"id":"${id}","site_id":"01939d2c-0000-7000-8000-000000000001","consent_id":"banner-2026-05","subject_id":"user-${number}@example.com","country":"DE","region":null,"user_agent":"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0","accepted":true,"preferences":{"analytics":false,"marketing":true,"functional":true},"policy_version":3,"created_at":"2026-03-03T10:00:00.000Z","updated_at":"2026-03-03T10:00:00.000Z","deleted_at":null}`
}

export function useLongListInstance(): LongListInstance {
  const instance: LongListInstance = { url: '', total: 0, delayMs: 0, deleted: [], requests: 0 }
  const server = createServer(async (request, response) => {
    const { method, url = '' } = request
    request.resume()
    instance.requests += 1
    if (!Number.isFinite(instance.delayMs)) return
    if (instance.delayMs > 0) await delay(instance.delayMs)
    response.setHeader('content-type', 'application/json')
    const { pathname, searchParams } = new URL(url, 'http://x')
    const id = pathname.split('/')[4]
    if (method === 'DELETE') instance.deleted.push(id ?? '')
    if (id) return void response.end(recordJson(Number(id.slice(-12))))
    const start = Number(searchParams.get('cursor') ?? 0)
    const end = Math.min(instance.total, start + Number(searchParams.get('limit') ?? 50))
    const records = Array.from({ length: end - start }, (_, index) => recordJson(start + index))
    const next = end < instance.total ? `"${end}"` : 'null'
    response.end(`{"data":[${records.join(',')}],"limit":100,"next_cursor":${next}}`)
  })
  beforeAll(async () => {
    instance.url = await listen(server)
  })
  afterAll(() => close(server))
  return instance
}
