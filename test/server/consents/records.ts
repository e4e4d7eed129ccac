import { expect } from 'vitest'
import type { Consent } from '../../../src/contract/index.ts'
import type { CallOptions, ServiceResponse, TestService } from '../../support/service.ts'

export const root = '/api/v1/consents'

/** RFC 3339 in UTC with exactly milliseconds. */
export const instant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

export const uuidV7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

/** A UUID that nothing has. */
export const unknownId = '01890000-0000-7000-8000-000000000000'

/** Exactly the fields of a record (service specification section 2.1), sorted. */
export const recordKeys = [
  'accepted',
  'consent_id',
  'country',
  'created_at',
  'deleted_at',
  'id',
  'policy_version',
  'preferences',
  'region',
  'site_id',
  'subject_id',
  'updated_at',
  'user_agent',
]

export type Query = string | Readonly<Record<string, string>>

export type Owner = Awaited<ReturnType<typeof newOwner>>

/** A new account and the routes of records as its key reaches them; `create` expects a success, the rest answer as they do. */
export async function newOwner(service: TestService) {
  const account = await service.newAccount()
  const send = (method: string, path: string, options: Omit<CallOptions, 'key'> = {}) =>
    service.call(method, root + path, { key: account.key, ...options })
  const post = (body: unknown, headers: Record<string, string> = {}) => send('POST', '', { body, headers })
  return {
    ...account,
    post,
    create: async (fields: object = {}): Promise<Consent> => {
      const answer = await post({ site_id: account.siteId, ...fields })
      expect(answer.status, answer.text).toBe(201)
      return answer.body
    },
    list: (query: Query = {}) => send('GET', search(query)),
    get: (id: string, query: Query = {}) => send('GET', `/${id}${search(query)}`),
    update: (id: string, body: unknown, headers: Record<string, string> = {}) =>
      send('PUT', `/${id}`, { body, headers }),
    remove: (id: string, options: Omit<CallOptions, 'key'> = {}) => send('DELETE', `/${id}`, options),
    restore: (id: string, body: object = {}) => send('POST', `/${id}/restore`, { body }),
    history: (id: string) => send('GET', `/${id}/history`),
    receipt: (id: string) => send('GET', `/${id}/receipt`),
    send,
  }
}

function search(query: Query): string {
  const text = typeof query === 'string' ? query : new URLSearchParams(query).toString()
  return text === '' ? '' : `?${text}`
}

/** Expects a record to hold each of the sent fields unchanged. */
export function expectKept(record: object | undefined, sent: object): void {
  expect(record).toEqual({ ...record, ...sent })
}

/** Expects a refusal of what was sent, whose message has `named` in it. */
export function expectRefused(answer: ServiceResponse, named = ''): void {
  expect(answer.body, answer.text).toEqual({
    error: 'invalid_request',
    message: expect.stringContaining(named),
  })
  expect(answer.status).toBe(400)
}

/** Runs `work` on every item, at most `width` at a time, and gives the results in the items' order. */
export async function inTurns<T, R>(items: readonly T[], width: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await work(items[index] as T)
    }
  }
  await Promise.all(Array.from({ length: width }, worker))
  return results
}
