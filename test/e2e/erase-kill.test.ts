import { once } from 'node:events'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NewAccount } from '../../src/contract/server.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor, isLongRun, randomFrom } from './campaign.ts'
import { start } from './import-instance.ts'

const folder = useFolder()
const [kills, records, siteCount] = isLongRun ? [50, 300, 5] : [6, 300, 5]
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000)
const random = randomFrom(seed)
let withReceipt = 0
const timeoutMs = isLongRun ? 900_000 : 120_000

let server: ServerProcess
let account: NewAccount
let sites: string[]
let env: Record<string, string>

beforeAll(async () => {
  const database = await databaseFor('erase_kill', folder.path)
  const surroundings = { HOME: folder.path, LOG_LEVEL: 'silent', ...database }
  server = await startServer(['--port', String(await freePort())], surroundings)
  account = await createAccount(['--email', 'k@example.com'], surroundings)
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

/** A proxy of the service that hides its own erasure of subjects, so that records are deleted one by one. */
async function startRecordProxy(): Promise<{ url: string; proxy: Server }> {
  const proxy = createServer(async (request, response) => {
    if (request.url === '/api/v1/openapi.json') {
      const answer = await fetch(`${server.url}${request.url}`)
      const description = (await answer.json()) as { paths: Record<string, unknown> }
      delete description.paths['/api/v1/subjects/erase']
      response.setHeader('content-type', 'application/json').end(JSON.stringify(description))
      return
    }
    const { method, headers } = request
    const forwarded = httpRequest(`${server.url}${request.url}`, { method, headers }, received => {
      response.writeHead(received.statusCode ?? 502, received.headers)
      received.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, proxy }
}

/** Creates the records of a subject, evenly over the sites, and returns their ids. */
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

/** Returns a text that changes when a run writes its journal or its receipt. */
function progress(): string {
  const sizes = journals().map(
    name => `${name}:${statSync(join(folder.path, 'state', 'erasures', name), { throwIfNoEntry: false })?.size}`,
  )
  return [...sizes, ...receipts()].join()
}

/** Erases a subject, killed at random moments at most `most` times until the job is done. Returns the number of kills. */
async function eraseKilled(subject: string, most: number): Promise<number> {
  const before = receipts().length
  let killed = 0
  for (;;) {
    const isResumed = journals().length > 0
    const args = isResumed ? ['resume', 'last'] : ['erase', subject, '--ticket', 'T-1', '--confirm', String(records)]
    const then = progress()
    const { child, ended } = start(['subject', ...args, '-o', 'ndjson'], env)
    if (killed < most) {
      const kind = isLongRun ? random() : killed / most
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

describe(`subject erase deletes ${records} records on ${siteCount} sites exactly once, killed ${kills} times, with one receipt a job`, () => {
  let proxy: Server | undefined
  afterAll(() => {
    proxy?.closeAllConnections()
    proxy?.close()
  })

  it('if the service erases subjects itself', () => runCampaign('maria', { certificates: true }), timeoutMs)

  it(
    'if it deletes record by record',
    async () => {
      const started = await startRecordProxy()
      proxy = started.proxy
      const direct = env
      env = { ...direct, CONSENTCTL_BASE_URL: started.url }
      try {
        await runCampaign('ana', { certificates: false })
      } finally {
        env = direct
      }
    },
    timeoutMs,
  )
})

/** Erases subjects until there were enough kills. */
async function runCampaign(name: string, expected: { certificates: boolean }): Promise<void> {
  process.stderr.write(`erase-kill: seed ${seed}\n`)
  const before = receipts().length
  let killed = 0
  let round = 0
  withReceipt = 0
  while (killed < kills || round === 0) {
    round += 1
    const subject = `${name}-${round}`
    const ids = await makeRecords(subject)
    killed += await eraseKilled(subject, kills - killed)
    const receipt = await requireErasedOnce(subject, ids, before + round)
    expect(receipt.certificates.length > 0).toBe(expected.certificates)
  }
  process.stderr.write(
    `erase-kill: ${killed} kills in ${round} rounds, ${withReceipt} of them between receipt and journal\n`,
  )
}

/** Returns the newest receipt. */
async function requireErasedOnce(subject: string, ids: readonly string[], receiptCount: number) {
  expect(receipts()).toHaveLength(receiptCount)
  expect(journals()).toEqual([])
  const { stdout } = await runBinary(['subject', 'receipts', 'last'], { env })
  const receipt = JSON.parse(stdout)
  expect(receipt.counts).toEqual({ deleted: records, already_gone: 0, unknown: 0 })
  expect(receipt.sites.map((site: { deleted: number }) => site.deleted)).toEqual(sites.map(() => records / siteCount))
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
  return receipt
}

/** Counts the deletions in the history of a record. */
async function deletionsOf(id: string): Promise<number> {
  const answer = await fetch(`${server.url}/api/v1/consents/${id}/history`, {
    headers: { authorization: `Bearer ${account.api_key}` },
  })
  const { data } = (await answer.json()) as { data: { action: string }[] }
  return data.filter(({ action }) => action === 'deleted').length
}
