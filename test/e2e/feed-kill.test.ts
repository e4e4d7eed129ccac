import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Event } from '../../src/contract/index.ts'
import { start, useFolder } from '../support/cli.ts'
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { newAccount, type TestAccount } from '../support/service.ts'
import { isLongRun, killsOf, newDatabase } from './campaign.ts'
import { type Nodes, startNodes } from './nodes.ts'

const folder = useFolder()
const clients = isLongRun ? 64 : 16
const kills = killsOf(isLongRun ? 20 : 3)
let sql: Sql
let pooler: PgBouncer | undefined
let nodes: Nodes
let account: TestAccount

/** A process of `watch` on one node, and what it has printed. */
function follow(url: string, number: number) {
  const env = { HOME: join(folder.path, String(number)), CONSENTCTL_BASE_URL: url, CONSENTCTL_API_KEY: account.key }
  const { child, ended } = start(['watch', '--from', '1h', '-o', 'ndjson'], env)
  let lines = 0
  child.stdout.on('data', (text: string) => {
    lines += text.split('\n').length - 1
  })
  const end = async () => {
    child.kill('SIGTERM')
    const { code, stdout, stderr } = await ended
    expect(code, stderr).toBe(0)
    return stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as Event)
  }
  return { lines: () => lines, end }
}

/** Creates and changes records on all nodes until it is over. Requests to a node that was killed are lost. */
async function write(isOver: () => boolean): Promise<void> {
  const agent = new Agent({ connections: clients })
  const send = async (method: 'POST' | 'PUT', path: string, body: object): Promise<{ id?: string }> => {
    const url = `${nodes.urls[Math.floor(Math.random() * 3)]}/api/v1/consents${path}`
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
    const sent = request(url, { method, headers, body: JSON.stringify(body), dispatcher: agent })
    const answer = await sent.then(({ body }) => body.json()).catch(() => delay(50))
    return (answer ?? {}) as { id?: string }
  }
  const client = async () => {
    while (!isOver()) {
      const { id } = await send('POST', '', { site_id: account.siteId })
      if (id) await send('PUT', `/${id}`, { accepted: true })
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  await agent.close()
}

describe.skipIf(!inject('clusterUrl'))('the feed of three nodes', { timeout: 600_000 }, () => {
  beforeAll(async () => {
    const url = await newDatabase('consentctl_test_feed_kill')
    sql = postgres(url, { max: 1, onnotice: () => {} })
    if (hasPgBouncer()) pooler = await startPgBouncer(inject('clusterUrl') ?? '', 20)
    const pooled = pooler ? pooler.url + new URL(url).pathname : url
    nodes = await startNodes(3, pooled, { HOME: folder.path, LOG_LEVEL: 'silent' })
    account = await newAccount(sql)
  })
  afterAll(async () => {
    await nodes?.end()
    await pooler?.stop()
    await sql?.end({ timeout: 1 })
  })

  it(`gives each entry of ${clients} writers once and in order in ${kills} kills of nodes`, async () => {
    const followers = nodes.urls.map(follow)
    let isOver = false
    const writing = write(() => isOver)
    for (let kill = 0; kill < kills; kill += 1) {
      await delay(500 + 1000 * Math.random())
      await nodes.stop(kill % 3, 'SIGKILL')
      await nodes.start(kill % 3)
    }
    isOver = true
    await writing
    const entries = await sql<{ entry: string }[]>`
      select consent_id || ' ' || version as entry from log_entries where account_id = ${account.accountId}
      order by consent_id, version`
    expect(entries.length).toBeGreaterThan(clients)
    const all = followers.map(() => entries.length)
    await expect.poll(() => followers.map(({ lines }) => lines()), { timeout: 60_000, interval: 100 }).toEqual(all)
    for (const { end } of followers) {
      const events = await end()
      expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index))
      const told = events.map(({ record_id, version }) => `${record_id ?? account.accountId} ${version}`)
      expect(told.toSorted()).toEqual(entries.map(({ entry }) => entry).toSorted())
    }
    process.stderr.write(`${entries.length} entries, ${kills} kills\n`)
  })
})
