import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { type Ledger, write } from './ledger.ts'

const folder = useFolder()
const kills = 10
const clients = 16
const databaseName = 'consentctl_test_kill'

const engines = [
  { name: 'the embedded database', args: () => ['--data-dir', join(folder.path, 'data')] },
  ...(inject('clusterUrl')
    ? [
        {
          name: 'a real PostgreSQL',
          args: () => ['--database-url', `${inject('clusterUrl')}/${databaseName}`],
        },
      ]
    : []),
]

describe.each(engines)('SIGKILL of the server under load, on $name', ({ args }) => {
  const ledger: Ledger = { invoked: new Set(), acknowledged: new Map() }
  const env = () => ({ HOME: folder.path, LOG_LEVEL: 'silent' })
  let server: ServerProcess

  beforeAll(async () => {
    if (!inject('clusterUrl')) return
    const admin = postgres(`${inject('clusterUrl')}/postgres`, { max: 1, onnotice: () => {} })
    await admin`drop database if exists ${admin(databaseName)} with (force)`
    await admin`create database ${admin(databaseName)}`
    await admin.end()
  })
  afterAll(async () => {
    await server.end('SIGKILL')
  })

  it(`loses no acknowledged record in ${kills} kills, and record and history agree`, async () => {
    const port = String(await freePort())
    const start = () => startServer([...args(), '--port', port], env())
    server = await start()
    const account = await createAccount([...args(), '--email', 'k@example.com'], env())
    let isOver = false
    const target = { url: server.url, key: account.api_key, siteId: account.site.id }
    const writing = write(target, ledger, clients, () => isOver)
    for (let kill = 0; kill < kills; kill += 1) {
      await delay(200 + Math.random() * 600)
      await server.end('SIGKILL')
      server = await start()
    }
    isOver = true
    await writing

    const own = { ...env(), CONSENTCTL_BASE_URL: server.url, CONSENTCTL_API_KEY: account.api_key }
    const listed = await runBinary(['list', '-o', 'ndjson'], { env: own })
    const records = listed.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { id: string; consent_id: string })
    const stored = new Map(records.map(({ consent_id, id }) => [consent_id, id]))
    expect(stored.size).toBe(records.length)
    expect([...ledger.acknowledged].filter(([label, id]) => stored.get(label) !== id)).toEqual([])
    expect([...stored.keys()].filter(label => !ledger.invoked.has(label))).toEqual([])
    expect(ledger.acknowledged.size).toBeGreaterThan(100)
    expect(await disagreements(args())).toEqual([])
  })
})

/** The records whose head is not the hash of the last entry of a gapless history. */
async function disagreements(args: string[]): Promise<unknown[]> {
  const [flag, place = ''] = args
  const sql = connect({ target: flag === '--data-dir' ? { folder: place } : { url: place }, max: 1 })
  const rows = await sql`
    select c.id from consents c left join consent_history h on h.account_id = c.account_id and h.consent_id = c.id
    group by c.account_id, c.id
    having count(h.version) <> c.version or max(h.version) <> c.version
      or (array_agg(h.hash order by h.version desc))[1] <> c.chain_head`
  await sql.end()
  return [...rows]
}
