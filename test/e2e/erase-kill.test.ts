import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { NewAccount } from '../../src/contract/server.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { freePort } from '../support/cluster.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { start } from './import-instance.ts'
import { isLong, randomFrom } from './rig.ts'

const folder = useFolder()
const [kills, records, siteCount] = isLong ? [50, 300, 5] : [6, 300, 5]
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000)
const random = randomFrom(seed)
let withReceipt = 0

let server: ServerProcess
let account: NewAccount
let sites: string[]
let env: Record<string, string>

beforeAll(async () => {
  const surroundings = { HOME: folder.path, LOG_LEVEL: 'silent' }
  const data = ['--data-dir', join(folder.path, 'data')]
  server = await startServer([...data, '--port', String(await freePort())], surroundings)
  account = await createAccount([...data, '--email', 'k@example.com'], surroundings)
  env = {
    HOME: folder.path,
    CONSENTCTL_BASE_URL: server.url,
    CONSENTCTL_API_KEY: account.api_key,
    CONSENTCTL_STATE_DIR: join(folder.path, 'state'),
  }
  const { CONSENTCTL_API_KEY: _, ...signing } = env
  sites = [account.site.id]
  for (let index = 1; index < siteCount; index += 1) {
    const args = [
      'sites',
      'create',
      '--name',
      `site ${index}`,
      '--email',
      'k@example.com',
      '--password-stdin',
      '--json=id,token',
    ]
    const { stdout, stderr } = await runBinary(args, { env: signing, stdin: `${account.user.password}\n` })
    expect(stderr).not.toContain('error')
    sites.push(JSON.parse(stdout).id)
  }
})
afterAll(() => server?.end('SIGTERM'))

/** Makes the records of a subject, evenly over the sites; their ids. */
async function makeRecords(subject: string): Promise<string[]> {
  const file = join(folder.path, `${subject}.ndjson`)
  const lines = Array.from({ length: records }, (_, index) => ({
    subject_id: subject,
    site_id: sites[index % siteCount],
  }))
  writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  const { code, stdout, stderr } = await runBinary(['create', '--file', file, '-q'], { env })
  expect(code, stderr).toBe(0)
  return stdout.trim().split('\n')
}

const namesIn = (...path: string[]) => {
  try {
    return readdirSync(join(folder.path, 'state', ...path))
  } catch {
    return []
  }
}
const journals = () => namesIn('erasures').filter(name => /^[\da-f-]{36}\.job$/.test(name))
const receipts = () => namesIn('receipts', 'default').filter(name => name.endsWith('.json'))

/** Changes as soon as a run writes its journal, or a receipt is there. */
function progress(): string {
  const sizes = journals().map(
    name =>
      `${name}:${statSync(join(folder.path, 'state', 'erasures', name), { throwIfNoEntry: false })?.size}`,
  )
  return [...sizes, ...receipts()].join()
}

/** Erases a subject, killed at random moments until the job is over, or there were enough; how often it was. */
async function eraseKilled(subject: string, most: number): Promise<number> {
  const before = receipts().length
  let killed = 0
  for (;;) {
    const isResumed = journals().length > 0
    const args = isResumed
      ? ['resume', 'last']
      : ['erase', subject, '--ticket', 'T-1', '--confirm', String(records)]
    const then = progress()
    const { child, ended } = start(['subject', ...args, '-o', 'ndjson'], env)
    if (killed < most) {
      const kind = isLong ? random() : killed / most
      const isBegun = () => (kind < 0.8 ? progress() !== then : receipts().length > before)
      while (child.exitCode === null && !isBegun()) await delay(1)
      await delay(random() * (kind < 0.6 ? 60 : kind < 0.8 ? 400 : 3)) // early, late, and as the receipt is made
      child.kill('SIGKILL')
    }
    const { code, signal, stderr } = await ended
    if (signal === 'SIGKILL') {
      killed += 1
      if (journals().length > 0 && receipts().length > before) withReceipt += 1
    } else if (!stderr.includes('not_begun')) expect(code, `seed ${seed}: ${stderr}`).toBe(0)
    if (journals().length === 0 && receipts().length > before) return killed
  }
}

it(
  `subject erase deletes ${records} records on ${siteCount} sites exactly once, killed ${kills} times, with one receipt a job`,
  async () => {
    process.stderr.write(`erase-kill: seed ${seed}\n`)
    let killed = 0
    let round = 0
    while (killed < kills || round === 0) {
      round += 1
      const subject = `maria-${round}`
      const ids = await makeRecords(subject)
      killed += await eraseKilled(subject, kills - killed)
      await requireErasedOnce(subject, ids, round)
    }
    process.stderr.write(
      `erase-kill: ${killed} kills in ${round} rounds, ${withReceipt} of them between receipt and journal\n`,
    )
  },
  isLong ? 900_000 : 120_000,
)

async function requireErasedOnce(subject: string, ids: readonly string[], round: number): Promise<void> {
  expect(receipts()).toHaveLength(round)
  expect(journals()).toEqual([])
  const { stdout } = await runBinary(['subject', 'receipts', 'last'], { env })
  const receipt = JSON.parse(stdout)
  expect(receipt.counts).toEqual({ deleted: records, already_gone: 0, deleted_in_bulk: 0, unknown: 0 })
  expect(receipt.sites.map((site: { deleted: number }) => site.deleted)).toEqual(
    sites.map(() => records / siteCount),
  )
  expect(receipt.records.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort())
  for (const record of receipt.records)
    expect(record).toMatchObject({ result: 'deleted', deleted_at: expect.any(String) })
  expect(receipt.verification).toMatchObject({ live: 0, deleted: records })
  for (let at = 0; at < ids.length; at += 8) {
    const deletions = await Promise.all(ids.slice(at, at + 8).map(deletionsOf))
    expect(deletions.filter(count => count !== 1)).toEqual([])
  }
  const verified = await runBinary(['subject', 'verify', 'last', '--live', '--subject', subject], { env })
  expect(verified.code, verified.stdout).toBe(0)
}

/** How many deletions the history of a record tells of. */
async function deletionsOf(id: string): Promise<number> {
  const answer = await fetch(`${server.url}/api/v1/consents/${id}/history`, {
    headers: { authorization: `Bearer ${account.api_key}` },
  })
  const { data } = (await answer.json()) as { data: { action: string }[] }
  return data.filter(({ action }) => action === 'deleted').length
}
