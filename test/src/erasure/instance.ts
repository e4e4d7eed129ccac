import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import type { Consent } from '../../../src/contract/index.ts'
import { byId, type Cli, consent, consentsPath, entry, fails, uuid } from '../support.ts'

export const maria = 'maria@example.com'

/** An instance that has the routes of the specification and nothing else, and answers a deletion with 204. */
export interface Holder {
  readonly records: Map<string, Consent>
  /** Asked before a record is deleted: another answer, if it has one. */
  beforeDelete: (id: string) => Response | undefined
  /** What is left of requests until the quota is used up. */
  quota: number
  readonly deletions: string[]
}

/** Which query parameters the specification knows; any other is refused. */
const filters = new Set(['site_id', 'subject_id', 'consent_id', 'accepted', 'from', 'to', 'cursor', 'limit'])

const exceeded = () => fails(429, 'quota_exceeded', 'no more this month')

export function holds(cli: Cli, count: number, subject = maria): Holder {
  const records = Array.from({ length: count }, (_, index) =>
    consent({ id: uuid(index + 1), site_id: uuid(900 + (index % 2)), subject_id: subject }),
  )
  const holder: Holder = {
    records: new Map(records.map(record => [record.id, record])),
    beforeDelete: () => undefined,
    quota: Number.POSITIVE_INFINITY,
    deletions: [],
  }
  const guarded = (answer: (id: string, query: URLSearchParams) => Response) =>
    (({ request, params }: { request: Request; params: Record<string, unknown> }) => {
      holder.quota -= 1
      if (holder.quota < 0) return exceeded()
      const query = new URL(request.url).searchParams
      const isKnown = [...query.keys()].every(name => filters.has(name))
      return isKnown
        ? answer(String(params['id']), query)
        : fails(400, 'invalid_request', 'an unknown parameter')
    }) as () => HttpResponse<string>
  const list = (query: URLSearchParams) => {
    const matching = [...holder.records.values()].filter(each => each.subject_id === query.get('subject_id'))
    const [start, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit') ?? 50)]
    const next = start + limit < matching.length ? String(start + limit) : null
    return HttpResponse.json({ data: matching.slice(start, start + limit), next_cursor: next })
  }
  const found = (id: string) => holder.records.get(id)
  cli.instance.use(
    http.get('*/api/v1/openapi.json', () => fails(404, 'not_found')),
    http.get(
      consentsPath,
      guarded((_, query) => list(query)),
    ),
    http.get(
      `${byId}/history`,
      guarded(id => HttpResponse.json({ data: [entry({ consent_id: id })] })),
    ),
    http.get(
      byId,
      guarded(id => (found(id) ? HttpResponse.json(found(id)) : fails(404, 'not_found'))),
    ),
    http.delete(
      byId,
      guarded(id => {
        const other = holder.beforeDelete(id)
        if (other) return other
        if (!holder.records.delete(id)) return fails(404, 'not_found')
        holder.deletions.push(id)
        return new HttpResponse(null, { status: 204, headers: { 'x-request-id': `r-${id}` } })
      }),
    ),
  )
  return holder
}

/** Has the instance say that it shows deleted records, and show these. */
export function describes(cli: Cli, deleted: Readonly<Record<string, Consent>>): void {
  const shows = { parameters: [{ in: 'query', name: 'include_deleted' }] }
  const one = { get: shows }
  cli.instance.use(
    http.get('*/api/v1/openapi.json', () => HttpResponse.json({ paths: { '/api/v1/consents/{id}': one } })),
    http.get(byId, ({ params }) => {
      const record = deleted[String(params['id'])]
      return record ? HttpResponse.json(record) : fails(404, 'not_found')
    }),
  )
}

/** A place of its own for keys, journals and receipts. */
export function place(cli: Cli) {
  const [config, state] = [cli.freshFolder(), cli.freshFolder()]
  const env = { CONSENTCTL_CONFIG_DIR: config, CONSENTCTL_STATE_DIR: state }
  const names = (...path: string[]) => {
    const folder = join(state, ...path)
    return existsSync(folder) ? readdirSync(folder).sort() : []
  }
  return {
    env,
    config,
    state,
    run: (...args: string[]) => cli.run(['subject', ...args], { env }),
    receipts: () => names('receipts', 'default'),
    receipt: (number: number) =>
      join(state, 'receipts', 'default', `${String(number).padStart(6, '0')}.json`),
    journals: () => names('erasures'),
  }
}

/** The receipt that was printed. */
export async function lastReceipt(at: ReturnType<typeof place>) {
  const { stdout } = await at.run('receipts', 'last')
  return JSON.parse(stdout)
}
