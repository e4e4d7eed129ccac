import type { Event, NewWebhook, WebhookAttempt, WebhookDetails } from '../../src/contract/index.ts'
import { uuid } from './support.ts'

export const webhooksPath = '*/api/v1/webhooks'
export const webhookPath = `${webhooksPath}/:id`

export const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export function attemptOf(fields: Partial<WebhookAttempt> = {}): WebhookAttempt {
  return { at: '2026-01-31T09:30:07.000Z', position: 41, status: 200, ms: 34, problem: null, ...fields }
}

const webhook = {
  id: uuid(0x3eb),
  url: 'https://crm.example.com/consents',
  types: null,
  site_ids: null,
  signature: 'v1',
  public_key: null,
  state: 'active',
  failing_since: null,
  position: 41,
  undelivered: 0,
  next_attempt_at: null,
  previous_secret_until: null,
  created_at: '2026-01-31T09:30:00.000Z',
}

export function webhookOf(fields: Partial<WebhookDetails> = {}): WebhookDetails {
  return { ...webhook, attempts: [attemptOf()], ...fields }
}

export function newWebhookOf(fields: Partial<NewWebhook> = {}): NewWebhook {
  return { ...webhook, secret: webhookSecret, ...fields }
}

export const failing = webhookOf({
  id: uuid(0x3ec),
  state: 'failing',
  failing_since: '2026-01-31T08:15:00.000Z',
  undelivered: 3,
  next_attempt_at: '2026-01-31T10:30:00.000Z',
  attempts: [
    attemptOf({ position: 42, status: 500, problem: 'answered 500' }),
    attemptOf({ position: 42, status: null, problem: 'no answer (ECONNREFUSED)' }),
  ],
})

export function eventOf(position: number, fields: Partial<Event> = {}): Event {
  return {
    position,
    hash: 'ab'.repeat(32),
    type: 'withdrawn',
    at: '2026-01-31T09:30:00.000Z',
    record_id: uuid(1),
    version: 2,
    site_id: uuid(0xabc),
    accepted: false,
    purposes: { marketing: [true, false] },
    actor_kind: 'api_key',
    target: null,
    ...fields,
  }
}
