import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import type { Consent, HoldNotice, SubjectErasure } from '../../../src/contract/index.ts'
import { countBySite } from '../../../src/erasure/records.ts'
import { keyIdOf, newSigningKey, publicBytes } from '../../../src/evidence/keys.ts'
import { signDocument } from '../../../src/evidence/signed.ts'
import { byId, type Cli, consent, consentsPath, entry, fails, uuid } from '../support.ts'

export const maria = 'maria@example.com'

/** An instance with the routes of the specification and no others. It answers a deletion with 204. */
export interface FakeInstance {
  readonly records: Map<string, Consent>
  /** Called before a record is deleted: a response instead of that, if it has one. */
  beforeDelete: (id: string) => Response | undefined
  /** Requests left until the quota is used up. */
  quota: number
  readonly deletions: string[]
}

/** The query parameters of the specification; any other is refused. */
const filters = new Set(['site_id', 'subject_id', 'consent_id', 'accepted', 'from', 'to', 'cursor', 'limit'])

const exceeded = () => fails(429, 'quota_exceeded', 'no more this month')

export function fakeInstance(cli: Cli, count: number, subject = maria): FakeInstance {
  const records = Array.from({ length: count }, (_, index) =>
    consent({ id: uuid(index + 1), site_id: uuid(900 + (index % 2)), subject_id: subject }),
  )
  const holder: FakeInstance = {
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
      return isKnown ? answer(String(params['id']), query) : fails(400, 'invalid_request', 'an unknown parameter')
    }) as () => HttpResponse<string>
  const list = (query: URLSearchParams) => {
    const matching = [...holder.records.values()].filter(each => each.subject_id === query.get('subject_id'))
    const [start, limit] = [Number(query.get('cursor') ?? 0), Number(query.get('limit') ?? 50)]
    const next = start + limit < matching.length ? String(start + limit) : null
    return HttpResponse.json({ data: matching.slice(start, start + limit), next_cursor: next })
  }
  const found = (id: string) => holder.records.get(id)
  const isKnown = new Set(records.map(({ id }) => id)) // a history stays
  cli.instance.use(
    http.get('*/api/v1/openapi.json', () => fails(404, 'not_found')),
    http.get(
      consentsPath,
      guarded((_, query) => list(query)),
    ),
    http.get(
      `${byId}/history`,
      guarded(id =>
        found(id) || isKnown.has(id)
          ? HttpResponse.json({ data: [entry({ consent_id: id })] })
          : fails(404, 'not_found'),
      ),
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

/** The service's own erasure of subjects, as the fake instance does it. */
export interface FakeErasure {
  /** The bodies of all calls. */
  readonly calls: SubjectErasure[]
  readonly deleted: Map<string, Consent>
  /** Called before a call that is no dry run is carried out; a response instead of that, if it has one. */
  before: (body: SubjectErasure) => Response | undefined
  /** Called after it was carried out; a response in place of the right one, if it has one. */
  after: (body: SubjectErasure) => Response | undefined
  /** Records that a call deletes at most. */
  limit: number
  /** By how much the clock of the service is ahead, in milliseconds. */
  clockOffsetMs: number
  /** Changes what a certificate says. */
  certified: object
  /** Records that it says do not verify. */
  unverified: string[]
  held: HoldNotice | null
}

/** Lets the fake instance erase subjects by id, whatever its quota, with certificates that its published key verifies. */
export function erasesSubjects(cli: Cli, holder: FakeInstance): FakeErasure {
  const key = newSigningKey()
  const keys = [{ kty: 'OKP', crv: 'Ed25519', x: publicBytes(key).toString('base64url') }]
  const erasure: FakeErasure = {
    calls: [],
    deleted: new Map(),
    before: () => undefined,
    after: () => undefined,
    limit: Number.POSITIVE_INFINITY,
    clockOffsetMs: 0,
    certified: {},
    unverified: [],
    held: null,
  }
  const certify = (erased: readonly Consent[], ticket: string) => {
    const records = erased.map(({ id }) => ({ id, deleted_at: erasure.deleted.get(id)?.deleted_at }))
    const names = { account_id: uuid(800), subject_hmac, request_id: `e-${erasure.calls.length}`, records }
    const document = {
      type: 'erasure_certificate',
      version: 1,
      ticket,
      erased: erased.length,
      unverified: [],
      ...names,
    }
    return signDocument({ ...document, ...erasure.certified, key_id: keyIdOf(key) }, key)
  }
  const named = ({ id, site_id, deleted_at }: Consent) => ({ id, site_id, deleted_at })
  cli.instance.use(
    http.get('*/api/v1/openapi.json', () => HttpResponse.json(describesCaller)),
    http.get('*/api/v1/caller', () => HttpResponse.json({ account_id: uuid(800), kind: 'api_key', id: uuid(801) })),
    http.get('*/.well-known/consent-keys.json', () => HttpResponse.json({ keys })),
    http.post('*/api/v1/subjects/erase', async ({ request }) => {
      const body = (await request.json()) as SubjectErasure
      const { subject_id, ids, after, dry_run = false, ticket = '' } = body
      erasure.calls.push(body)
      const refusal = dry_run ? undefined : erasure.before(body)
      if (refusal) return refusal
      const live = () => [...holder.records.values()].filter(each => each.subject_id === subject_id)
      const isSelected = ({ id }: Consent) => (ids?.includes(id) ?? true) && (after === undefined || id > after)
      const selected = live().filter(isSelected).sort(byIdOrder)
      const earlier = [...erasure.deleted.values()].filter(({ id }) => ids?.includes(id))
      const erased = selected.slice(0, dry_run ? 1000 : erasure.limit)
      if (!dry_run)
        for (const record of erased) {
          holder.records.delete(record.id)
          const deleted_at = new Date(Date.now() + erasure.clockOffsetMs).toISOString()
          erasure.deleted.set(record.id, { ...record, deleted_at })
        }
      const other = dry_run ? undefined : erasure.after(body)
      if (other) return other
      return HttpResponse.json(
        {
          erased: dry_run ? selected.length : erased.length,
          remaining: live().length,
          deleted: erasure.deleted.size,
          complete: live().filter(isSelected).length === 0,
          dry_run,
          sites: [...countBySite(erased)].map(([site_id, records]) => ({ site_id, records })),
          records: erased.map(record => named(erasure.deleted.get(record.id) ?? record)),
          already_deleted: earlier.map(named),
          unverified: erasure.unverified,
          held: erasure.held,
          certificate: dry_run ? null : certify(erased, ticket),
          subject_hmac,
        },
        { headers: { 'x-request-id': `e-${erasure.calls.length}` } },
      )
    }),
  )
  return erasure
}

const subject_hmac = 'a'.repeat(64)

const byIdOrder = (a: Consent, b: Consent) => (a.id < b.id ? -1 : 1)

const describesErasure = {
  paths: {
    '/api/v1/subjects/erase': {
      post: {
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/SubjectErasure' } } },
        },
      },
    },
  },
  components: { schemas: { SubjectErasure: { properties: { ids: {} } } } },
}

export const describesCaller = {
  ...describesErasure,
  paths: { ...describesErasure.paths, '/api/v1/caller': { get: {} } },
}

/** Lets the instance describe that it returns deleted records, and return these. */
export function returnsDeleted(cli: Cli, deleted: Readonly<Record<string, Consent>>): void {
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

/** Fresh folders for keys, journals and receipts, and the commands that use them. */
export function freshFolders(cli: Cli) {
  const [config, state] = [cli.freshFolder(), cli.freshFolder()]
  const env = { CONSENTCTL_CONFIG_DIR: config, CONSENTCTL_STATE_DIR: state }
  const names = (...path: string[]) => {
    const folder = join(state, ...path)
    return existsSync(folder) ? readdirSync(folder).sort() : []
  }
  const run = (...args: string[]) => cli.run(['subject', ...args], { env })
  return {
    env,
    config,
    state,
    run,
    /** The exit code of `subject verify`, and its failed checks. */
    verify: async (...args: string[]) => {
      const { code, stdout } = await run('verify', ...args, '-o', 'json')
      const rows = JSON.parse(stdout) as { check: string; result: string; detail: string }[]
      const failed = rows.filter(({ result }) => result === 'fail')
      return { code, failed: failed.map(({ check, detail }) => `${check}: ${detail}`) }
    },
    receipts: () => names('receipts', 'default'),
    receipt: (number: number) => join(state, 'receipts', 'default', `${String(number).padStart(6, '0')}.json`),
    journals: () => names('erasures'),
  }
}

/** Reads the newest receipt. */
export async function lastReceipt(folders: ReturnType<typeof freshFolders>) {
  const { stdout } = await folders.run('receipts', 'last')
  return JSON.parse(stdout)
}
