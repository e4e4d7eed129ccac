import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import type { Sql } from 'postgres'
import { request } from 'undici'
import { afterAll, beforeAll, expect } from 'vitest'
import { insertAccount } from '../../server/accounts/queries.ts'
import { createApp } from '../../server/app.ts'
import { hashOf, newApiKey, newSiteToken } from '../../server/auth/credential.ts'
import { newId } from '../../server/ids.ts'
import { useDatabase } from './database.ts'

/** An account with its credentials, as its owner would hold them. */
export interface TestAccount {
  readonly accountId: string
  readonly siteId: string
  readonly siteToken: string
  readonly keyId: string
  readonly key: string
}

export interface Answer {
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
  /** Sent as JSON; a string or bytes are sent as they are. */
  readonly body?: unknown
}

export interface TestService {
  url: string
  sql: Sql
  app: FastifyInstance
  /** Sends a request over HTTP; every answer that is no success must have the error shape and a request id. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  newAccount(options?: { monthlyQuota?: number | null }): Promise<TestAccount>
}

/** The service on a port and a database of this test file's own. */
export function useService(): TestService {
  const database = useDatabase()
  const service = {
    call: (...args) => call(service.url, ...args),
    newAccount: options => newAccount(service.sql, options),
  } as TestService
  beforeAll(async () => {
    const { sql } = database
    const logger = pino({ level: 'silent' })
    service.sql = sql
    service.app = createApp({
      sql,
      logger,
      config: { ipStorage: 'truncated' },
      cursorSecret: Buffer.alloc(32, 7),
    })
    service.url = await service.app.listen({ port: 0, host: '127.0.0.1' })
  })
  afterAll(() => service.app.close())
  return service
}

export async function newAccount(
  sql: Sql,
  { monthlyQuota = null }: { monthlyQuota?: number | null } = {},
): Promise<TestAccount> {
  const [accountId, siteId, keyId] = [newId(), newId(), newId()]
  const [key, siteToken] = [newApiKey(accountId), newSiteToken(accountId, siteId)]
  await insertAccount(sql, {
    accountId,
    plan: 'unlimited',
    monthlyQuota,
    user: { id: newId(), email: `${accountId}@example.com`, passwordHash: 'none' },
    site: { id: siteId, name: 'a site', tokenHash: hashOf(siteToken) },
    key: { id: keyId, name: 'a key', keyHash: hashOf(key) },
    at: new Date(),
  })
  return { accountId, siteId, siteToken, keyId, key }
}

async function call(url: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const { key, body } = options
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const answer = await request(url + path, {
    method: method as 'GET',
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
  })
  const text = await answer.body.text()
  const parsed = parse(text)
  expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  if (answer.statusCode >= 300) {
    expect(parsed).toEqual({ error: expect.any(String), message: expect.any(String) })
  }
  return { status: answer.statusCode, headers: answer.headers, text, body: parsed }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
