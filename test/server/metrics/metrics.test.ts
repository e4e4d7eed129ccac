import { request } from 'undici'
import { beforeAll, describe, expect, it } from 'vitest'
import { Admission } from '../../../server/admission.ts'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { createMetrics, startMetrics } from '../../../server/metrics/metrics.ts'
import { readFacts } from '../../../server/metrics/queries.ts'
import { recordVerification } from '../../../server/verify/queries.ts'
import { OperatorError } from '../../../src/contract/index.ts'
import { skippedOnCitus } from '../../support/database.ts'
import { type TestAccount, useService } from '../../support/service.ts'
import { newHookOwner } from '../webhooks/receiver.ts'

const { registry, observer } = createMetrics()
const bannerLimits = { address: { max: 1, seconds: 60 }, site: { max: 100, seconds: 60 } }
const service = useService({ observer, bannerLimits })
const root = '/api/v1/consents'
let account: TestAccount
let limited: TestAccount

beforeAll(async () => {
  account = await service.newAccount()
  limited = await service.newAccount({ monthlyQuota: 1 })
})

const send = (key = account.key, body: object = {}) =>
  service.call('POST', root, { key, body: { site_id: account.siteId, ...body } })

/** A sample's value by its name and labels, as the text format has them. */
async function sampleOf(sample: string): Promise<number> {
  const line = (await registry.metrics()).split('\n').find(line => line.startsWith(`${sample} `))
  return Number(line?.slice(sample.length) ?? 0)
}

/** Waits for what is counted once the answer is out. */
async function expectValue(sample: string, value: number): Promise<void> {
  await expect.poll(() => sampleOf(sample), { timeout: 5000, interval: 10 }).toBe(value)
}

describe('metrics › request', () => {
  it('counts and times a request by method, route and status, without its URL', async () => {
    const { body } = await send()
    await service.call('GET', `${root}/${body.id}`, { key: account.key })
    await service.call('GET', `${root}?subject_id=maria`, { key: account.key })
    await service.call('GET', '/nope/maria', { key: account.key })
    await service.call('GET', '/%zz', { key: account.key })
    await expectValue('http_requests_total{method="POST",route="/api/v1/consents",status="201"}', 1)
    await expectValue('http_requests_total{method="GET",route="/api/v1/consents/:id",status="200"}', 1)
    await expectValue('http_requests_total{method="GET",route="none",status="404"}', 2)
    const labels = '{method="GET",route="/api/v1/consents",status="200"}'
    await expectValue(`http_request_duration_seconds_count${labels}`, 1)
    expect(await sampleOf(`http_request_duration_seconds_sum${labels}`)).toBeGreaterThan(0)
    const text = await registry.metrics()
    for (const own of ['maria', body.id, account.accountId, account.siteId, account.keyId]) {
      expect(text).not.toContain(own)
    }
  })

  it('counts a request that exceeds the quota', async () => {
    await service.call('GET', root, { key: limited.key })
    expect((await service.call('GET', root, { key: limited.key })).status).toBe(429)
    await expectValue('consentctl_quota_refusals_total', 1)
  })

  it('counts a request that exceeds a rate limit', async () => {
    const visit = () =>
      service.call('POST', '/api/v1/public/consent', {
        body: {},
        headers: { 'x-site-token': account.siteToken },
      })
    await visit()
    expect((await visit()).status).toBe(429)
    await expectValue('consentctl_rate_limited_total', 1)
  })
})

describe.skipIf(skippedOnCitus('trouble that a trigger makes'))('metrics › database errors', () => {
  it('are counted by the class of their code, as are retries', async () => {
    await service.sql`create sequence tries`
    await service.sql`
      create function make_trouble() returns trigger language plpgsql as $$ begin
        if new.consent_id = '40001' and nextval('tries') > 1 then return new; end if;
        raise exception using errcode = new.consent_id;
      end $$`
    await service.sql`
      create trigger trouble before insert on consents for each row when (new.consent_id is not null)
      execute function make_trouble()`
    const codes = ['40001', '22003', '42P01', '53100', '54000']
    const statuses = []
    for (const consent_id of codes) statuses.push((await send(account.key, { consent_id })).status)
    expect(statuses).toEqual([201, 500, 500, 503, 500])
    await expectValue('consentctl_database_retries_total{class="40"}', 1)
    await expectValue('consentctl_database_errors_total{class="22"}', 1)
    await expectValue('consentctl_database_errors_total{class="42"}', 1)
    await expectValue('consentctl_database_errors_total{class="53"}', 1)
    await expectValue('consentctl_database_errors_total{class="54"}', 1)
    await expectValue('consentctl_database_errors_total{class="40"}', 0)
  })
})

describe('metrics › load', () => {
  it('counts requests in flight, waiting and shed, by flow', async () => {
    const { registry, observer } = createMetrics()
    const admission = new Admission({ running: 1, perTenant: 1, waiting: 1 })
    observer.watchLoad('private', () => admission.load)
    const leave = await admission.enter('a')
    const waiting = admission.enter('a')
    await expect(admission.enter('a')).rejects.toThrow()
    const text = await registry.metrics()
    expect(text).toContain('http_requests_in_flight{flow="private"} 1\n')
    expect(text).toContain('http_requests_waiting{flow="private"} 1\n')
    expect(text).toContain('http_requests_shed_total{flow="private"} 1\n')
    leave()
    await waiting
    expect(await registry.metrics()).toContain('http_requests_shed_total{flow="private"} 1\n')
  })

  it('reports the load of the service', async () => {
    const text = await registry.metrics()
    for (const flow of ['private', 'public']) expect(text).toContain(`http_requests_in_flight{flow="${flow}"} 0\n`)
  })
})

describe('metrics › facts', () => {
  it('has overdue requests, the newest checkpoint and the last verification, and nothing if the database fails', async () => {
    const { registry, watchFacts, refresh } = createMetrics()
    const read = async () => {
      await refresh()
      const lines = (await registry.metrics()).split('\n')
      const samples = lines.filter(line => /^consentctl_(requests_overdue|webhooks_failing|last_\w+) /.test(line))
      return Object.fromEntries(samples.map(line => line.replace('consentctl_', '').split(' ')))
    }
    const { sql } = service
    watchFacts(() => readFacts(sql))
    expect(await read()).toEqual({ requests_overdue: '0', webhooks_failing: '0' })
    for (const [ticket, received_on] of [
      ['DSR-1', '2026-01-10'],
      ['DSR-2', new Date().toISOString().slice(0, 10)],
    ]) {
      const body = { ticket, kind: 'access', subject_ids: ['maria'], received_on }
      expect((await service.call('POST', '/api/v1/requests', { key: account.key, body })).status).toBe(201)
    }
    const before = Date.now() / 1000
    await coverAll({ sql, signer: await openSigner(sql, null) })
    await recordVerification(sql, 3)
    await recordVerification(sql, 2)
    const owner = await newHookOwner(service)
    const hooks = [await owner.createHook('https://a.example/'), await owner.createHook('https://b.example/')]
    await owner.change(hooks[0]?.id ?? '', { paused: true })
    const facts = await read()
    expect(facts).toMatchObject({ requests_overdue: '1', webhooks_failing: '1', last_verify_findings: '2' })
    for (const name of ['last_checkpoint_timestamp_seconds', 'last_verify_timestamp_seconds'])
      expect(Number(facts[name]) - before, name).toBeGreaterThan(-60)
    watchFacts(async () => await Promise.reject(new Error('lost')))
    expect(await read()).toEqual({})
  })
})

describe('metrics › server', () => {
  it('responds only on loopback, in the text format', async () => {
    const server = await startMetrics(0)
    try {
      const answer = await request(server.url)
      expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([
        200,
        'text/plain; version=0.0.4; charset=utf-8',
      ])
      const text = await answer.body.text()
      expect(text).toMatch(/^process_cpu_seconds_total \d/m)
      expect(text.split('\n').filter(line => line && !/^(# (HELP|TYPE) \w+ .+|\w+(\{.*\})? \S+)$/.test(line))).toEqual(
        [],
      )
      expect((await request(new URL('/', server.url))).statusCode).toBe(404)
      expect((await request(server.url, { method: 'POST' })).statusCode).toBe(405)
    } finally {
      await server.close()
    }
    await expect(request(server.url)).rejects.toThrow()
  })

  it('reports a port that is in use', async () => {
    const server = await startMetrics(0)
    const port = Number(new URL(server.url).port)
    const error = await startMetrics(port).catch(error => error)
    expect(error).toBeInstanceOf(OperatorError)
    expect(`${error.message}; ${error.hint}`).toBe(
      `port ${port} of 127.0.0.1 is in use; choose another in METRICS_HOST or METRICS_PORT`,
    )
    await server.close()
  })
})
