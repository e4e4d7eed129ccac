import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { NewAccount } from '../../src/contract/server.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor, isLongRun, killsOf, randomFrom } from './campaign.ts'
import { start } from './import-instance.ts'

const folder = useFolder()
const kills = killsOf(isLongRun ? 50 : 4)
const [people, recordsEach] = isLongRun ? [200, 10] : [8, 5]
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000)
const random = randomFrom(seed)

let server: ServerProcess
let account: NewAccount
let env: Record<string, string>

beforeAll(async () => {
  const database = await databaseFor('erase_file_kill', folder.path)
  const surroundings = { HOME: folder.path, LOG_LEVEL: 'silent', ...database }
  server = await startServer(['--port', String(await freePort())], surroundings)
  account = await createAccount(['--email', 'k@example.com'], surroundings)
  env = {
    HOME: folder.path,
    CONSENTCTL_BASE_URL: server.url,
    CONSENTCTL_API_KEY: account.api_key,
    CONSENTCTL_SITE: account.site.id,
    CONSENTCTL_STATE_DIR: join(folder.path, 'state'),
  }
})
afterAll(() => server?.end('SIGTERM'))

const namesIn = (...path: string[]) => allIn(...path).filter(name => /\.(job|json)$/.test(name))

/** With all runs of each job. */
const allIn = (...path: string[]) => {
  try {
    return readdirSync(join(folder.path, 'state', ...path))
  } catch {
    return []
  }
}

/** A text that changes when a run writes a job or a receipt. */
function progress(): string {
  const sizes = ['erasures', 'erasure-batches'].flatMap(kind =>
    allIn(kind).map(
      name => `${name} ${statSync(join(folder.path, 'state', kind, name), { throwIfNoEntry: false })?.size}`,
    ),
  )
  return [...sizes, ...namesIn('receipts', 'default')].join()
}

it(
  `subject erase --file deletes ${people * recordsEach} records of ${people} people exactly once, killed ${kills} times, with one receipt a person`,
  async () => {
    const subjects = Array.from({ length: people }, (_, index) => `person-${index}`)
    const lines = subjects.flatMap(subject => Array(recordsEach).fill(`{"subject_id":"${subject}"}\n`) as string[])
    const [records, csv] = [join(folder.path, 'records.ndjson'), join(folder.path, 'requests.csv')]
    writeFileSync(records, lines.join(''))
    writeFileSync(csv, `ticket,identifier\n${subjects.map((subject, index) => `DSR-${index},${subject}\n`).join('')}`)
    const created = await runBinary(['create', '--file', records, '-q'], { env })
    const ids = created.stdout.trim().split('\n')
    expect(ids).toHaveLength(people * recordsEach)

    const finish = ['erase', '--file', csv, '--confirm', String(ids.length)]
    for (let killed = 0, isDone = false; !isDone; ) {
      const isBegun = namesIn('erasure-batches').length > 0
      const then = progress()
      const { child, ended } = start(['subject', ...(isBegun ? ['resume', 'last'] : finish)], env)
      if (killed < kills) {
        while (child.exitCode === null && progress() === then) await delay(1)
        await delay(random() * 60)
        child.kill('SIGKILL')
      }
      const { code, signal, stderr } = await ended
      if (signal === 'SIGKILL') killed += 1
      else if (!stderr.includes('not_begun')) expect(code, `seed ${seed}: ${stderr}`).toBe(0)
      isDone = namesIn('erasure-batches').length === 0 && namesIn('receipts', 'default').length > 0
    }

    expect(namesIn('erasures')).toEqual([])
    const receipts = namesIn('receipts', 'default').map(name =>
      JSON.parse(readFileSync(join(folder.path, 'state', 'receipts', 'default', name), 'utf8')),
    )
    expect(receipts.map(({ ticket }) => ticket).sort()).toEqual(subjects.map((_, index) => `DSR-${index}`).sort())
    for (const receipt of receipts) expect(receipt.counts).toMatchObject({ deleted: recordsEach, unknown: 0 })
    for (const id of ids) expect(await deletionsOf(id)).toBe(1)
    expect((await runBinary(['subject', 'verify', 'last', '--live'], { env })).code).toBe(0)
  },
  isLongRun ? 900_000 : 60_000,
)

/** Counts the deletions in the history of a record. */
async function deletionsOf(id: string): Promise<number> {
  const headers = { authorization: `Bearer ${account.api_key}` }
  const answer = await fetch(`${server.url}/api/v1/consents/${id}/history`, { headers })
  const { data } = (await answer.json()) as { data: { action: string }[] }
  return data.filter(({ action }) => action === 'deleted').length
}
