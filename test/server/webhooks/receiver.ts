import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import { Dispatcher } from '../../../server/webhooks/dispatcher.ts'
import { Sender } from '../../../server/webhooks/sender.ts'
import type { AccountEntry, Event, NewWebhook, Webhook, WebhookDetails } from '../../../src/contract/index.ts'
import { close, listen } from '../../support/net.ts'
import { type ServiceResponse, type TestService, useService } from '../../support/service.ts'
import { newImporter } from '../consents/imports.ts'
import { makeKey } from '../keys/keys.ts'

export const path = '/api/v1/webhooks'

export interface Delivery {
  readonly id: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly event: Event
}

/** Answers a delivery; a number is a status without a body. */
type Answer = (
  delivery: Delivery,
  response: ServerResponse,
  request: IncomingMessage,
) => number | undefined | Promise<number | undefined>

/** An HTTP server that notes deliveries before it answers. */
export function useReceiver() {
  const receiver = { url: '', deliveries: [] as Delivery[], answer: (() => 204) as Answer }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const headers = request.headers as Record<string, string>
    const delivery = { id: headers['webhook-id'] ?? '', headers, body, event: JSON.parse(body) }
    receiver.deliveries.push(delivery)
    const status = await receiver.answer(delivery, response, request)
    if (status !== undefined) response.writeHead(status).end()
  })
  beforeAll(async () => {
    receiver.url = `${await listen(server)}/consents`
  })
  beforeEach(() => {
    receiver.deliveries = []
    receiver.answer = () => 204
  })
  afterAll(() => {
    server.closeAllConnections()
    return close(server)
  })
  return receiver
}

export const local = () => new Sender(new Set(['127.0.0.1']), { timeoutMs: 500 })

/** The service, a receiver, and nodes whose clock the test sets. */
export function useWebhooks() {
  const sender = local()
  const service = useService({ sender })
  const receiver = useReceiver()
  const clock = { now: 0 }
  beforeEach(async () => {
    clock.now = Date.now()
    await service.sql`delete from webhooks`
  })
  afterAll(() => sender.close())
  const newNode = () => new Dispatcher({ ...service, sender, logger: pino({ level: 'silent' }), now: () => clock.now })
  const deliver = async (node = newNode()) => {
    clock.now = Math.max(clock.now, Date.now() + 1)
    await node.job.run(new AbortController().signal)
    await node.ended()
  }
  /** Delivers at each time at which something is due, for `ms`. */
  const pass = async (ms: number, step = hourMs / 4) => {
    for (const until = clock.now + ms; clock.now < until; clock.now += step) await deliver()
  }
  const received = () => receiver.deliveries.map(({ event }) => [event.record_id, event.version])
  return { service, receiver, clock, newNode, deliver, pass, received }
}

/** An account with a key for its webhooks. */
export async function newHookOwner(service: TestService) {
  const own = await newImporter(service)
  const { key } = await makeKey(service, await service.signIn(own), { scopes: ['webhooks'] })
  const send = (method: string, below = '', body?: object): Promise<ServiceResponse> =>
    service.call(method, path + below, { key, ...(body && { body }) })
  const expectDone = async <T>(answer: Promise<ServiceResponse>): Promise<T> => {
    const { status, body, text: sent } = await answer
    expect(status, sent).toBeLessThan(300)
    return body as T
  }
  const given = { subject_id: 'maria@example.com', accepted: true, preferences: { marketing: true } }
  return {
    ...own,
    given,
    createMany: async (count: number) => {
      const ids: string[] = []
      for (let number = 0; number < count; number += 1) ids.push((await own.create(given)).id)
      return ids
    },
    /** Of the administrators' log, newest first. */
    hookActions: async () => {
      const { body } = await service.call('GET', '/api/v1/audit?target=webhook', { key: own.key })
      return (body.data as AccountEntry[]).map(({ action }) => action)
    },
    send,
    createHook: (url: string, draft: object = {}) => expectDone<NewWebhook>(send('POST', '', { url, ...draft })),
    show: (id: string) => expectDone<WebhookDetails>(send('GET', `/${id}`)),
    change: (id: string, change: object) => expectDone<Webhook>(send('PATCH', `/${id}`, change)),
    rewind: (id: string, to: object) => expectDone<Webhook>(send('POST', `/${id}/rewind`, to)),
    rotate: (id: string, rotation: object = {}) => expectDone<NewWebhook>(send('POST', `/${id}/secret`, rotation)),
  }
}

/** By the reference library of Standard Webhooks. @throws its error */
export function verify(secret: string | null, { body, headers }: Delivery): unknown {
  return new Verifier(secret ?? '').verify(body, headers)
}

export const hourMs = 60 * 60 * 1000
