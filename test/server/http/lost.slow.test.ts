import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { TransactionSql } from 'postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { skippedOnCitus } from '../../support/database.ts'
import { type ServiceResponse, type TestAccount, useService } from '../../support/service.ts'

const service = useService()
const root = '/api/v1/consents'
let account: TestAccount
/** One whose key and quota the service has not looked at. */
let stranger: TestAccount
let id: string
let consentToken: string

beforeEach(async () => {
  account = await service.newAccount()
  stranger = await service.newAccount({ monthlyQuota: 100 })
  id = (await create()).body.id
  consentToken = (await visit({})).body.consent_token
  await service.quota.settle() // which would else come to wait in the middle of a test
})

afterEach(() => heal())

const create = (headers = {}, { key, siteId } = account) =>
  service.call('POST', root, { key, body: { site_id: siteId }, headers })
const visit = (body: object) =>
  service.call('POST', '/api/v1/public/consent', { body, headers: { 'x-site-token': account.siteToken } })
const createAsStranger = () => create({}, stranger)
const update = () => service.call('PUT', `${root}/${id}`, { key: account.key, body: { accepted: true } })
const get = () => service.call('GET', `${root}/${id}`, { key: account.key })

const isSpread = skippedOnCitus('locks of rows, which are on other nodes than the one that is asked for them')

/** The embedded database has one backend: nobody waits in it, and nobody can end it. */
describe.skipIf(process.env['TEST_ENGINE'] !== 'postgres')('lost connections › PostgreSQL', () => {
  it.each<[what: string, send: () => Promise<ServiceResponse>, table: string, status: number]>([
    ['a read', get, 'consents', 200],
    ['a change', update, 'consents', 503],
    ['a change by a visitor', () => visit({ consent_token: consentToken, accepted: true }), 'consents', 201],
    ['a deletion', () => service.call('DELETE', `${root}/${id}`, { key: account.key }), 'consents', 200],
    ['a create with an Idempotency-Key', () => create({ 'idempotency-key': id }), 'consents', 201],
    ['a create without', create, 'consents', 503],
    ['the key lookup of a create', createAsStranger, 'api_keys', 201],
    ['the quota check of a create', createAsStranger, 'usage', 201],
  ])(
    'when PostgreSQL closes the connection of %s, the service retries if that is safe',
    async (_what, send, table, status) => {
      const answer = await meanwhile(
        send,
        tx => tx`lock table ${tx(table)} in access exclusive mode`,
        async tx => {
          expect(await tx`select pg_terminate_backend(pid) from (${waiting()}) as waiting`).toHaveLength(1)
          await delay(50)
        },
      )
      expect([answer.status, answer.headers['request-not-applied']]).toEqual([status, undefined])
    },
  )

  it.skipIf(isSpread)('when PostgreSQL fails to serialize a change (40001), the service retries', async () => {
    await service.sql`
      do $$ begin execute format('alter database %I set default_transaction_isolation = %L',
        current_database(), 'repeatable read'); end $$`
    await reconnect()
    const answer = await meanwhile(
      update,
      tx => tx`update consents set subject_id = 'x' where id = ${id}`,
      async () => {},
    )
    expect(answer.status).toBe(200)
    expect((await get()).body).toMatchObject({ accepted: true, subject_id: 'x' })
    await service.sql`
      do $$ begin execute format('alter database %I reset default_transaction_isolation', current_database()); end $$`
    await reconnect()
  })

  it.skipIf(isSpread)('when PostgreSQL resolves a deadlock (40P01), the service retries', async () => {
    const answer = await meanwhile(
      update,
      async tx => {
        await tx`set local deadlock_timeout = '20s'` // the other side notices first
        await tx`
          insert into consent_history (account_id, consent_id, version, action, accepted, preferences, policy_version,
            changed_by, actor_id, created_at, salt, payload_hash, hash)
          select account_id, consent_id, 2, 'updated', accepted, preferences, policy_version, changed_by, actor_id,
            created_at, salt, payload_hash, hash from consent_history where consent_id = ${id}`
      },
      async tx => {
        await tx`select from consents where id = ${id} for update`
        throw new Rollback()
      },
    )
    expect(answer.status).toBe(200)
    expect((await get()).body.accepted).toBe(true)
  })
})

class Rollback extends Error {}

/** Sends a request while a transaction holds what it needs, and lets go once it waits for that and `then` is done. */
async function meanwhile(
  send: () => Promise<ServiceResponse>,
  hold: (tx: TransactionSql) => Promise<unknown>,
  then: (tx: TransactionSql) => Promise<void>,
): Promise<ServiceResponse> {
  const held = new EventTarget()
  const answer = once(held, 'held').then(() => send())
  const holding = service.sql.begin(async tx => {
    await hold(tx)
    held.dispatchEvent(new Event('held'))
    for (let count = 0; count === 0; await delay(5)) count = (await waiting()).length
    await then(tx)
  })
  await holding.catch(error => {
    if (!(error instanceof Rollback)) throw error
  })
  return await answer
}

/** The backends of this database that wait for a lock. */
function waiting() {
  return service.sql`
    select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
}

async function reconnect(): Promise<void> {
  await service.sql`
    select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`
  await service.sql`select pg_terminate_backend(pg_backend_pid())`.catch(() => {})
  await heal()
}

/** Uses every connection: postgres.js 3.4.9 tells of a lost one twice, the second time to whatever is sent next. */
async function heal(): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    await delay(50)
    await Promise.allSettled(Array.from({ length: 10 }, () => service.sql`select pg_sleep(0.05)`))
  }
}
