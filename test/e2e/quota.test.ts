import postgres, { type Sql } from 'postgres'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { maxLeaseUnits } from '../../server/quota/lease.ts'
import { useFolder } from '../support/cli.ts'
import { newAccount, type TestAccount } from '../support/service.ts'
import { isLongRun, newDatabase } from './campaign.ts'
import { type Nodes, startNodes } from './nodes.ts'

/** One run: an account's limit, how many times as many requests, and how one node of three ends in the middle. */
interface Cell {
  readonly limit: number
  readonly load: number
  readonly end: 'none' | 'SIGTERM' | 'SIGKILL'
}

/** How many requests had which answer. */
interface Result {
  readonly offered: number
  readonly admitted: number
  readonly refused: number
  /** Answered with anything else. */
  readonly errors: number
  /** Not answered at all: in flight at the node that was killed. */
  readonly lost: number
  /** Records in the database. */
  readonly stored: number
}

const folder = useFolder()
const clients = 24
let sql: Sql
let nodes: Nodes

/** A lease is at most this part of what is left of the limit. */
const share = 64

const cells: Cell[] = isLongRun
  ? [10, 100, 1000, 10_000].flatMap(limit =>
      [0.8, 1, 1.5, 3].flatMap(load => (['none', 'SIGTERM', 'SIGKILL'] as const).map(end => ({ limit, load, end }))),
    )
  : [
      { limit: 10, load: 1, end: 'none' },
      { limit: 100, load: 0.8, end: 'none' },
      { limit: 100, load: 3, end: 'none' },
      { limit: 300, load: 1, end: 'none' },
      { limit: 300, load: 1, end: 'SIGTERM' },
      { limit: 300, load: 1.5, end: 'SIGKILL' },
    ]

if (!inject('clusterUrl')) {
  process.stderr.write('\n*** SKIPPED: the quota on three nodes. No PostgreSQL found. ***\n\n')
}

describe.skipIf(!inject('clusterUrl'))('the quota of an account on three nodes', { timeout: 300_000 }, () => {
  beforeAll(async () => {
    const url = await newDatabase('consentctl_test_quota')
    sql = postgres(url, { max: 2, onnotice: () => {} })
    nodes = await startNodes(3, url, { HOME: folder.path, LOG_LEVEL: 'silent' })
    print(['limit', 'load', 'end', 'offered', 'admitted', '429', 'errors', 'lost', 'stored', 'under-grant'])
  })
  afterAll(async () => {
    await nodes?.end()
    await sql?.end({ timeout: 1 })
  })

  it.each(cells)('is granted exactly: limit $limit, load $load times as high, end of a node: $end', async cell => {
    let month: number
    let result: Result
    do {
      month = new Date().getUTCMonth()
      result = await run(cell)
    } while (month !== new Date().getUTCMonth()) // the limit began anew meanwhile
    const { offered, admitted, refused, errors, lost, stored } = result
    const due = Math.min(cell.limit, offered)
    print([cell.limit, cell.load, cell.end, offered, admitted, refused, errors, lost, stored, due - admitted])

    expect(errors).toBe(0)
    expect(admitted).toBeLessThanOrEqual(stored)
    expect(stored).toBeLessThanOrEqual(cell.limit)
    if (cell.end === 'SIGKILL') {
      const lease = Math.min(maxLeaseUnits, Math.max(1, cell.limit / share))
      expect(admitted + lost).toBeGreaterThanOrEqual(due - lease)
    } else {
      expect([admitted, lost]).toEqual([due, 0])
    }
  })
})

/** Offers the load in turn to the nodes that run; the one that ends is offered nothing more, and started again. */
async function run({ limit, load, end }: Cell): Promise<Result> {
  const account = await newAccount(sql, { monthlyQuota: limit })
  const offered = Math.round(limit * load)
  const agent = new Agent({ connections: clients })
  const urls = [...nodes.urls]
  const statuses: number[] = []
  let sent = 0
  let ended: Promise<unknown> | undefined
  const client = async () => {
    while (sent < offered) {
      if (end !== 'none' && !ended && sent >= offered / 2) {
        urls.shift()
        ended = nodes.stop(0, end).then(() => nodes.start(0))
      }
      sent += 1
      statuses.push(await create(urls[sent % urls.length] ?? '', account, agent))
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  await ended
  await agent.close()
  const [row] = await sql`select count(*)::int as n from consents where account_id = ${account.accountId}`
  const count = (...wanted: number[]) => statuses.filter(status => wanted.includes(status)).length
  return {
    offered,
    admitted: count(201),
    refused: count(429),
    errors: offered - count(201, 429, 0),
    lost: count(0),
    stored: row?.['n'],
  }
}

/** The status of a create; 0 where no answer came. */
async function create(url: string, { key, siteId }: TestAccount, agent: Agent): Promise<number> {
  try {
    const { statusCode, body } = await request(`${url}/api/v1/consents`, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ site_id: siteId }),
    })
    await body.dump()
    return statusCode
  } catch {
    return 0
  }
}

function print(row: (string | number)[]): void {
  process.stderr.write(`${row.map(value => String(value).padStart(8)).join(' ')}\n`)
}
