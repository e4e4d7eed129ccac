import { HttpResponse, http, type RequestHandler } from 'msw'
import type { Consent } from '../../../../src/contract/index.ts'
import { answers, byId, consent, consentsPath, entry, fails, site, uuid } from '../../support.ts'

/** A record as an instance holds it: what it is now, and its history. */
export interface Held {
  readonly record: Consent
  readonly entries: readonly ReturnType<typeof entry>[]
}

/** An hour of the day on which everything happens. */
export const at = (hour: number) => `2026-03-03T${String(hour).padStart(2, '0')}:00:00.000Z`

/** Something that was done to a record: at which hour, what, and whether it was accepted after it. */
export type Event = readonly [hour: number, action: string, accepted: boolean]

/** A record to which this was done; each event has preferences of its own. */
export function held(id: string, ...events: readonly Event[]): Held {
  const entries = events.map(([hour, action, accepted], index) =>
    entry({
      id: `${id}-${index}`,
      consent_id: id,
      action,
      accepted,
      preferences: { step: index },
      policy_version: index + 1,
      created_at: at(hour),
    }),
  )
  const last = entries.at(-1)
  const deleted = events.find(([, action]) => action === 'deleted')
  const record = consent({
    id,
    site_id: site,
    accepted: last?.accepted ?? false,
    preferences: { now: true },
    policy_version: 99,
    created_at: at(events[0]?.[0] ?? 0),
    updated_at: last?.created_at ?? at(0),
    deleted_at: deleted ? at(deleted[0]) : null,
  })
  return { record, entries }
}

/** An instance that shows deleted records where that is asked for, and tells so. */
export function full(all: readonly Held[]): RequestHandler[] {
  const parameters = [{ in: 'query', name: 'include_deleted' }]
  const operation = { get: { parameters } }
  const paths = { '/api/v1/consents': operation, '/api/v1/consents/{id}': operation }
  return [
    ...routes(all, search => search.get('include_deleted') === 'true'),
    answers('get', '*/api/v1/openapi.json', { openapi: '3.1.1', paths }),
  ]
}

/** An instance that has the routes of the specification alone: no description, no actions, no deleted records. */
export function bare(all: readonly Held[]): RequestHandler[] {
  const without = all.map(({ record, entries }) => ({
    record,
    entries: entries.map(({ action: _, ...rest }: Record<string, unknown>) => rest as Held['entries'][number]),
  }))
  return [
    ...routes(without, search => {
      if (search.has('include_deleted')) throw new Error('no such parameter')
      return false
    }),
    http.get('*/api/v1/openapi.json', () => fails(404, 'not_found')),
  ]
}

function routes(all: readonly Held[], shows: (search: URLSearchParams) => boolean): RequestHandler[] {
  const searchOf = (request: Request) => new URL(request.url).searchParams
  const visible = (search: URLSearchParams) => {
    const isShown = shows(search)
    return all.map(({ record }) => record).filter(({ deleted_at }) => isShown || deleted_at === null)
  }
  return [
    http.get(`${byId}/history`, ({ params }) => {
      const found = all.find(({ record }) => record.id === params['id'])
      return found ? HttpResponse.json({ data: found.entries }) : fails(404, 'not_found')
    }),
    http.get(byId, ({ params, request }) => {
      const record = visible(searchOf(request)).find(({ id }) => id === params['id'])
      return record ? HttpResponse.json(record) : fails(404, 'not_found')
    }),
    http.get(consentsPath, ({ request }) => {
      const search = searchOf(request)
      const records = visible(search)
      const start = Number(search.get('cursor')?.slice('after-'.length) ?? 0)
      const end = Math.min(start + Number(search.get('limit') ?? 50), records.length)
      return HttpResponse.json({
        data: records.slice(start, end),
        next_cursor: end < records.length ? `after-${end}` : null,
      })
    }),
  ]
}

/** Many records, of which each was accepted at 10, and refused at 12 where its number is even. */
export function many(count: number): Held[] {
  return Array.from({ length: count }, (_, index) =>
    held(uuid(index), [10, 'created', true], [12, 'updated', index % 2 === 1]),
  )
}
