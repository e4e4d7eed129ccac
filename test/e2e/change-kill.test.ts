import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { insertChains } from '../server/purge/chains.ts'
import { verified } from '../server/verify/verified.ts'
import { useFolder } from '../support/cli.ts'
import { useService } from '../support/service.ts'
import { killsOf } from './campaign.ts'
import { startHoldingProxy } from './holding-proxy.ts'
import { start } from './import-instance.ts'

const service = useService()
const folder = useFolder()
const changes = Number(process.env['CONSENTCTL_TEST_CHANGES'] ?? 300)
const kills = killsOf(changes > 1000 ? 20 : 3)
const unchangedEvery = 10

interface Row {
  readonly id: string
  readonly version: number
  readonly actions: string
  readonly preferences: object
  readonly deleted_at: Date | null
}

/** Records with two entries, some of which are as the change wants them. */
async function seed(account: Parameters<typeof insertChains>[1]): Promise<{ ids: string[]; unchanged: Set<string> }> {
  const ids: string[] = []
  const unchanged = new Set<string>()
  for (let left = changes; left > 0; left -= 1000) {
    const records = Math.min(left, 1000)
    const same = Math.floor(records / unchangedEvery)
    const shape = { entries: 2, isLive: true, at: new Date(Date.now() - 60_000) }
    const as = { preferences: () => ({ marketing: false }) }
    for (const id of await insertChains(service.sql, account, { ...shape, ...as, records: same })) {
      unchanged.add(id)
      ids.push(id)
    }
    ids.push(...(await insertChains(service.sql, account, { ...shape, records: records - same })))
  }
  return { ids, unchanged }
}

const update = { command: 'update', flags: ['--pref', 'marketing=false'], method: 'PUT', result: 'updated' }
const remove = { command: 'rm', flags: ['--yes'], method: 'DELETE', result: 'deleted' }

it.each([update, remove])(
  `$command --file › when it is killed ${kills} times and resumed, makes each of ${changes} changes once`,
  {
    timeout: 120_000 + changes * 40 + kills * 2000,
  },
  async ({ command, flags, method, result }) => {
    const account = await service.newAccount()
    const { ids, unchanged: asWanted } = await seed(account)
    const unchanged = command === 'update' ? asWanted : new Set()
    const file = join(folder.path, `${command}.txt`)
    writeFileSync(file, `${ids.join('\n')}\n`)
    const state = join(folder.path, `state-${command}`)
    mkdirSync(state)
    const jobs = () => readdirSync(join(state, 'jobs')).filter(name => name.endsWith('.job'))
    const proxy = await startHoldingProxy(service.url, method)
    const env = {
      HOME: folder.path,
      CONSENTCTL_BASE_URL: proxy.url,
      CONSENTCTL_API_KEY: account.key,
      CONSENTCTL_STATE_DIR: state,
    }
    const began = performance.now()
    try {
      for (let killed = 0; killed < kills; killed += 1) {
        const requests = Math.floor((Math.random() * 0.9 * changes) / (kills + 1))
        const isHeld = proxy.hold(requests, Math.random() < 0.5)
        const args = killed > 0 ? ['--resume', 'last'] : ['--file', file, ...flags]
        const { child, ended } = start([command, ...args, '-o', 'ndjson'], env)
        const isEnded = ended.then(end => Promise.reject(new Error(`ended before it was killed: ${end.stderr}`)))
        await Promise.race([isHeld, isEnded])
        await delay(Math.random() * 50)
        child.kill('SIGKILL')
        expect((await ended).signal).toBe('SIGKILL')
        expect(jobs()).toHaveLength(1)
        proxy.release()
      }
      const { code, stdout, stderr } = await start([command, '--resume', 'last', '-o', 'ndjson'], env).ended
      expect(code, stderr).toBe(0)
      const rows = stdout
        .trimEnd()
        .split('\n')
        .map(row => JSON.parse(row) as { id: string; result: string })
      expect(rows.map(({ id }) => id)).toEqual(ids)
      expect(rows.filter(row => row.result !== (unchanged.has(row.id) ? 'unchanged' : result))).toEqual([])
      expect(jobs()).toEqual([])
      const histories = await service.sql<Row[]>`
      select c.id, c.version, c.preferences, c.deleted_at, string_agg(h.action, ',' order by h.version) as actions
      from consents c join consent_history h on h.account_id = c.account_id and h.consent_id = c.id
      where c.account_id = ${account.accountId} group by c.account_id, c.id`
      const isDone = ({ deleted_at, preferences }: Row) =>
        command === 'rm' ? deleted_at !== null : JSON.stringify(preferences) === '{"marketing":false}'
      expect(histories).toHaveLength(changes)
      const wrong = histories.filter(
        row =>
          row.version !== (unchanged.has(row.id) ? 2 : 3) ||
          row.actions.split(',').length !== row.version ||
          !isDone(row),
      )
      expect(wrong.slice(0, 5)).toEqual([])
      expect((await verified(service.sql, { account: account.accountId })).findings).toEqual([])
      const seconds = (performance.now() - began) / 1000
      process.stderr.write(`${command}: ${changes} changes, ${kills} kills: ${seconds.toFixed(1)} s\n`)
    } finally {
      proxy.close()
    }
  },
)
