import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashOf } from '../../server/auth/credential.ts'
import { newId } from '../../server/ids.ts'
import type { Endpoint } from '../../src/contract/index.ts'
import { keyIdOf, signingKeyOf } from '../../src/evidence/keys.ts'
import { readSigned } from '../../src/evidence/signed.ts'
import { type ServiceResponse, useService } from '../support/service.ts'
import {
  accountRows,
  bearer,
  credentialFor,
  endpoints,
  type Holdings,
  labelOf,
  newHoldings,
  ownValue,
  type Place,
  readerSession,
  requestFor,
  shapeOf,
  subjectOf,
} from './endpoints.ts'
import { visible } from './visible.ts'

const noLimit = { max: 1_000_000, seconds: 60 }
const service = useService({ bannerLimits: { address: noLimit, site: noLimit } })

type Route = (typeof endpoints)[number]

let owner: Holdings
let stranger: Holdings
/** All rows of the owner, which no request of another account may change. */
let held: string[]

beforeAll(async () => {
  owner = await newHoldings(service)
  stranger = await newHoldings(service)
  held = await accountRows(service.sql, owner)
  for (const name of ['accounts', 'users', 'logins', 'sites', 'site_tokens', 'api_keys', 'usage', 'consents'])
    expect(held.some(row => row.startsWith(`${name} `))).toBe(true)
})

let reading: Promise<Holdings> | undefined

/** What a route's caller has: reads share one account, because they change nothing in it but the log of reads. */
function holdingsFor({ endpoint, resource }: Route): Promise<Holdings> {
  if (endpoint.method !== 'GET' || resource === 'audit') return newHoldings(service)
  reading ??= newHoldings(service)
  return reading
}

/** A way to say who sends a request: what an account that is not the owner sends of its own. */
interface Sender {
  readonly name: string
  headers(own: Holdings): Promise<Record<string, string>> | Record<string, string>
  /** The routes that let it in, by their access. */
  readonly mayPass: readonly Endpoint['access'][]
}

const senders: readonly Sender[] = [
  { name: 'a key', headers: ({ key }) => bearer(key), mayPass: ['account'] },
  {
    name: 'a cookie',
    headers: async own => ({ ...(await service.signIn(own)) }),
    mayPass: ['account', 'session'],
  },
  {
    name: 'a reader’s cookie',
    headers: async own => ({ ...(await readerSession(service, own)) }),
    mayPass: ['account', 'session'],
  },
  {
    name: 'a site token',
    headers: ({ siteToken }) => ({ 'x-site-token': siteToken }),
    mayPass: ['site_token'],
  },
  { name: 'nothing', headers: () => ({}), mayPass: [] },
  // Everything else in its requests belongs to another account, too.
  { name: 'another tenant’s key', headers: () => bearer(stranger.key), mayPass: ['account'] },
]

/** Fields by which a request names something, wherever the contract has one. */
const isName = (field: string) => /(^|_)id$|^cursor$/.test(field)
const places: readonly Place[] = ['params', 'query', 'body']

const fieldsOf = (endpoint: Endpoint) =>
  places.flatMap(place =>
    Object.keys(shapeOf(endpoint[place]))
      .filter(isName)
      .map(field => ({ place, field })),
  )

const matrix = endpoints.flatMap(of =>
  fieldsOf(of.endpoint).map(named => ({ name: `${of.route} ${named.place}.${named.field}`, of, ...named })),
)

it('tenant isolation › the cases cover parameters, queries and bodies', () => {
  expect(new Set(matrix.map(({ place }) => place))).toEqual(new Set(places))
})

describe.each(matrix)('tenant isolation › $name', ({ of, place, field }) => {
  let own: Holdings
  beforeAll(async () => {
    own = await holdingsFor(of)
  })
  afterAll(async () => {
    expect(await accountRows(service.sql, owner)).toEqual(held)
  })

  it.each(senders)('reveals nothing about another account through $name', async sender => {
    const headers = await sender.headers(own)
    const ask = async (value: string) => {
      const [method, path, { body }] = requestFor(of, own, { place, field, value })
      return comparable(await service.call(method, path, { body, headers }), value)
    }
    const unknown = await Promise.all(unknownValues(place, field, of, own).map(ask))
    const foreign = await Promise.all(foreignValues(field).map(ask))
    for (const answer of [...unknown, ...foreign]) expect(answer).toEqual(unknown[0])
    expect(unknown[0]?.status).toBe(expectedStatus(of, place, field, sender))
  })

  it('accepts the caller’s own values', async () => {
    const own = await holdingsFor(of)
    const [method, path, { body }] = requestFor(of, own, { place, field, value: ownValue(of, field, own) })
    const headers = await credentialFor(service, of.endpoint, own)
    const answer = await service.call(method, path, { body, headers })
    expect([answer.status, answer.text]).toEqual([of.endpoint.status, answer.text])
    if (place === 'query' && field !== 'record_id') expect(foundIn(answer)).toBeGreaterThan(0)
  })
})

describe.each(endpoints)('tenant isolation › $route', of => {
  it('returns only the caller’s data', async () => {
    const own = await holdingsFor(of)
    const [method, path, { body }] = requestFor(of, own)
    const answer = await service.call(method, path, {
      body,
      headers: await credentialFor(service, of.endpoint, own),
    })
    const { cursor: _cursor, requestCursor: _requestCursor, auditCursor: _auditCursor, ...theirs } = owner
    for (const value of [...Object.values(theirs), subjectOf(owner), labelOf(owner)]) {
      expect(JSON.stringify(answer)).not.toContain(value)
    }
  })
})

describe('tenant isolation › list', () => {
  it.each(['', '?include_deleted=true', '?limit=100', '?accepted=false'])(
    'returns only the caller’s records for the query "%s"',
    async query => {
      const { body } = await service.call('GET', `/api/v1/consents${query}`, { key: stranger.key })
      const sites = new Set(body.data.map((record: { site_id: string }) => record.site_id))
      expect([...sites]).toEqual([stranger.siteId])
    },
  )
})

/** The number of records of an answer; of statistics 1 for some, which are hidden because they are few. */
function foundIn({ body }: ServiceResponse): number {
  if ('reason' in body) return body.record === null ? 0 : 1
  return body.data?.length ?? body.count ?? (body.total.hidden === 'small' ? 1 : 0)
}

/** The only status there is for what is not the sender's. */
function expectedStatus({ route, endpoint }: Route, place: Place, field: string, { name, mayPass }: Sender) {
  if (!mayPass.includes(endpoint.access)) {
    return endpoint.access === 'session' && mayPass.includes('account') ? 403 : 401
  }
  if (name.startsWith('a reader') && !endpoint.roles?.includes('reader')) return 403
  if (place === 'params') return 404
  if (place === 'query') return { cursor: 400, record_id: 404 }[field] ?? 200
  if (route === 'consents.sealedEvidence') return 404
  const isOfSite = 'site_id' in shapeOf(endpoint.body)
  return field === 'site_id' || (isOfSite && name.startsWith('another')) ? 404 : endpoint.status
}

/** An answer without what differs by nature: in one that made a record its id, its instant and what was sent. */
function comparable(answer: ServiceResponse, sent: string) {
  const { status, headers, text } = visible(answer)
  if (answer.body?.certificate) return { status, headers, text: withoutNature(answer.body) }
  if (status !== 201 && answer.body?.reason) return { status, text: withoutQuestion(answer.body) }
  if (status !== 201) return { status, headers, text }
  const { 'content-length': _length, ...others } = headers
  const { id, created_at, updated_at, consent_token, subject_hmac } = answer.body
  const masked = [id, created_at, updated_at, sent, consent_token, subject_hmac].reduce(
    (masked, value, index) => (value === undefined ? masked : masked.replaceAll(value, `<${index}>`)),
    text,
  )
  return { status, headers: others, text: masked }
}

/** The answer of a check, without its time and what was asked. */
function withoutQuestion({ at: _at, subject_id: _subject, site_id: _site, ...answer }: Record<string, unknown>) {
  return JSON.stringify(answer)
}

/** An erasure's answer, whose certificate has an id, an instant, a request and a name for the subject of its own. */
function withoutNature({ certificate, subject_hmac: name, ...answer }: { certificate: string; subject_hmac: string }) {
  const { certificate_id, issued_at, subject_hmac, request_id, ...said } = readSigned(Buffer.from(certificate)).document
  const own = [certificate_id, issued_at, request_id, subject_hmac].map(value => typeof value)
  return JSON.stringify([answer, said, own, name === subject_hmac])
}

function foreignValues(field: string): string[] {
  const { live, deleted, siteId, accountId, userId, keyId, spareKeyId, requestId } = owner
  const ids = [live, deleted, siteId, accountId, userId, keyId, spareKeyId, requestId]
  const values: Record<string, string[]> = {
    id: [...ids, live.toUpperCase()],
    record_id: [...ids, live.toUpperCase()],
    site_id: [...ids, siteId.toUpperCase()],
    cursor: [owner.cursor, owner.requestCursor, owner.auditCursor],
    subject_id: [subjectOf(owner)],
    consent_id: [labelOf(owner)],
    key_id: [keyIdOf(signingKeyOf(hashOf(owner.accountId)))],
  }
  const known = values[field]
  if (!known) throw new Error(`no value of another account is known for ${field}`)
  return known
}

/** Returns unknown values, and the caller's own of another kind. */
function unknownValues(place: Place, field: string, of: Route, own: Holdings): string[] {
  const others = [own.live, own.siteId, own.spareKeyId, own.accountId, own.userId]
  if (field === 'id') {
    const noUuids = ['no-uuid', '0', `${newId()}x`, `{${newId()}}`, 'ü', 'x'.repeat(2000)]
    return [newId(), ...noUuids, ...others.filter(id => id !== ownValue(of, field, own))]
  }
  if (field === 'record_id') return [newId(), ...others.filter(id => ![own.live, own.accountId].includes(id))]
  if (field === 'cursor') return ['nonsense', `${own.cursor}A`, own.cursor.slice(0, -2)]
  if (field === 'site_id') {
    return [newId(), '00000000-0000-0000-0000-000000000000', ...others.filter(id => id !== own.siteId)]
  }
  return place === 'body' ? [newId(), 'nobody'] : [newId(), 'nobody', own.siteId]
}
