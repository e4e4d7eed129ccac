import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import type { WithdrawalReceipt } from '../../src/contract/documents/withdrawal-receipt.ts'
import type { Consent } from '../../src/contract/index.ts'
import { start } from '../support/cli.ts'
import { isLongRun, randomFrom } from './campaign.ts'
import { useServed } from './served.ts'

const served = useServed('withdraw_kill', { env: { LOG_LEVEL: 'silent' } })
const people = Number(process.env['CONSENTCTL_TEST_WITHDRAWALS'] ?? (isLongRun ? 100 : 20))
const workers = 4
const seed = Number(process.env['CONSENTCTL_TEST_SEED'] ?? Date.now() % 1_000_000)
const random = randomFrom(seed)

const post = (path: string, body: object) =>
  fetch(`${served.url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${served.account.api_key}` },
    body: JSON.stringify(body),
  })

async function create(subject_id: string, preferences: object): Promise<Consent> {
  const body = { site_id: served.account.site.id, subject_id, accepted: true, preferences }
  const answer = await post('consents', body)
  expect(answer.status).toBe(201)
  return (await answer.json()) as Consent
}

const given = { marketing: true, ads: true }
const names = Array.from({ length: people }, (_, index) => `person-${index}`)
const made: Consent[] = []

beforeAll(async () => {
  process.stderr.write(`withdraw-kill: seed ${seed}\n`)
  for (const name of names)
    made.push(await create(name, given), await create(name, given), await create(name, { marketing: false, ads: true }))
})

/** Each worker has a state folder of its own, so that "last" is its own job. */
function environmentOf(worker: number): Record<string, string> {
  const state = join(served.folder.path, `worker-${worker}`)
  return { ...served.client, CONSENTCTL_STATE_DIR: state, CONSENTCTL_CONFIG_DIR: join(state, 'config') }
}

function listed(worker: number, ...folder: string[]): string[] {
  const path = join(String(environmentOf(worker)['CONSENTCTL_STATE_DIR']), ...folder)
  try {
    return readdirSync(path).map(name => join(path, name))
  } catch {
    return []
  }
}

const jobsOf = (worker: number) => listed(worker, 'erasures').filter(name => name.endsWith('.job'))

/** Withdraws by the command, killed once at a random moment, and resumed or started again until it ends. */
async function withdrawKilled(worker: number, name: string): Promise<void> {
  const command = ['withdraw', name, '--purpose', 'marketing', '--ticket', name, '--yes', '-q']
  for (let isKilled = false; ; ) {
    const args = jobsOf(worker).length > 0 ? ['subject', 'resume', 'last', '-q'] : command
    const { child, ended } = start(args, environmentOf(worker))
    if (!isKilled && random() < 0.5) {
      const isBegun = () => jobsOf(worker).length > 0
      while (child.exitCode === null && !isBegun()) await delay(1)
      await delay(random() * 60)
      child.kill('SIGKILL')
      isKilled = true
    }
    const { code, signal, stderr } = await ended
    if (signal === 'SIGKILL' || stderr.includes('not_begun')) continue
    expect([0, 8], `seed ${seed}: ${stderr}`).toContain(code)
    if (jobsOf(worker).length === 0) return
  }
}

const receiptsOf = (worker: number): WithdrawalReceipt[] =>
  listed(worker, 'receipts', 'default')
    .filter(path => path.endsWith('.json'))
    .map(path => JSON.parse(readFileSync(path, 'utf8')))

it(`withdraw, ${people} times beside creates and killed, leaves none of the shown records granted and changes no other`, {
  timeout: isLongRun ? 600_000 : 120_000,
}, async () => {
  const queue = [...names]
  let isDone = false
  const work = async (worker: number) => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await withdrawKilled(worker, name)
  }
  const creates = async () => {
    while (!isDone) {
      made.push(await create(names[Math.floor(random() * people)] ?? '', given))
      await delay(100)
    }
  }
  const creating = creates()
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  isDone = true
  await creating

  const receipts = Array.from({ length: workers }, (_, worker) => receiptsOf(worker)).flat()
  expect(receipts.map(({ ticket }) => ticket).sort()).toEqual([...names].sort())
  const shown = new Map(receipts.flatMap(({ records }) => records.map(record => [record.id, record] as const)))
  for (const [index, { id }] of made.slice(0, 3 * people).entries()) expect(shown.has(id)).toBe(index % 3 < 2)
  for (const record of made) {
    const answer = await fetch(`${served.url}/api/v1/consents/${record.id}/history`, {
      headers: { authorization: `Bearer ${served.account.api_key}` },
    })
    const { data } = (await answer.json()) as { data: { version: number; preferences: object }[] }
    const told = shown.get(record.id)
    const last = data.at(-1)
    if (told) {
      expect(told, `seed ${seed}`).toMatchObject({ result: 'withdrawn', before: 1, version: 2 })
      expect(last).toMatchObject({ version: 2, preferences: { marketing: false, ads: true } })
    } else expect(last, `seed ${seed}`).toMatchObject({ version: 1, preferences: record.preferences })
  }
})
