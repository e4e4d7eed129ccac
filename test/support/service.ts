import { scryptSync } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import type { Sql } from 'postgres'
import { request } from 'undici'
import { afterAll, beforeAll, expect } from 'vitest'
import { insertAccount } from '../../server/accounts/queries.ts'
import { type AppOptions, createApp } from '../../server/app.ts'
import { hashOf, hintOf, newApiKey, newSiteToken } from '../../server/auth/credential.ts'
import { newCost } from '../../server/auth/password.ts'
import { signSession } from '../../server/auth/session.ts'
import { originSecretName } from '../../server/consents/origin.ts'
import { findSecret, sharedSecret } from '../../server/db/secrets.ts'
import { openSigner } from '../../server/evidence/signer.ts'
import { newId } from '../../server/ids.ts'
import { openGeo } from '../../server/net/geo.ts'
import { Quota } from '../../server/quota/quota.ts'
import { useDatabase } from './database.ts'
import { expectDocumented } from './response-schema.ts'

/** An account with its credentials, as its owner would hold them. */
export interface TestAccount {
  readonly accountId: string
  readonly userId: string
  readonly email: string
  readonly siteId: string
  readonly siteToken: string
  readonly keyId: string
  readonly key: string
}

export interface ServiceResponse {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
  /** The body as JSON; undefined where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape of what it reads
  readonly body: any
}

export interface CallOptions {
  readonly key?: string | undefined
  readonly headers?: Record<string, string>
  /** Sent as JSON; a string or bytes are sent as they are, `MediaBytes` with their own type. */
  readonly body?: unknown
}

export type MediaBytes = Uint8Array & { readonly mediaType: string }

export function mediaBytes(content: string | Uint8Array, mediaType: string): MediaBytes {
  return Object.assign(Buffer.from(content), { mediaType })
}

export interface AccountOptions {
  readonly monthlyQuota?: number | null
  /** Nobody can sign in without one. Its hash is a cheap one, so that many sign-ins take no time. */
  readonly password?: string
}

/** The headers by which a browser on the dashboard's own pages is known. */
export type Signed = { readonly cookie: string; readonly origin: string }

/** A node of the service, on a port of its own. */
export interface TestNode {
  url: string
  app: FastifyInstance
  quota: Quota
  /** Sends a request over HTTP; every answer must be as the OpenAPI document says. */
  call(method: string, path: string, options?: CallOptions): Promise<ServiceResponse>
}

export interface TestService extends TestNode {
  sql: Sql
  newAccount(options?: AccountOptions): Promise<TestAccount>
  /** A session of the account's owner, without the password. */
  signIn(account: TestAccount): Promise<Signed>
  /** Another node on the same database. */
  addNode(options?: ServiceOptions): Promise<TestNode>
}

/** What the nodes of a test sign sessions with. */
export const sessionSecret = Buffer.alloc(32, 8)

/** What they make cursors with. */
export const cursorSecret = Buffer.alloc(32, 7)

/** What they make the consent tokens of visitors with. */
export const consentTokenSecret = Buffer.alloc(32, 6)

/** What they name data subjects with. */
export const subjectSecret = Buffer.alloc(32, 9)

/** What the service is configured as unless a test says otherwise. */
export const usualConfig: AppOptions['config'] = {
  ipStorage: 'truncated',
  trustProxy: [],
  edgeCountryHeader: null,
  edgeRegionHeader: null,
  purgeAfterDays: 30,
  holidays: [],
  dashboard: true,
}

export interface ServiceOptions extends Partial<Omit<AppOptions, 'config'>> {
  readonly config?: Partial<AppOptions['config']>
}

/** The service on a port and a database of this test file's own, with `options` in place of what tests use. */
export function useService(options: ServiceOptions = {}): TestService {
  const database = useDatabase()
  const nodes: TestNode[] = []
  const addNode = async (more: ServiceOptions = {}) => {
    const node = await startNode(database.sql, more)
    nodes.push(node)
    return node
  }
  const service = {
    call: (...args) => call(service.url, ...args),
    newAccount: options => newAccount(service.sql, options),
    signIn: account => signIn(service, account),
    addNode,
  } as TestService
  beforeAll(async () => {
    await storeSubjectSecret(database.sql)
    const { url, app, quota } = await addNode(options)
    Object.assign(service, { url, app, quota, sql: database.sql })
  })
  afterAll(() => Promise.all(nodes.map(({ app }) => app.close())))
  return service
}

/** Starts a node on a database that the caller has migrated. */
export async function startNode(sql: Sql, { config, ...options }: ServiceOptions = {}): Promise<TestNode> {
  const quota = options.quota ?? new Quota(sql)
  const app = createApp({
    sql,
    quota,
    logger: pino({ level: 'silent' }),
    config: { ...usualConfig, ...config },
    geo: openGeo({ geoipDb: null }, failure => {
      throw failure
    }),
    signer: options.signer ?? (await openSigner(sql, null)),
    cursorSecret,
    consentTokenSecret,
    sessionSecret,
    subjectSecret,
    originSecret: options.originSecret ?? (await sharedSecret(sql, originSecretName)), // which admin verify reads
    ...options,
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, app, quota, call: (...args) => call(url, ...args) }
}

/** Where jobs and commands find it. */
async function storeSubjectSecret(sql: Sql): Promise<void> {
  if (await findSecret(sql, 'subject')) return
  await sql`insert into secrets (name, value) values ('subject', ${subjectSecret}) on conflict (name) do nothing`
}

async function signIn({ sql, url }: TestService, { accountId, userId }: TestAccount): Promise<Signed> {
  const [user] = await sql<{ version: number }[]>`
    select session_version as version from users where account_id = ${accountId} and id = ${userId}`
  const { token } = await signSession(sessionSecret, { accountId, userId, version: user?.version ?? 0 })
  return { cookie: `consent_session=${token}`, origin: url }
}

export async function newAccount(
  sql: Sql,
  { monthlyQuota = null, password }: AccountOptions = {},
): Promise<TestAccount> {
  const [accountId, userId, siteId, keyId] = [newId(), newId(), newId(), newId()]
  const email = `${accountId}@example.com`
  const [key, siteToken] = [newApiKey(accountId), newSiteToken(accountId, siteId)]
  await insertAccount(sql, {
    accountId,
    plan: 'unlimited',
    monthlyQuota,
    user: { id: userId, email, passwordHash: password === undefined ? 'none' : cheapHash(password) },
    site: { id: siteId, name: 'a site', tokenHash: hashOf(siteToken) },
    key: { id: keyId, name: 'a key', keyHash: hashOf(key), hint: hintOf(key) },
    at: new Date(),
  })
  return { accountId, userId, email, siteId, siteToken, keyId, key }
}

const cheap = { log2N: 4, r: 1, p: 1 }

/** Lets the tests of a file hash passwords at hardly any cost. */
export function useCheapPasswords(): void {
  const cost = { ...newCost }
  beforeAll(() => void Object.assign(newCost, cheap))
  afterAll(() => void Object.assign(newCost, cost))
}

/** Verification reads the cost from the hash. */
export function cheapHash(password: string): string {
  const salt = Buffer.alloc(16, 9)
  const { log2N, r, p } = cheap
  const [text, hash] = [salt, scryptSync(password, salt, 32, { N: 2 ** log2N, r, p })].map(bytes =>
    bytes.toString('base64').replace(/=+$/, ''),
  )
  return `$scrypt$ln=${log2N},r=${r},p=${p}$${text}$${hash}`
}

/** Repeats a request while a busy service sheds it. */
export async function untilAdmitted<T extends { readonly status: number }>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    const answer = await send()
    if (answer.status !== 503) return answer
  }
}

async function call(url: string, method: string, path: string, options: CallOptions = {}): Promise<ServiceResponse> {
  const { key, body } = options
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const answer = await request(url + path, {
    method: method as 'GET',
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined
        ? {}
        : { 'content-type': (body as Partial<MediaBytes> | null)?.mediaType ?? 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  const parsed = parse(text)
  expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  if (answer.statusCode >= 300) {
    const { reason: _, ...others } = Object(parsed)
    expect(others).toEqual({ error: expect.any(String), message: expect.any(String) })
  }
  const result = { status: answer.statusCode, headers: answer.headers, text, body: parsed }
  expectDocumented(method, path, result)
  return result
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
