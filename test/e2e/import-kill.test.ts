import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { createAccount, startServer } from '../support/server.ts'
import { databaseFor, isLongRun, killsOf } from './campaign.ts'
import { startHoldingProxy } from './holding-proxy.ts'
import { countsOf, linesOf, siteId, start, useImportInstance } from './import-instance.ts'

const folder = useFolder()
const records = useImportInstance()
const kills = killsOf(isLongRun ? 20 : 3)
const lines = Math.max(isLongRun ? 5000 : 600, 50 * kills)

type Env = Record<string, string | undefined>

interface Row {
  readonly line: number
  readonly result: string
  readonly id: string | null
}

const labels = Array.from({ length: lines }, (_, index) => `line-${index + 1}`)

/** Writes the file to import, and names a folder for the state. */
function prepare(name: string): { file: string; state: string } {
  const parent = join(folder.path, name)
  mkdirSync(parent)
  const file = join(parent, 'records.ndjson')
  writeFileSync(file, linesOf(labels))
  return { file, state: join(parent, 'state') }
}

/**
 * Imports a file through a proxy. Kills the import `kills` times, each time at a random moment while a request is held, and
 * resumes it. No run can end before it is killed, because the proxy holds its requests.
 */
async function killAndResume(instance: string, env: Env, args: readonly string[]) {
  const proxy = await startHoldingProxy(instance)
  const proxied = { ...env, CONSENTCTL_BASE_URL: proxy.url }
  try {
    for (let killed = 0; killed < kills; killed += 1) {
      const isBatch = killed % 2 === 1 // then one request has all lines
      const requests = isBatch ? 0 : Math.floor((Math.random() * lines) / (kills + 1))
      const isHeld = proxy.hold(requests, Math.random() < 0.5)
      const command = killed > 0 ? ['create', '--resume', 'last'] : ['create', ...args]
      const more = isBatch ? [] : ['--no-batch']
      const { child, ended } = start([...command, ...more, '-o', 'ndjson'], proxied)
      const isEnded = ended.then(end => Promise.reject(new Error(`ended before it was killed: ${end.stderr}`)))
      await Promise.race([isHeld, isEnded])
      await delay(Math.random() * 50)
      child.kill('SIGKILL')
      expect((await ended).signal).toBe('SIGKILL')
      expect(jobsIn(env), 'the job of a run that was killed').toHaveLength(1)
      proxy.release()
    }
    const { code, stdout, stderr } = await start(['create', '--resume', 'last', '-o', 'ndjson'], proxied).ended
    const rows = stdout.split('\n').filter(Boolean)
    return { code, stderr, rows: rows.map(row => JSON.parse(row) as Row) }
  } finally {
    proxy.close()
  }
}

function jobsIn(env: Env): string[] {
  return readdirSync(join(String(env['CONSENTCTL_STATE_DIR']), 'jobs')).filter(name => name.endsWith('.job'))
}

it(`create --file › when it is killed ${kills} times and resumed, creates one record for each of ${lines} lines`, async () => {
  const { file, state } = prepare('real')
  const database = await databaseFor('import_kill', folder.path)
  const surroundings = { HOME: folder.path, LOG_LEVEL: 'silent', ...database }
  const server = await startServer(['--port', String(await freePort())], surroundings)
  try {
    const account = await createAccount(['--email', 'k@example.com'], surroundings)
    const env = {
      HOME: folder.path,
      CONSENTCTL_API_KEY: account.api_key,
      CONSENTCTL_STATE_DIR: state,
    }
    const args = ['--file', file, '--site', account.site.id]
    const { code, stderr, rows } = await killAndResume(server.url, env, args)
    expect(code, stderr).toBe(0)
    const all = await allRecords(server.url, account.api_key)
    expect(countsOf(all.map(record => record.consent_id))).toEqual(countsOf(labels))
    const idOf = new Map(all.map(record => [record.consent_id, record.id]))
    expect(rows).toEqual(
      labels.map((label, index) => ({
        line: index + 1,
        result: 'created',
        id: idOf.get(label),
        error_code: null,
        message: null,
      })),
    )
    expect(jobsIn(env)).toEqual([])
  } finally {
    await server.end('SIGTERM')
  }
})

async function allRecords(url: string, key: string): Promise<{ id: string; consent_id: string }[]> {
  const records: { id: string; consent_id: string }[] = []
  for (let cursor = ''; ; ) {
    const answer = await fetch(`${url}/api/v1/consents?limit=100${cursor}`, {
      headers: { authorization: `Bearer ${key}` },
    })
    const page = (await answer.json()) as { data: typeof records; next_cursor: string | null }
    records.push(...page.data)
    if (page.next_cursor === null) return records
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }
}

it('create --file › when the instance has no Idempotency-Key, never creates a line twice, and reports each that may exist', async () => {
  Object.assign(records, { loss: 0.01, honours: false })
  const { file, state } = prepare('fake')
  const env = { HOME: folder.path, CONSENTCTL_API_KEY: 'sk-x', CONSENTCTL_STATE_DIR: state }
  const { code, stderr, rows } = await killAndResume(records.url, env, ['--file', file, '--site', siteId])
  const unknown = new Set(rows.filter(row => row.result === 'unknown').map(row => row.line))
  expect(rows.map(row => row.line)).toEqual(labels.map((_, index) => index + 1))
  expect(rows.filter(row => row.result === 'failed')).toEqual([])
  expect([...records.made].filter(([, count]) => count > 1)).toEqual([])
  const missing = labels.flatMap((label, index) => (records.made.has(label) ? [] : [index + 1]))
  expect(missing.filter(line => !unknown.has(line))).toEqual([])
  for (const { line, id, result } of rows) if (result === 'created') expect(id).toBe(`id-line-${line}`)
  // Unknown are those in flight at a kill, with some whose result was not written yet, and those whose answer was lost.
  expect(unknown.size).toBeLessThanOrEqual(kills * 16 + lines * 0.03)
  expect(code, stderr).toBe(unknown.size > 0 ? 11 : 0)
})
