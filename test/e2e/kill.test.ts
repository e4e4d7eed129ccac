import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { isLongRun, newDatabase } from './campaign.ts'
import { newLedger, write } from './ledger.ts'
import { findContradictions } from './ledger-check.ts'

const folder = useFolder()
const clients = 16
const databaseName = 'consentctl_test_kill'

const engines = [
  { name: 'the embedded database', kills: isLongRun ? 20 : 4, args: () => ['--data-dir', join(folder.path, 'data')] },
  ...(inject('clusterUrl')
    ? [
        {
          name: 'a real PostgreSQL',
          kills: isLongRun ? 20 : 10,
          args: () => ['--database-url', `${inject('clusterUrl')}/${databaseName}`],
        },
      ]
    : []),
]

describe.each(engines)('server killed by SIGKILL under load, on $name', ({ args, kills }) => {
  const env = () => ({ HOME: folder.path, LOG_LEVEL: 'silent' })
  let server: ServerProcess

  beforeAll(async () => {
    if (inject('clusterUrl')) await newDatabase(databaseName)
  })
  afterAll(async () => {
    await server.end('SIGKILL')
  })

  it(`in ${kills} kills, loses no acknowledged write, applies none twice, and keeps records and histories consistent`, async () => {
    const port = String(await freePort())
    const start = () => startServer([...args(), '--port', port], env())
    server = await start()
    const account = await createAccount([...args(), '--email', 'k@example.com'], env())
    const target = {
      url: server.url,
      accountId: account.account_id,
      key: account.api_key,
      siteId: account.site.id,
    }
    const ledger = newLedger()
    let isOver = false
    const writing = write(target, ledger, { clients }, () => isOver)
    for (let kill = 0; kill < kills; kill += 1) {
      await delay(200 + Math.random() * 600)
      await server.end('SIGKILL')
      server = await start()
    }
    isOver = true
    await writing

    const [flag, place = ''] = args()
    const sql = connect({ target: flag === '--data-dir' ? { folder: place } : { url: place }, max: 1 })
    expect(await findContradictions(target, sql, ledger)).toEqual([])
    await sql.end()
    const acknowledged = ledger.requests.filter(({ name, status }) => name === 'create' && status === 201)
    expect(acknowledged.length).toBeGreaterThan(clients)
    expect(ledger.requests.filter(({ status, isExpected }) => status > 0 && !isExpected)).toEqual([])
  })
})
