import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { insertChains } from '../server/purge/chains.ts'
import { verified } from '../server/verify/verified.ts'
import { useFolder } from '../support/cli.ts'
import { type TestAccount, useService } from '../support/service.ts'
import { isLongRun, killsOf } from './campaign.ts'
import { countsOf, linesOf, siteId, useImportInstance } from './import-instance.ts'
import { jobsIn, killAndResume } from './kill-and-resume.ts'

const service = useService()
const folder = useFolder()
const records = useImportInstance()
const kills = killsOf(isLongRun ? 20 : 3)
const changes = Number(process.env['CONSENTCTL_TEST_CHANGES'] ?? (isLongRun ? 5000 : 300))
const lines = Math.max(isLongRun ? 5000 : 600, 50 * kills)
const timeout = 120_000 + changes * 40 + kills * 2000
const labels = Array.from({ length: lines }, (_, index) => `line-${index + 1}`)

/** Writes the input file of a command, and returns it with the environment of the command. */
function prepare(name: string, content: string, key: string) {
  const state = join(folder.path, name)
  mkdirSync(state)
  const file = join(folder.path, `${name}.txt`)
  writeFileSync(file, content)
  return { file, env: { HOME: folder.path, CONSENTCTL_API_KEY: key, CONSENTCTL_STATE_DIR: state } }
}

interface Row {
  readonly line: number
  readonly result: string
  readonly id: string | null
}

/** Every second run sends all lines with one request. */
const planCreates = (killed: number) =>
  killed % 2 === 1
    ? { requests: 0 }
    : { requests: Math.floor((Math.random() * lines) / (kills + 1)), flags: ['--no-batch'] }

const create = { command: 'create', method: 'POST', kills, plan: planCreates }

it(`create --file › when it is killed ${kills} times and resumed, creates one record for each of ${lines} lines`, {
  timeout,
}, async () => {
  const account = await service.newAccount()
  const { file, env } = prepare('create', linesOf(labels), account.key)
  const args = ['--file', file, '--site', account.siteId]
  const { code, stderr, rows } = await killAndResume<Row>({ ...create, instance: service.url, env, args })
  expect(code, stderr).toBe(0)
  const all = await service.sql<{ id: string; label: string }[]>`
    select id, consent_id as label from consents where account_id = ${account.accountId}`
  expect(countsOf(all.map(({ label }) => label))).toEqual(countsOf(labels))
  const idOf = new Map(all.map(({ label, id }) => [label, id]))
  const created = { result: 'created', error_code: null, message: null }
  expect(rows).toEqual(labels.map((label, index) => ({ line: index + 1, id: idOf.get(label), ...created })))
  expect(jobsIn(env)).toEqual([])
})

it('create --file › when the instance does not support Idempotency-Key, never creates a line twice, and reports each line that may exist', {
  timeout,
}, async () => {
  Object.assign(records, { loss: 0.01, honours: false })
  const { file, env } = prepare('foreign', linesOf(labels), 'sk-x')
  const args = ['--file', file, '--site', siteId]
  const { code, stderr, rows } = await killAndResume<Row>({ ...create, instance: records.url, env, args })
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

/** Creates records with two entries, a tenth of which already have the values that the update sets. */
async function seed(account: TestAccount): Promise<{ ids: string[]; unchanged: Set<string> }> {
  const ids: string[] = []
  const unchanged = new Set<string>()
  const shape = { entries: 2, isLive: true, at: new Date(Date.now() - 60_000) }
  for (let left = changes; left > 0; left -= 1000) {
    const count = Math.min(left, 1000)
    const same = Math.floor(count / 10)
    const preferences = () => ({ marketing: false })
    const wanted = await insertChains(service.sql, account, { ...shape, preferences, records: same })
    for (const id of wanted) unchanged.add(id)
    ids.push(...wanted, ...(await insertChains(service.sql, account, { ...shape, records: count - same })))
  }
  return { ids, unchanged }
}

interface Changed {
  readonly id: string
  readonly version: number
  readonly actions: string
  readonly preferences: object
  readonly deleted_at: Date | null
}

it.each([
  { command: 'update', flags: ['--pref', 'marketing=false'], method: 'PUT', result: 'updated' },
  { command: 'rm', flags: ['--yes'], method: 'DELETE', result: 'deleted' },
])(
  `$command --file › when it is killed ${kills} times and resumed, applies each of ${changes} changes once`,
  { timeout },
  async ({ command, flags, method, result }) => {
    const account = await service.newAccount()
    const seeded = await seed(account)
    const { ids } = seeded
    const unchanged = command === 'update' ? seeded.unchanged : new Set()
    const { file, env } = prepare(command, `${ids.join('\n')}\n`, account.key)
    const plan = () => ({ requests: Math.floor((Math.random() * 0.9 * changes) / (kills + 1)) })
    const campaign = { instance: service.url, env, command, args: ['--file', file, ...flags], method, kills, plan }
    const { code, stderr, rows } = await killAndResume<Row>(campaign)
    expect(code, stderr).toBe(0)
    expect(rows.map(({ id }) => id)).toEqual(ids)
    expect(rows.filter(row => row.result !== (unchanged.has(row.id) ? 'unchanged' : result))).toEqual([])
    expect(jobsIn(env)).toEqual([])
    const histories = await service.sql<Changed[]>`
      select c.id, c.version, c.preferences, c.deleted_at, string_agg(h.action, ',' order by h.version) as actions
      from consents c join consent_history h on h.account_id = c.account_id and h.consent_id = c.id
      where c.account_id = ${account.accountId} group by c.account_id, c.id`
    const isDone = ({ deleted_at, preferences }: Changed) =>
      command === 'rm' ? deleted_at !== null : JSON.stringify(preferences) === '{"marketing":false}'
    expect(histories).toHaveLength(changes)
    const isRight = (row: Changed) =>
      row.version === (unchanged.has(row.id) ? 2 : 3) && row.actions.split(',').length === row.version && isDone(row)
    expect(histories.filter(row => !isRight(row)).slice(0, 5)).toEqual([])
    expect((await verified(service.sql, { account: account.accountId })).findings).toEqual([])
  },
)
