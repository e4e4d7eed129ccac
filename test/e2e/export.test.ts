import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runBinary } from '../support/cli.ts'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { type TestAccount, useService } from '../support/service.ts'

const service = useService()
const count = 6000
let account: TestAccount
let ids: string[]
let proxy: FaultProxy | undefined
/** The paths that the service was asked for. */
const asked: string[] = []

beforeAll(async () => {
  account = await service.newAccount()
  ids = await seed(account)
  service.app.server.on('request', ({ url }) => asked.push(url ?? ''))
})

afterEach(async () => {
  await proxy?.close()
  proxy = undefined
  asked.length = 0
})

/** Lists everything with the built binary; returns the ids in the order in which they are printed. */
async function exported(url: string): Promise<string[]> {
  const env = { CONSENTCTL_BASE_URL: url, CONSENTCTL_API_KEY: account.key }
  const { code, stdout, stderr } = await runBinary(['list', '--all', '-o', 'ndjson'], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
    .trimEnd()
    .split('\n')
    .map(line => (JSON.parse(line) as { id: string }).id)
}

describe('list of many records', () => {
  it('takes two requests, and prints each record once, in order', async () => {
    expect(await exported(service.url)).toEqual(ids)
    expect(asked).toHaveLength(2)
  })

  it('when the connection is reset repeatedly, prints each record once, in order', async () => {
    proxy = await startFaultProxy(Number(new URL(service.url).port))
    proxy.delay(10)
    let resets = 0
    service.app.server.on('request', reset)
    function reset() {
      // While pages are on their way, three times; the first request is for a single page.
      if (asked.length < 2 || resets === 3) return
      resets += 1
      setTimeout(() => proxy?.reset(), 30)
    }
    expect(await exported(`http://127.0.0.1:${proxy.port}`)).toEqual(ids)
    service.app.server.off('request', reset)
    expect(resets).toBe(3)
    expect(asked.length).toBeGreaterThan(3)
  })
})

/** Records a minute apart, but for a third of them that came within seconds, some in one millisecond; their ids, newest first. */
async function seed({ accountId, siteId }: TestAccount): Promise<string[]> {
  const rows = await service.sql<{ id: string }[]>`
    with ids as (
      select md5(random()::text) as chance, ${Date.UTC(2026, 0, 31)}::bigint
        + case when n between 2000 and 4000 then 120000000 + (n - 2000) / 5 else n::bigint * 60000 end as ms
      from generate_series(1, ${count}) n
    ), made as (
      insert into consents (account_id, id, site_id, accepted, preferences, policy_version, version, record_hash,
        chain_head, created_at, updated_at)
      select ${accountId}::uuid,
        (lpad(to_hex(ms), 12, '0') || '7' || left(chance, 3) || 'a' || right(chance, 15))::uuid,
        ${siteId}::uuid, true, '{}', 1, 1, sha256(''), sha256(''), to_timestamp(ms / 1000.0), to_timestamp(ms / 1000.0)
      from ids
      returning id
    )
    select id from made order by id desc`
  return rows.map(({ id }) => id)
}
