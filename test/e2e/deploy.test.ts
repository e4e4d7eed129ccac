import { setTimeout as delay } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { newAccount } from '../support/service.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { isLongRun, newDatabase, tally } from './campaign.ts'
import { newLedger, write } from './ledger.ts'
import { findContradictions } from './ledger-check.ts'
import { type Nodes, startNodes } from './nodes.ts'

const folder = useFolder()
const stops = isLongRun ? 50 : 3
let sql: Sql
let nodes: Nodes
let balancer: Balancer

if (!inject('clusterUrl')) {
  process.stderr.write('\n*** SKIPPED: deploys of two nodes. No PostgreSQL found. ***\n\n')
}

describe.skipIf(!inject('clusterUrl'))(
  'rolling restart of two nodes behind a load balancer',
  { timeout: 600_000 },
  () => {
    beforeAll(async () => {
      const url = await newDatabase('consentctl_test_deploy')
      sql = postgres(url, { max: 4, onnotice: () => {} })
      nodes = await startNodes(2, url, { HOME: folder.path, LOG_LEVEL: 'silent' })
      balancer = await startBalancer(nodes.urls)
      await Promise.all(nodes.urls.map(node => balancer.knows(node, true)))
    })
    afterAll(async () => {
      await balancer?.close()
      await nodes?.end()
      await sql?.end({ timeout: 1 })
    })

    it(`when each is restarted ${stops} times in turn under load, no request fails`, async () => {
      const target = { url: balancer.url, ...(await newAccount(sql)) }
      const ledger = newLedger()
      let isOver = false
      const writing = write(target, ledger, { clients: 32, pause: isLongRun ? 30 : 100 }, () => isOver)
      const times: number[] = []
      for (let stop = 0; stop < stops; stop += 1) {
        await delay(300 * Math.random())
        const node = stop % 2
        const start = performance.now()
        expect(await nodes.stop(node, 'SIGTERM')).toBe(0)
        times.push(Math.round(performance.now() - start))
        await balancer.knows(nodes.urls[node] ?? '', false)
        await nodes.start(node)
        await balancer.knows(nodes.urls[node] ?? '', true)
      }
      isOver = true
      await writing
      const wrong = ledger.requests.filter(({ isExpected }) => !isExpected)
      process.stderr.write(
        `${stops} stops, ${ledger.requests.length} requests, ${wrong.length} errors, ` +
          `${balancer.refusals()} refused connections; a stop took ${Math.min(...times)} to ${Math.max(...times)} ms\n` +
          tally(balancer.losses.map(loss => JSON.stringify(loss))),
      )
      expect(tally(wrong.map(({ name, status, responseBody }) => `${name} ${status} ${responseBody}`))).toBe('')
      expect(Math.max(...times)).toBeLessThan(10_000)
      expect(await findContradictions(target, sql, ledger)).toEqual([])
    })
  },
)
