import type { NewWebhook, Webhook, WebhookAttempt, WebhookDetails } from '../contract/webhooks.ts'
import type { View } from '../output/index.ts'
import { field, minute, second, stateField } from './field.ts'

const allOr = (names: readonly string[] | null) => names?.join(' ') ?? 'all'

export const webhookView: View<Webhook> = {
  id: row => row.id,
  columns: [
    field('id', { whole: true, rank: 1 }),
    field('url', { rank: 2 }),
    stateField('state', { text: describeState, brief: row => row.state, rank: 3 }),
    field('undelivered', { rank: 4 }),
    field('next_attempt_at', { title: 'next attempt', text: row => minute(row.next_attempt_at), rank: 5 }),
    field('types', { text: row => allOr(row.types), rank: 6 }),
    field('site_ids', { title: 'sites', text: row => allOr(row.site_ids), rank: 7 }),
    field('position', { rank: 8 }),
    field('signature', { rank: 9 }),
    field('created_at', { text: row => minute(row.created_at), rank: 10 }),
    field('failing_since'),
    field('previous_secret_until'),
    field('public_key'),
  ],
}

/** `failing since 2026-11-20 18:45Z`. */
export function describeState({ state, failing_since }: Webhook): string {
  return state === 'failing' ? `failing since ${minute(failing_since)}` : state
}

export const webhookDetailsView: View<WebhookDetails> = {
  id: row => row.id,
  columns: [...webhookView.columns, field('attempts')],
}

export const newWebhookView: View<NewWebhook> = {
  id: row => row.id,
  columns: [...webhookView.columns, field('secret', { whole: true, once: true, rank: 0 })],
}

export const attemptView: View<WebhookAttempt> = {
  id: row => row.at,
  columns: [
    field('at', { text: row => second(row.at), whole: true, rank: 1 }),
    field('position', { whole: true, rank: 2 }),
    field('status', { whole: true, rank: 3 }),
    field('ms', { whole: true, rank: 4 }),
    field('problem', { tone: () => 'bad', rank: 5 }),
  ],
}

export interface Forwarded extends Pick<WebhookAttempt, 'status' | 'ms' | 'problem'> {
  readonly position: number
  readonly type: string
}

/** Tables lack the problem, which is a warning. */
export const forwardedView: View<Forwarded> = {
  keepsAll: true,
  id: row => String(row.position),
  columns: [
    field('position', { whole: true, rank: 1 }),
    field('type', { whole: true, minWidth: 'account.site_updated'.length, rank: 2 }),
    field('status', { whole: true, tone: row => (row.problem === null ? 'good' : 'bad'), rank: 3 }),
    field('ms', { whole: true, minWidth: 5, rank: 4 }),
    field('problem'),
  ],
}
