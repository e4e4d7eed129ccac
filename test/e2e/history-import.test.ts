import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { ImportReceipt } from '../../src/contract/documents/import-receipt.ts'
import { runBinary, start, useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor, killsOf } from './campaign.ts'
import { startHoldingProxy } from './holding-proxy.ts'

const folder = useFolder()
const persons = Number(process.env['CONSENTCTL_TEST_IMPORTED'] ?? 600)
const isLong = persons > 5000
const kills = killsOf(isLong ? 20 : 3)
const knownBefore = Math.floor(persons / 5)
/** Every tenth person has answered again. */
const changedEvery = 10

const map = {
  system: 'crm',
  container: { kind: 'csv' },
  rows: 'answer',
  fields: { origin_id: 'person', given_at: 'at', accepted: 'answer', subject_id: 'person', consent_id: 'person' },
  time: { formats: ['rfc3339'] },
  accepted: { values: { yes: 'yes', no: 'no', seen: 'left_out' } },
}

function rowsOf(person: number): string {
  const row = (answer: string, day: number) =>
    `person-${person},2024-03-${String(day).padStart(2, '0')}T09:00:00Z,${answer}\n`
  return row('yes', 1 + (person % 20)) + (person % changedEvery === 0 ? row('no', 25) : '')
}

function writeRows(name: string, count: number, more = ''): string {
  const path = join(folder.path, name)
  const rows = Array.from({ length: count }, (_, person) => rowsOf(person))
  writeFileSync(path, `person,at,answer\n${rows.join('')}${more}`)
  return path
}

/** The service as a process on a database of its own, and an account with a key that may import. */
async function startService() {
  const database = await databaseFor('history_import', folder.path)
  const env = { HOME: folder.path, LOG_LEVEL: 'silent', WATCHDOG_SECONDS: '60', ...database }
  const port = String(await freePort())
  const serve = () => startServer(['--port', port], env)
  const server = await serve()
  const { user, site } = await createAccount(['--email', 'h@example.com'], env)
  const args = ['--email', user.email, '--password-stdin', '--name', 'import', '--scope', 'import,read', '--json']
  const made = await runBinary(['keys', 'create', ...args], {
    env: { HOME: folder.path, CONSENTCTL_BASE_URL: server.url },
    stdin: user.password ?? '',
  })
  return { server, serve, site: site.id, key: (JSON.parse(made.stdout) as { key: string }).key }
}

it(`import › when client and server are killed ${kills} times, creates one record for each of ${persons} persons and signs a receipt that matches the database`, {
  timeout: 60_000 + persons * 30 + kills * 3000,
}, async () => {
  const { server: first, serve, site, key } = await startService()
  let server: ServerProcess = first
  const proxy = await startHoldingProxy(server.url)
  const state = join(folder.path, 'state')
  const env = {
    HOME: folder.path,
    CONSENTCTL_BASE_URL: proxy.url,
    CONSENTCTL_API_KEY: key,
    CONSENTCTL_STATE_DIR: state,
  }
  try {
    writeFileSync(join(folder.path, 'map.json'), JSON.stringify(map))
    const flags = `--from csv --map ${join(folder.path, 'map.json')} --site ${site} --policy-version 2 --yes`.split(' ')
    const earlier = await runBinary(['import', writeRows('earlier.csv', knownBefore), ...flags, '--json'], { env })
    expect(earlier, earlier.stderr).toMatchObject({ code: 0 })
    expect(JSON.parse(earlier.stdout)).toMatchObject({ number: 1, made: knownBefore, known: 0 })

    const receiptFile = join(folder.path, 'receipt.json')
    const file = writeRows('people.csv', persons, 'person-x,2024-03-01T09:00:00Z,seen\nperson-y,yesterday,yes\n')
    const jobs = () => readdirSync(join(state, 'jobs')).filter(name => name.endsWith('.job'))
    const resume = ['import', '--resume', 'last', '--receipt-out', receiptFile]
    const requests = () => (isLong ? Math.floor((Math.random() * persons) / 500 / kills) : 0)
    let isHeld = proxy.hold(requests(), Math.random() < 0.5)
    const refusedFile = join(folder.path, 'refused.ndjson')
    let run = start(['import', file, ...flags, '--receipt-out', receiptFile, '--refused-out', refusedFile], env)
    for (let killed = 1; killed <= kills; ) {
      const ended = await Promise.race([isHeld.then(() => null), run.ended])
      if (ended) {
        expect(ended.code, `ended before it was killed: ${ended.stderr}`).toBe(7) // the service took too long to start
        run = start(resume, env)
        continue
      }
      await delay(Math.random() * 50)
      if (killed % 3 === 2) {
        await server.end('SIGKILL')
        server = await serve()
        proxy.release()
      } else {
        run.child.kill('SIGKILL')
        expect((await run.ended).signal).toBe('SIGKILL')
        expect(jobs(), 'the job of a run that was killed').toHaveLength(1)
        proxy.release()
        run = start(resume, env)
      }
      killed += 1
      if (killed <= kills) isHeld = proxy.hold(requests(), Math.random() < 0.5)
    }
    let { code, stderr } = await run.ended
    while (code === 7) ({ code, stderr } = await start(resume, env).ended)
    expect(code, stderr).toBe(8) // one row is refused
    const receipt = JSON.parse(readFileSync(receiptFile, 'utf8')) as ImportReceipt
    const changes = Math.ceil(persons / changedEvery)
    const counts = { read: persons + changes + 2, records: persons, changes, merged: 0, duplicates: 0 }
    expect(receipt.rows).toEqual({ ...counts, left_out: 1, refused: 1 })
    expect(readFileSync(refusedFile, 'utf8')).toMatch(/^\{"where":"\S+","rows":1,"origin_id":"person-y",.*\}\n$/)
    const records = await allRecords(server.url, key)
    expect(records.map(record => record.origin.id).sort()).toEqual(
      Array.from({ length: persons }, (_, person) => `person-${person}`).sort(),
    )
    const known = records.filter(record => record.created_at < receipt.began_at).length
    expect(known).toBe(knownBefore)
    const { made, made_unanswered } = receipt.records
    expect(receipt.records).toEqual({ made: persons - known, made_unanswered, known, refused: 0 })
    process.stderr.write(`${persons} persons, ${kills} kills: ${made} made, ${made_unanswered} of them unanswered\n`)
    expect(receipt).toMatchObject({ number: 2, site_id: site, first_given_at: '2024-03-01T09:00:00.000Z' })
    const verified = await runBinary(['verify', receiptFile, '--json'], { env })
    expect(verified, verified.stdout).toMatchObject({ code: 0 })
    expect(readdirSync(join(state, 'jobs'))).toEqual([])
  } finally {
    proxy.close()
    await server.end('SIGTERM')
  }
})

interface ImportedRecord {
  readonly created_at: string
  readonly origin: { readonly id: string }
}

async function allRecords(url: string, key: string): Promise<ImportedRecord[]> {
  const answer = await fetch(`${url}/api/v1/consents?imported=true`, {
    headers: { authorization: `Bearer ${key}`, accept: 'application/x-ndjson' },
  })
  const pages = (await answer.text()).trimEnd().split('\n')
  return pages.flatMap(page => (JSON.parse(page) as { data: ImportedRecord[] }).data)
}
