import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import type { AuditEntry, Consent } from '../../../src/contract/index.ts'
import * as cli from '../../support/cli.ts'
import { useService } from '../../support/service.ts'
import { purgeNow } from '../purge/purge.ts'

const service = useService()
let env: Record<string, string>

beforeAll(async () => {
  const { key, siteId } = await service.newAccount()
  env = {
    CONSENTCTL_BASE_URL: service.url,
    CONSENTCTL_API_KEY: key,
    CONSENTCTL_SITE: siteId,
    HOME: '/nowhere',
  }
})

async function run<Row>(...args: string[]): Promise<Row> {
  const { code, stdout, stderr } = await cli.run([...args, '--json'], { env })
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Row
}

/** Makes three records of a subject, changes two and deletes two of them; what each was after every step. */
async function lead(subject: string): Promise<{ at: string; records: Consent[] }[]> {
  const records = new Map<string, Consent>()
  const steps: { at: string; records: Consent[] }[] = []
  const step = async (record: Consent) => {
    records.delete(record.id)
    if (record.deleted_at === null) records.set(record.id, record)
    const newestFirst = [...records.values()].sort((a, b) => (a.id < b.id ? 1 : -1))
    steps.push({ at: record.deleted_at ?? record.updated_at ?? '', records: newestFirst })
    await delay(5) // so that no two share a millisecond
  }
  const create = async (...flags: string[]) => {
    const record = await run<Consent>('create', '--subject', subject, ...flags)
    await step(record)
    return record.id
  }
  const first = await create('--refused', '--pref', 'mail=false')
  const second = await create('--accepted', '--pref', 'mail=true')
  await step(await run('update', first, '--accepted', '--pref', 'mail=true'))
  await step(await run('rm', second, '--yes'))
  const third = await create('--accepted')
  await step(await run('update', third, '--refused'))
  await step(await run('rm', first, '--yes'))
  return steps
}

it('list --at returns what a list returned at each moment, and get --at each of its records', async () => {
  const steps = await lead('maria@example.com')
  for (const [index, { at, records }] of steps.entries()) {
    const before = new Date(Date.parse(at) - 1).toISOString()
    const listed = (instant: string, ...flags: string[]) =>
      run('list', '--subject', 'maria@example.com', '--at', instant, ...flags)
    expect(await listed(at)).toEqual(records)
    expect(await listed(before)).toEqual(steps[index - 1]?.records ?? [])
    if (records.length === 0) continue
    const ids = records.map(({ id }) => id)
    const got = await run<Consent | Consent[]>('get', ...ids, '--at', at)
    expect([got].flat()).toEqual(records.map(record => ({ ...record, word: 'service' })))
  }
})

it('returns every state of a deleted record at its time, and after its deletion only on request', async () => {
  const { id } = await run<Consent>('create', '--subject', 'jo', '--accepted')
  await run('update', id, '--refused')
  const removed = await run<Consent>('rm', id, '--yes')
  const entries = await run<AuditEntry[]>('history', id)
  expect(entries.map(({ action }) => action)).toEqual(['created', 'updated', 'deleted'])
  for (const { action, accepted, created_at } of entries) {
    if (action === 'deleted') continue
    expect(await run('get', id, '--at', created_at)).toMatchObject({ accepted, deleted_at: null })
  }
  const gone = await cli.run(['get', id, '--at', removed.deleted_at ?? ''], { env })
  expect(gone).toMatchObject({ code: 3, stdout: '' })
  expect(gone.stderr).toContain(`deleted at ${removed.deleted_at}`)
  expect(await run('get', id, '--at', removed.deleted_at ?? '', '--include-deleted')).toEqual({
    ...removed,
    word: 'service',
  })
})

it('when the record was purged, shows what is left, says what is missing, and shows no preferences', async () => {
  const { id } = await run<Consent>('create', '--subject', 'li', '--accepted', '--pref', 'mail=true')
  const changed = await run<Consent>('update', id, '--refused')
  await delay(5)
  await run('rm', id, '--yes')
  await purgeNow(service.sql)
  const { code, stdout, stderr } = await cli.run(['get', id, '--at', changed.updated_at ?? '', '--json'], {
    env,
  })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    ...changed,
    subject_id: null,
    preferences: null,
    word: 'service',
  })
  expect(stderr).toContain('its preferences and its subject are gone')
  expect(await run('list', '--subject', 'li', '--at', changed.updated_at ?? '')).toEqual([])
})
