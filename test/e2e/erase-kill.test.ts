import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest, type Server } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runBinary, start } from '../support/cli.ts'
import { close, listen } from '../support/net.ts'
import { isLongRun, killsOf, randomFrom } from './campaign.ts'
import { useServed } from './served.ts'

const served = useServed('erase_kill', { env: { LOG_LEVEL: 'silent' } })
const kills = killsOf(isLongRun ? 50 : 5)
const [records, siteCount] = [300, 5]
const [people, recordsEach] = isLongRun ? [200, 10] : [8, 5]
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000)
const random = randomFrom(seed)
const timeout = isLongRun ? 900_000 : 120_000
let sites: string[]

beforeAll(async () => {
  process.stderr.write(`erase-kill: seed ${seed}\n`)
  const { account, url } = served
  const headers = { 'content-type': 'application/json', origin: url }
  const { email, password } = account.user
  const post = (path: string, body: object, more = {}) =>
    fetch(`${url}/api/v1/${path}`, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) })
  const cookie = (await post('session', { email, password })).headers.get('set-cookie')?.split(';')[0]
  sites = [account.site.id]
  for (let index = 1; index < siteCount; index += 1) {
    const made = await post('sites', { name: `site ${index}` }, { cookie })
    sites.push(((await made.json()) as { id: string }).id)
  }
})

/** Starts a proxy of the service that hides its own erasure of subjects, so that records are deleted one by one. */
async function startRecordProxy(): Promise<{ url: string; proxy: Server }> {
  const proxy = createServer(async (request, response) => {
    const target = `${served.url}${request.url}`
    if (request.url === '/api/v1/openapi.json') {
      const description = (await (await fetch(target)).json()) as { paths: Record<string, unknown> }
      delete description.paths['/api/v1/subjects/erase']
      response.setHeader('content-type', 'application/json').end(JSON.stringify(description))
      return
    }
    const { method, headers } = request
    const forwarded = httpRequest(target, { method, headers }, received => {
      response.writeHead(received.statusCode ?? 502, received.headers)
      received.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  return { url: await listen(proxy), proxy }
}

/** Creates records, and returns their ids. */
async function makeRecords(name: string, lines: readonly object[]): Promise<string[]> {
  const file = join(served.folder.path, `${name}.ndjson`)
  writeFileSync(file, lines.map(line => `${JSON.stringify(line)}\n`).join(''))
  const { code, stdout, stderr } = await served.run('create', '--file', file, '-q')
  expect(code, stderr).toBe(0)
  return stdout.trim().split('\n')
}

const stateOf = (...path: string[]) => join(served.folder.path, 'state', ...path)
const namesIn = (...path: string[]) => {
  try {
    return readdirSync(stateOf(...path))
  } catch {
    return []
  }
}
const receipts = () => namesIn('receipts', 'default').filter(name => name.endsWith('.json'))
const jobs = () => namesIn('erasures').filter(name => name.endsWith('.job'))

/** Returns a text that changes when a run writes a job or a receipt. */
function progress(): string {
  const sizes = namesIn('erasures').map(
    name => `${name} ${statSync(stateOf('erasures', name), { throwIfNoEntry: false })?.size}`,
  )
  return [...sizes, ...receipts()].join()
}

/** Runs an erasure, killed at random moments at most `most` times, and resumes it until it is done. Returns the number of kills. */
async function eraseKilled(erase: readonly string[], env: Record<string, string>, most: number): Promise<number> {
  const before = receipts().length
  for (let killed = 0; ; ) {
    const args = jobs().length > 0 ? ['resume', 'last'] : erase
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
    if (signal === 'SIGKILL') killed += 1
    else if (!stderr.includes('not_begun')) expect(code, `seed ${seed}: ${stderr}`).toBe(0)
    if (jobs().length === 0 && receipts().length > before) return killed
  }
}

async function expectDeletedOnce(ids: readonly string[]): Promise<void> {
  const headers = { authorization: `Bearer ${served.account.api_key}` }
  const deletionsOf = async (id: string) => {
    const answer = await fetch(`${served.url}/api/v1/consents/${id}/history`, { headers })
    const { data } = (await answer.json()) as { data: { action: string }[] }
    return data.filter(({ action }) => action === 'deleted').length
  }
  for (let at = 0; at < ids.length; at += 8) {
    const deletions = await Promise.all(ids.slice(at, at + 8).map(deletionsOf))
    expect(deletions.filter(count => count !== 1)).toEqual([])
  }
}

describe(`subject erase deletes ${records} records on ${siteCount} sites exactly once, killed ${kills} times, with one receipt per job`, () => {
  let proxy: Server | undefined
  afterAll(() => proxy && close(proxy))

  it('when the service erases subjects itself', { timeout }, () => runCampaign('maria', served.client, true))

  it('when it deletes record by record', { timeout }, async () => {
    const started = await startRecordProxy()
    proxy = started.proxy
    await runCampaign('ana', { ...served.client, CONSENTCTL_BASE_URL: started.url }, false)
  })
})

/** Erases subjects until there were enough kills. */
async function runCampaign(name: string, env: Record<string, string>, hasCertificates: boolean): Promise<void> {
  const before = receipts().length
  for (let killed = 0, round = 0; killed < kills || round === 0; ) {
    round += 1
    const subject_id = `${name}-${round}`
    const lines = Array.from({ length: records }, (_, index) => ({ subject_id, site_id: sites[index % siteCount] }))
    const ids = await makeRecords(subject_id, lines)
    killed += await eraseKilled(
      ['erase', subject_id, '--ticket', 'T-1', '--confirm', String(records)],
      env,
      kills - killed,
    )
    expect(receipts()).toHaveLength(before + round)
    const { stdout } = await runBinary(['subject', 'receipts', 'last'], { env })
    const receipt = JSON.parse(stdout)
    expect(receipt.counts).toEqual({ deleted: records, already_gone: 0, unknown: 0 })
    expect(receipt.sites.map((site: { deleted: number }) => site.deleted)).toEqual(sites.map(() => records / siteCount))
    expect(receipt.records.map(({ id }: { id: string }) => id).sort()).toEqual([...ids].sort())
    for (const record of receipt.records)
      expect(record).toMatchObject({ result: 'deleted', deleted_at: expect.any(String) })
    expect(receipt.verification).toMatchObject({ live: 0, deleted: records })
    expect(receipt.certificates.length > 0).toBe(hasCertificates)
    await expectDeletedOnce(ids)
    const verified = await runBinary(['subject', 'verify', 'last', '--live', '--subject', subject_id], { env })
    expect(verified.code, verified.stdout).toBe(0)
  }
}

it(`subject erase --file deletes ${people * recordsEach} records of ${people} people exactly once, killed ${kills} times, with one receipt per person`, {
  timeout,
}, async () => {
  const before = receipts()
  const subjects = Array.from({ length: people }, (_, index) => `person-${index}`)
  const lines = subjects.flatMap(subject_id => Array.from({ length: recordsEach }, () => ({ subject_id })))
  const ids = await makeRecords('people', lines)
  const file = join(served.folder.path, 'requests.csv')
  writeFileSync(file, `ticket,identifier\n${subjects.map((subject, index) => `DSR-${index},${subject}\n`).join('')}`)
  await eraseKilled(['erase', '--file', file, '--confirm', String(ids.length)], served.client, kills)
  const made = receipts()
    .filter(name => !before.includes(name))
    .map(name => JSON.parse(readFileSync(stateOf('receipts', 'default', name), 'utf8')))
  expect(made.map(({ ticket }) => ticket).sort()).toEqual(subjects.map((_, index) => `DSR-${index}`).sort())
  for (const receipt of made) expect(receipt.counts).toMatchObject({ deleted: recordsEach, unknown: 0 })
  await expectDeletedOnce(ids)
  expect((await served.run('subject', 'verify', 'last', '--live')).code).toBe(0)
})
