import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll } from 'vitest'
import { close, listen } from '../support/net.ts'

/** An id, because the instance has no list of sites to find a name in. */
export const siteId = '01939d2c-7b1a-7c3e-9a51-000000000abc'

/** Another instance: it creates a record for every request, and counts them by label. */
export interface ImportInstance {
  url: string
  /** The number of records created of each label. */
  readonly made: Map<string, number>
  /** Milliseconds before it answers. */
  wait: number
  /** The part of the requests, from 0 to 1, for which it creates a record and drops the connection. */
  loss: number
  /** True if it honours Idempotency-Key. */
  honours: boolean
  /** True if it refuses every record. */
  refuses: boolean
}

export function useImportInstance(): ImportInstance {
  const records: ImportInstance = {
    url: '',
    made: new Map(),
    wait: 0,
    loss: 0,
    honours: true,
    refuses: false,
  }
  const keys = new Set<string>()
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      const parameters = records.honours ? [{ in: 'header', name: 'Idempotency-Key' }] : []
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ openapi: '3.1.1', paths: { '/api/v1/consents': { post: { parameters } } } }))
      return
    }
    const { consent_id } = (await json(request)) as { consent_id: string }
    await delay(records.wait)
    if (records.refuses) {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"error":"invalid_request","message":"no"}')
      return
    }
    const key = String(request.headers['idempotency-key'])
    if (!records.honours || !keys.has(key)) {
      records.made.set(consent_id, (records.made.get(consent_id) ?? 0) + 1)
    }
    keys.add(key)
    if (Math.random() < records.loss) return void request.socket.destroy()
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: `id-${consent_id}`, accepted: false, created_at: 'now' }))
  })
  beforeAll(async () => {
    records.url = await listen(server)
  })
  afterAll(() => close(server))
  return records
}

/** The lines of a file, with these labels. */
export function linesOf(labels: readonly string[]): string {
  return labels.map(label => `${JSON.stringify({ consent_id: label })}\n`).join('')
}

/** Returns the number of times that each label occurs. */
export function countsOf(labels: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1)
  return counts
}
