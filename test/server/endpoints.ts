import type { Sql } from 'postgres'
import { expect, vi } from 'vitest'
import type * as z from 'zod'
import { insertUser } from '../../server/accounts/queries.ts'
import { machine } from '../../server/audit/entries.ts'
import { insertReads } from '../../server/audit/read-queries.ts'
import { hashOf, hintOf, newApiKey } from '../../server/auth/credential.ts'
import { encodeCursor } from '../../server/cursor.ts'
import { coverAccount } from '../../server/evidence/log.ts'
import { openSigner, type Signer } from '../../server/evidence/signer.ts'
import { newId } from '../../server/ids.ts'
import { insertKey } from '../../server/keys/queries.ts'
import { hashSubject } from '../../server/subjects/hmac.ts'
import { insertWebhook } from '../../server/webhooks/queries.ts'
import { api, type Endpoint, type Role } from '../../src/contract/index.ts'
import { keyIdOf, signingKeyOf } from '../../src/evidence/keys.ts'
import { newDocument } from '../support/operator-document.ts'
import {
  type CallOptions,
  cursorSecret,
  mediaBytes,
  type Signed,
  subjectSecret,
  type TestAccount,
  type TestService,
} from '../support/service.ts'

/** Where a request can name something. */
export type Place = 'params' | 'query' | 'body'

/** Every endpoint of the contract, by its name such as `consents.create`. */
export const endpoints = Object.entries(api as Record<string, Record<string, Endpoint>>).flatMap(([resource, verbs]) =>
  Object.entries(verbs).map(([verb, endpoint]) => ({ route: `${resource}.${verb}`, resource, endpoint })),
)

/** Records, keys and cursors of an account that a request can name. */
export interface Holdings extends TestAccount {
  readonly live: string
  readonly deleted: string
  /** Purged, with a sealed proof. */
  readonly sealed: string
  readonly cursor: string
  readonly requestId: string
  readonly holdId: string
  readonly hookId: string
  readonly spareHookId: string
  readonly requestCursor: string
  readonly auditCursor: string
  /** A key that it does not use. */
  readonly spareKeyId: string
}

/** A new account with two live records, a deleted one, cursors and a second key, after all delayed writes. */
export async function newHoldings(service: TestService): Promise<Holdings> {
  const account = await service.newAccount()
  const { key, siteId, accountId } = account
  await addNotices(service.sql, account)
  const labels = { subject_id: subjectOf(account), consent_id: labelOf(account) }
  const ids: string[] = []
  for (let index = 0; index < 3; index += 1) {
    const created = await service.call('POST', '/api/v1/consents', {
      key,
      body: { site_id: siteId, ...labels, accepted: index === 2 },
    })
    ids.push(created.body.id)
  }
  const [live = '', deleted = ''] = ids
  await service.call('DELETE', `/api/v1/consents/${deleted}`, { key })
  const sealed = await sealRecord(service, account, labels)
  const page = await service.call('GET', '/api/v1/consents?limit=1', { key })
  const requests: string[] = []
  for (const ticket of ['first', 'second']) {
    const draft = { ticket: `${ticket} ${accountId}`, kind: 'erasure', received_on: '2026-01-31' }
    const body = { ...draft, subject_ids: [subjectOf(account)] }
    requests.push((await service.call('POST', '/api/v1/requests', { key, body })).body.id)
  }
  const requestPage = await service.call('GET', '/api/v1/requests?limit=1', { key })
  const [spareKeyId, spare] = [newId(), newApiKey(accountId)]
  await insertKey(
    service.sql,
    accountId,
    {
      id: spareKeyId,
      name: 'a spare key',
      keyHash: hashOf(spare),
      hint: hintOf(spare),
      scopes: ['read'],
      siteIds: null,
      createdAt: new Date(),
      expiresAt: null,
    },
    machine,
  )
  await coverLog(service.sql, accountId)
  await addRead(service, account)
  const claim = { subject_id: `held of ${accountId}`, reason: 'a claim', held_until: '2999-01-31T00:00:00Z' }
  const { id: holdId } = (await service.call('POST', '/api/v1/holds', { key, body: claim })).body
  await service.call('POST', '/api/v1/subjects/documents', { key, body: documentOf(account) })
  const [hookId, spareHookId] = [await addWebhook(service.sql, account), await addWebhook(service.sql, account)]
  await service.quota.settle()
  const expectNoted = async () => {
    const [used] = await service.sql`
      select from api_keys where account_id = ${accountId} and last_used_on is not null`
    expect(used).toBeDefined()
  }
  await vi.waitFor(expectNoted, { interval: 2 })
  const [requestId = ''] = requests
  const requestCursor = requestPage.body.next_cursor
  const auditPage = await service.call('GET', '/api/v1/audit?limit=1', { key })
  const auditCursor = auditPage.body.next_cursor
  return {
    ...account,
    live,
    deleted,
    sealed,
    cursor: page.body.next_cursor,
    requestId,
    holdId,
    hookId,
    spareHookId,
    requestCursor,
    auditCursor,
    spareKeyId,
  }
}

/** What the account's operator has signed. */
function documentOf({ accountId }: Pick<TestAccount, 'accountId'>) {
  return newDocument(accountId, {}, { key: signingKeyOf(hashOf(accountId)), type: 'withdrawal' })
}

async function sealRecord({ sql, call }: TestService, { key, siteId, accountId }: TestAccount, labels: object) {
  const setSeal = (setting: object | null) =>
    sql`update sites set sealed_proof = ${setting && sql.json({ ...setting })} where account_id = ${accountId} and id = ${siteId}`
  const { id } = (await call('POST', '/api/v1/consents', { key, body: { site_id: siteId, ...labels } })).body
  await setSeal({ basis: 'a claim', period: 'P10Y', since: new Date().toISOString() })
  await call('DELETE', `/api/v1/consents/${id}`, { key })
  await call('POST', '/api/v1/subjects/purge', { key, body: { ids: [id] } })
  await setSeal(null)
  return id as string
}

/** Of an address that is never reached. */
async function addWebhook(sql: Sql, { accountId }: TestAccount): Promise<string> {
  const id = newId()
  const row = {
    ...{
      target: 'https://127.0.0.1:1/',
      types: null,
      site_ids: null,
      signature: 'v1' as const,
      secret: Buffer.alloc(32, 1),
    },
    ...{ createdAt: new Date(), after: -1 },
  }
  await insertWebhook(sql, { accountId, id }, row, machine)
  return id
}

/** Drafts of versions 1 to 3, and the scope for them and for webhooks. */
async function addNotices(sql: Sql, { accountId, siteId }: TestAccount): Promise<void> {
  await sql`update api_keys set scopes = scopes || '["notices", "webhooks"]' where account_id = ${accountId}`
  await sql`
    insert into notices (account_id, site_id, policy_version, created_at, updated_at)
    select ${accountId}, ${siteId}, version, now(), now() from generate_series(1, 3) as version`
  await sql`
    insert into notice_texts (account_id, site_id, policy_version, language, media_type, sha256, content)
    select account_id, site_id, policy_version, language, 'text/plain', sha256('We use'), 'We use'
    from notices, (values ('de'), ('en')) as used (language) where account_id = ${accountId}`
}

/** As the service writes it half a second after a read. */
async function addRead({ sql }: TestService, account: TestAccount): Promise<void> {
  const { accountId, keyId } = account
  const subjectHmac = hashSubject({ subjectSecret }, accountId, subjectOf(account))
  await insertReads(sql, accountId, [{ id: newId(), operation: 'get', subjectHmac, readBy: 'api_key', actorId: keyId }])
}

/** A route that ends a draft has one of its own. */
const ownVersions: Record<string, string> = { 'notices.publish': '2', 'notices.remove': '3' }

const signers = new WeakMap<Sql, Promise<Signer>>()

/** Makes a checkpoint of the log of an account, with a timestamp, so that its entries can be proved. */
async function coverLog(sql: Sql, accountId: string): Promise<void> {
  const signer = signers.get(sql) ?? openSigner(sql, null)
  signers.set(sql, signer)
  for await (const _ of coverAccount({ sql, signer: await signer }, accountId));
  await sql`
    insert into timestamp_tokens (account_id, tree_size, position, token, created_at)
    select account_id, tree_size, 1, sha256(document::bytea), created_at from checkpoints where account_id = ${accountId}`
}

export function subjectOf({ accountId }: TestAccount): string {
  return `subject of ${accountId}`
}

export function labelOf({ accountId }: TestAccount): string {
  return `label of ${accountId}`
}

/** The caller's own value for each field that names something, by the resource of the route where it is called `id`. */
export function ownValue(
  { resource, route }: Pick<(typeof endpoints)[number], 'resource' | 'route'>,
  field: string,
  own: Holdings,
): string {
  const ids: Record<string, string> = {
    consents: own.live,
    keys: own.spareKeyId,
    sites: own.siteId,
    notices: own.siteId,
    requests: own.requestId,
    holds: own.holdId,
    webhooks: route === 'webhooks.remove' ? own.spareHookId : own.hookId,
  }
  const values: Record<string, string | undefined> = {
    id: route === 'consents.sealedEvidence' ? own.sealed : ids[resource],
    site_id: own.siteId,
    cursor:
      route === 'audit.reads'
        ? firstCursor(own, { of: 'reads' })
        : resource === 'documents'
          ? firstCursor(own, { of: 'documents' })
          : ({ requests: own.requestCursor, notices: noticeCursor(own), audit: own.auditCursor }[resource] ??
            own.cursor),
    subject_id: subjectOf(own),
    consent_id: labelOf(own),
    key_id: keyIdOf(signingKeyOf(hashOf(own.accountId))),
    record_id: own.live,
    token: own.siteToken,
    version: ownVersions[route] ?? '1',
    language: route === 'notices.removeText' ? 'de' : 'en',
  }
  const value = values[field]
  if (value === undefined) throw new Error(`no value is known for ${field} of ${resource}`)
  return value
}

/** A cursor before the newest record, as a page of a notice's subjects would have it. */
function noticeCursor(own: Holdings): string {
  return firstCursor(own, { of: 'notice subjects', site_id: own.siteId, version: 1 })
}

/** A cursor before the newest entry of a list. */
function firstCursor({ accountId }: Holdings, filters: Readonly<Record<string, unknown>>): string {
  return encodeCursor({ secret: cursorSecret, accountId, filters }, newId())
}

/** A value for each field that a body must have, or that has to be there for a change to change anything. */
const samples: Record<string, (own: Holdings) => unknown> = {
  site_id: own => own.siteId,
  accepted: () => true,
  name: () => 'a new name',
  overlap_hours: () => 0,
  email: own => own.email,
  password: () => 'wrong',
  records: own => [{ site_id: own.siteId }],
  ticket: own => `a new ticket of ${own.accountId}`,
  kind: () => 'objection',
  subject_ids: own => [subjectOf(own)],
  received_on: () => '2026-03-01',
  document: own => documentOf(own).document,
  public_key: own => documentOf(own).public_key,
  reason: () => 'a claim',
  held_until: () => '2999-01-31T00:00:00Z',
  purpose: () => 'marketing',
  url: () => 'https://hooks.example.com/',
  from: () => '2026-01-31T00:00:00Z',
}

/** Lists that some bodies must have. */
const lists: Record<string, (own: Holdings) => unknown> = { ids: own => [own.live], purposes: () => ['marketing'] }

/** Bodies of routes that take text; others take any. */
const texts: Record<string, string> = {
  'banner.klaro': JSON.stringify({
    consent_data: { consents: { ads: true }, type: 'accept' },
    location_data: { port: 0, hostname: 'shop.example', protocol: 'https' },
    user_data: { client_version: '0.7.22', client_name: 'klaro:web' },
  }),
}

/** Required parameters of a route. */
const neededQueries: Record<string, (own: Holdings) => Record<string, string>> = {
  'log.inclusion': own => ({ record_id: own.live }),
  'log.tlogProof': own => ({ record_id: own.live }),
  'log.consistency': () => ({ first: '1' }),
  'subjects.check': own => ({ subject_id: subjectOf(own), purpose: 'marketing' }),
}

/** A valid request to an endpoint, with one field replaced if it is given. */
export function requestFor(
  of: (typeof endpoints)[number],
  own: Holdings,
  given?: { readonly place: Place; readonly field: string; readonly value: string },
): [method: string, path: string, options: CallOptions] {
  const { endpoint } = of
  const isGiven = (place: Place, field: string) => given?.place === place && given.field === field
  const path = endpoint.path.replace(/:(\w+)/g, (_, field: string) =>
    isGiven('params', field) ? encodeURIComponent(given?.value ?? '') : ownValue(of, field, own),
  )
  const fields = { ...neededQueries[of.route]?.(own), ...(given?.place === 'query' && { [given.field]: given.value }) }
  const query = Object.keys(fields).length > 0 ? `?${new URLSearchParams(fields)}` : ''
  if (endpoint.bodyMedia)
    return [endpoint.method, path + query, { body: mediaBytes(texts[of.route] ?? 'We do not', 'text/plain') }]
  if (!endpoint.body) return [endpoint.method, path + query, {}]
  const body: Record<string, unknown> = {}
  for (const [field, schema] of Object.entries(shapeOf(endpoint.body))) {
    const isNeeded = !schema.safeParse(undefined).success
    if (isGiven('body', field)) body[field] = given?.value
    else if (samples[field]) body[field] = samples[field](own)
    else if (isNeeded) body[field] = lists[field]?.(own) ?? ownValue(of, field, own)
  }
  return [endpoint.method, path + query, { body }]
}

/** The fields of a schema that has any. */
export function shapeOf(schema: z.ZodType | undefined): Record<string, z.ZodType> {
  return (schema as { shape?: Record<string, z.ZodType> } | undefined)?.shape ?? {}
}

/** The headers by which a route lets an account in. */
export async function credentialFor(
  service: TestService,
  { access }: Endpoint,
  own: Holdings,
): Promise<Record<string, string>> {
  if (access === 'session') return { ...(await service.signIn(own)) }
  if (access === 'site_token') return { 'x-site-token': own.siteToken }
  return access === 'account' ? bearer(own.key) : {}
}

/** The headers of a session of another user of the account, who may only read. */
export function readerSession(service: TestService, account: TestAccount): Promise<Signed> {
  return sessionOf(service, account, 'reader')
}

/** The headers of a session of another user of the account with this role. */
export async function sessionOf(service: TestService, { accountId }: TestAccount, role: Role): Promise<Signed> {
  const id = newId()
  await insertUser(service.sql, {
    account_id: accountId,
    id,
    email: `${id}@example.com`,
    role,
    created_at: new Date(),
    passwordHash: 'none',
  })
  return await service.signIn({ accountId, userId: id } as TestAccount)
}

export function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

let tables: readonly { name: string }[] | undefined

/** All that the database has of an account, without its access log, which is written after the responses. */
export async function accountRows(
  sql: Sql,
  { accountId }: Pick<TestAccount, 'accountId'>,
  without: readonly string[] = [],
): Promise<string[]> {
  tables ??= await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'account_id'`
  const omitted = without.includes('checkpoints') ? 'checkpoint_size' : ''
  const rows = tables
    .filter(({ name }) => name !== 'subject_reads' && !without.includes(name))
    .map(
      ({ name }) => sql`
        select ${`${name} `} || (to_jsonb(t) - ${omitted}::text)::text as row
        from ${sql(name)} t where account_id = ${accountId}`,
    )
  const found = await sql<{ row: string }[]>`${rows.reduce((all, row) => sql`${all} union all ${row}`)} order by 1`
  return found.map(({ row }) => row)
}
