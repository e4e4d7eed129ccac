import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import postgres from 'postgres'
import { Agent, request } from 'undici'
import { describe, expect, inject, it } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { startServer } from '../support/server.ts'
import { newAccount } from '../support/service.ts'
import { newDatabase, randomFrom, tally } from './campaign.ts'
import { startMutatingProxy } from './mutating-proxy.ts'

const folder = useFolder()

/** By hand 100,000 (CONTRIBUTING). */
const count = Number(process.env['CONSENTCTL_TEST_MESSAGES'] || 1500)
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] || randomInt(2 ** 31))

/** Requests in flight. The service has ten connections. */
const lanes = 16

/** The share of messages that are damaged. A request gets three to seven. */
const rate = 0.1

/** Of a request: its five seconds, and what a busy machine adds. */
const deadlineMs = 7000
const restartMs = 10_000

interface Consent {
  readonly id: string
}

if (!inject('clusterUrl')) process.stderr.write('\n*** SKIPPED: damaged messages. No PostgreSQL found. ***\n\n')

describe.skipIf(!inject('clusterUrl'))('a database whose messages are damaged', { timeout: 7_200_000 }, () => {
  it(`when ${count} messages are damaged, every request ends in time, and no success is false`, async () => {
    process.stderr.write(`damaged messages: CONSENTCTL_TEST_SEED=${seed}\n`)
    const database = await newDatabase('consentctl_test_protocol')
    const url = new URL(database)
    const proxy = await startMutatingProxy(Number(url.port), randomFrom(seed))
    url.port = String(proxy.port)
    const port = await freePort()
    const args = ['--port', String(port), '--database-url', url.href]
    const env = { HOME: folder.path, LOG_LEVEL: 'silent' }
    let server = await startServer(args, env)
    let isOver = false
    const restarts: number[] = []
    const supervise = async () => {
      for (;;) {
        await once(server.child, 'exit')
        const startMs = performance.now()
        while (!isOver) {
          const next = await startServer(args, env).catch(() => null)
          if (next) server = next
          if (next) break
        }
        if (isOver) return
        restarts.push(performance.now() - startMs)
      }
    }
    const supervision = supervise()
    const sql = postgres(database, { max: 2, onnotice: () => {} })
    const { key, siteId } = await newAccount(sql)
    const agent = new Agent({ connections: lanes })
    const outcomes: string[] = []
    const late: string[] = []
    const send = async (method: 'GET' | 'POST', path: string, body?: object) => {
      const startMs = performance.now()
      const base = `http://127.0.0.1:${port}/api/v1/consents`
      const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) }
      const limitMs = deadlineMs + restartMs
      const result = await request(base + path, {
        ...{ method, headers, dispatcher: agent, headersTimeout: limitMs, bodyTimeout: limitMs },
        ...(body && { body: JSON.stringify(body) }),
      }).then(
        async ({ statusCode, body }) => ({ status: statusCode as number | string, json: await body.json() }),
        (error: { code?: string }) => ({ status: error.code ?? String(error), json: null }),
      )
      const elapsedMs = performance.now() - startMs
      if (elapsedMs > (typeof result.status === 'number' ? deadlineMs : limitMs))
        late.push(`${method} ${result.status} ${elapsedMs}`)
      outcomes.push(`${method} ${result.status}`)
      return result as { status: number | string; json: unknown }
    }

    const created: Consent[] = []
    const read: Consent[] = []
    const lists: { data: Consent[] }[] = []
    let [made, damaged] = [0, 0]
    const run = async () => {
      while (damaged < count) {
        made += 1
        const draft = { site_id: siteId, consent_id: `c-${made}`, accepted: made % 2 === 0, preferences: { n: made } }
        const { status, json } = await send('POST', '', draft)
        if (status === 201) created.push({ ...(json as Consent), ...draft })
        const known = created.at(-1 - Math.floor(Math.random() * Math.min(created.length, 50)))
        if (!known) continue
        const found = await send('GET', `/${known.id}`)
        if (found.status === 200) read.push(found.json as Consent)
        const listed = await send('GET', `?consent_id=${(known as unknown as { consent_id: string }).consent_id}`)
        if (listed.status === 200) lists.push(listed.json as { data: Consent[] })
        damaged = [...proxy.counts.values()].reduce((sum, one) => sum + one, 0)
      }
    }
    proxy.setRate(rate)
    await Promise.all(Array.from({ length: lanes }, run))
    proxy.setRate(0)
    isOver = true

    const stored = await sql`
      select id::text, consent_id, accepted, preferences, site_id::text from consents`
    const byId = new Map(stored.map(row => [row['id'] as string, row]))
    const isStored = (consent: Consent) => {
      const { id, consent_id, accepted, preferences, site_id } = consent as unknown as Record<string, unknown>
      const row = byId.get(String(id))
      return JSON.stringify({ ...row }) === JSON.stringify({ id, consent_id, accepted, preferences, site_id })
    }
    process.stderr.write(
      `${made} rounds, ${created.length} created, ${read.length} read; ${damaged} messages damaged:\n` +
        [...proxy.counts].map(([kind, number]) => `  ${number} × ${kind}\n`).join('') +
        tally(outcomes.sort()) +
        `${restarts.length} restarts\n`,
    )
    expect(created.filter(consent => !isStored(consent))).toEqual([])
    expect(read.filter(consent => !isStored(consent))).toEqual([])
    expect(lists.filter(({ data }) => data.length !== 1 || !data.every(isStored))).toEqual([])
    expect(late).toEqual([])
    expect(restarts.filter(ms => ms > restartMs)).toEqual([])
    expect(outcomes.filter(outcome => !/^(POST (201|500|503)|GET (200|500|503))$/.test(outcome))).toEqual([])

    server.child.kill('SIGKILL')
    await supervision
    await Promise.all([agent.destroy(), sql.end({ timeout: 1 })])
    await proxy.close()
  })
})
