import type { Sql } from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { coverAccount } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { Quota } from '../../../server/quota/quota.ts'
import { countBeforePurge } from '../../../server/stats/counting.ts'
import { countLeaves, listBehind } from '../../../server/stats/queries.ts'
import { listDue } from '../../../server/webhooks/queries.ts'
import { Sender } from '../../../server/webhooks/sender.ts'
import { takeTurn } from '../../../server/webhooks/turn.ts'
import { onCitus } from '../../support/database.ts'
import { type TestNode, useService } from '../../support/service.ts'
import { credentialFor, endpoints, type Holdings, newHoldings, ownValue, requestFor, shapeOf } from '../endpoints.ts'

/** A statement as the driver keeps it once it was sent. */
interface Sent {
  readonly string?: string
  readonly parameters: string[]
}

const service = useService()
const sent: Sent[] = []
let node: TestNode
let readOnly: Holdings

describe.skipIf(!onCitus())('Citus', () => {
  beforeAll(async () => {
    const sql = recording(service.sql)
    node = await service.addNode({ sql, quota: new Quota(sql) })
    readOnly = await newHoldings(service)
  })

  it('distributes every tenant’s table by account, colocated, and copies every other table to each node', async () => {
    const tables = await service.sql<{ name: string; kind: string; column: string; group: number }[]>`
      select table_name::text as name, citus_table_type as kind, distribution_column as column, colocation_id as group
      from citus_tables`
    const [shared, spread] = ['reference', 'distributed'].map(kind => tables.filter(table => table.kind === kind))
    const names = shared?.map(({ name }) => name).sort()
    expect(names).toEqual(['key_statements', 'logins', 'migrations', 'secrets', 'verifications'])
    expect(new Set(spread?.map(({ column, group }) => `${column} ${group}`)).size).toBe(1)
    const all = await service.sql`select from pg_tables where schemaname = 'public'`
    expect(tables).toHaveLength(all.length)
  })

  const requests = endpoints.flatMap(of => {
    const fields = Object.keys(shapeOf(of.endpoint.query)).filter(field => /_id$|^cursor$/.test(field))
    return [undefined, ...fields].map(field => ({ name: `${of.route} ${field ?? ''}`, of, field }))
  })

  it.each(requests)('$name queries a single shard, or a table that is on every node', async ({ of, field }) => {
    const isShared = of.endpoint.method === 'GET' && of.route !== 'caller.get' // a cached key needs no statement there
    const own = isShared ? readOnly : await newHoldings(service)
    const given = field && { place: 'query' as const, field, value: ownValue(of, field, own) }
    const [method, path, { body }] = requestFor(of, own, given || undefined)
    const keyed = of.route === 'consents.createBatch' ? {} : { 'idempotency-key': of.route }
    const headers = { ...(await credentialFor(service, of.endpoint, own)), ...keyed }
    if ('origin' in headers) headers.origin = node.url
    sent.length = 0
    const { status, text } = await node.call(method, path, { body, headers })
    expect(status, text).toBeLessThan(of.route === 'session.create' ? 402 : 300)
    if (of.endpoint.access !== 'anyone') expect(sent.some(isStatement)).toBe(true)
    await expectOneShard()
  })

  it('statements of jobs about one account query a single shard, and do not need the other workers', async () => {
    const sql = recording(service.sql)
    const { accountId, live, hookId } = await newHoldings(service)
    sent.length = 0
    for await (const _ of coverAccount({ sql, signer: await openSigner(service.sql, null) }, accountId));
    await countBeforePurge(sql, accountId, [live], new AbortController().signal)
    await countLeaves(sql, accountId, { leaves: 0, revision: 1 }, 5)
    await listBehind(sql, sql`= ${accountId}`, 1)
    await listDue(sql, sql`= ${accountId}`, { at: new Date(), limit: 5 })
    const deps = { sql, sender: new Sender(new Set()), now: Date.now, signal: new AbortController().signal }
    await takeTurn(deps, { account_id: accountId, id: hookId })
    expect(sent.filter(isStatement).length).toBeGreaterThan(5)
    await expectOneShard()
  })
})

/** Fragments have no text of their own. */
function isStatement({ string }: Sent): boolean {
  return string !== undefined
}

async function expectOneShard(): Promise<void> {
  for (const { string = '', parameters } of sent.filter(isStatement)) {
    const plan = await service.sql.unsafe(`explain ${string}`, parameters)
    const lines = plan.map(line => String(line['QUERY PLAN']))
    // What a statement has read already is at hand on the coordinator.
    expect(lines.join('\n')).not.toMatch(/method: (repartition|pull to coordinator\n +-> {2}Custom Scan)/)
    const counts = lines.flatMap(line => /Task Count: (\d+)/.exec(line)?.[1] ?? [])
    expect([string, ...new Set(counts)]).toEqual([string, ...counts.slice(0, 1)])
    expect(counts[0] ?? '1', lines.join('\n')).toBe('1')
  }
}

/** The same, noting every statement. */
function recording(sql: Sql): Sql {
  return new Proxy(sql, {
    apply: (target, _this, args: Parameters<Sql>) => {
      const built: unknown = target(...args)
      if (built instanceof Promise) sent.push(built as unknown as Sent)
      return built
    },
  })
}
