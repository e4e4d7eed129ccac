import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import type { Context } from '../../../src/context.ts'
import { newMatcher } from '../../../src/erasure/hmacs.ts'
import { type ErasureEntry, type ErasureHeader, erasureJobs, type PersonState } from '../../../src/erasure/job.ts'
import { findMadeReceipt, type StoredReceipt } from '../../../src/erasure/receipts.ts'
import type { ReceiptKey } from '../../../src/receipts/signer.ts'
import { type consent, expectExit, useCli, uuid } from '../support.ts'
import { erasesSubjects, fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
let folders: ReturnType<typeof freshFolders>
beforeEach(() => {
  folders = freshFolders(cli)
})

/** Leaves the job of a process that was killed after these entries. */
async function leaveKilledJob(
  folders: ReturnType<typeof freshFolders>,
  job: string,
  entries: readonly ErasureEntry[],
  { profile = 'default' }: Partial<Pick<ErasureHeader, 'profile'>> = {},
): Promise<void> {
  const host = { pid: 2 ** 22 + 1, kill: () => {} }
  const journals = erasureJobs({ settings: { stateFolder: folders.state }, host } as unknown as Context)
  const header: ErasureHeader = {
    version: 1,
    job,
    profile,
    base_url: cli.instance.url,
    account_id: null,
    source: null,
    who: 'me',
    host: 'here',
    shows_subject: false,
    started_at: '2026-11-21T00:00:00.000Z',
  }
  const journal = await journals.create(header)
  await journal.append(...entries)
  await journal.close(false)
}

const planned: ErasureEntry[] = [
  [
    'p',
    {
      ...{ subjects: [maria], ticket: 'T', reason: null, received_at: null },
      ...{ planned_by: null, plan_sha256: '0'.repeat(64), export_sha256: null },
    },
  ],
  ...[1, 2, 3].map((n): ErasureEntry => ['e', 0, ['t', { id: uuid(n), site_id: uuid(900), subject: 0 }]]),
]

it('subject resume removes a job that was killed before its plan was complete (exit 7)', async () => {
  const instance = fakeInstance(cli, 3)
  await leaveKilledJob(folders, uuid(77), planned)
  expectExit(await folders.run('resume', 'last'), 7, 'killed before anything was done')
  expect([folders.journals(), folders.receipts(), instance.deletions]).toEqual([[], [], []])
})

it('subject resume records "unknown" for a record that is gone, if it was about to be deleted when the process was killed', async () => {
  const instance = fakeInstance(cli, 3)
  instance.records.delete(uuid(1))
  instance.records.delete(uuid(2))
  await leaveKilledJob(folders, uuid(77), [...planned, ['P'], ['e', 0, ['s', [uuid(1)], false]]])
  expect(await folders.run('resume', uuid(77))).toMatchObject({ code: 0 })
  const { records, started_at } = await lastReceipt(folders)
  expect(records.map(({ result }: { result: string }) => result)).toEqual(['unknown', 'already_gone', 'deleted'])
  expect(started_at).toBe('2026-11-21T00:00:00.000Z')
})

it('subject resume learns from the service which records the killed process had deleted', async () => {
  const instance = fakeInstance(cli, 3)
  const erasure = erasesSubjects(cli, instance)
  const own = instance.records.get(uuid(1)) as ReturnType<typeof consent>
  instance.records.delete(own.id)
  erasure.deleted.set(own.id, { ...own, deleted_at: '2026-11-21T00:00:01.000Z' })
  const other = instance.records.get(uuid(3)) as ReturnType<typeof consent>
  instance.records.delete(other.id)
  erasure.deleted.set(other.id, { ...other, deleted_at: '2026-11-21T00:00:02.000Z' })
  await leaveKilledJob(folders, uuid(77), [...planned, ['P'], ['e', 0, ['s', [uuid(1), uuid(2)], true]]])
  expect(await folders.run('resume', uuid(77))).toMatchObject({ code: 0 })
  const { records, answers_lost } = await lastReceipt(folders)
  const results = records.map(({ result, deleted_at }: Record<string, string>) => [result, deleted_at])
  expect(results).toEqual([
    ['deleted', '2026-11-21T00:00:01.000Z'],
    ['deleted', erasure.deleted.get(uuid(2))?.deleted_at],
    ['already_gone', '2026-11-21T00:00:02.000Z'],
  ])
  expect(answers_lost).toBe(1)
  expect(await folders.run('verify', 'last', '--live')).toMatchObject({ code: 0 })
})

it('subject resume last resumes the last job of the current profile, and names the last one of another profile', async () => {
  const instance = fakeInstance(cli, 3)
  await leaveKilledJob(folders, uuid(77), [...planned, ['P']])
  await leaveKilledJob(folders, uuid(78), [...planned, ['P']], { profile: 'other' })
  expect(await folders.run('resume', 'last')).toMatchObject({ code: 0 })
  expect([instance.deletions.length, folders.journals()]).toEqual([3, [`${uuid(78)}.job`]])
  const ran = await folders.run('resume', 'last')
  expectExit(ran, 2, `consentctl subject resume ${uuid(78)} -p other --base-url ${cli.instance.url}`)
})

it('subject resume creates no second receipt for a job that was killed after its first', async () => {
  fakeInstance(cli, 3)
  await leaveKilledJob(folders, uuid(77), [...planned, ['P']])
  expect(await folders.run('resume', 'last')).toMatchObject({ code: 0 })
  await leaveKilledJob(folders, uuid(77), [...planned, ['P']])
  const before = cli.sent().length
  expectExit(await folders.run('resume', 'last'), 0, 'receipt 1')
  expect(cli.sent()).toHaveLength(before)
  expect([folders.journals(), folders.receipts()]).toEqual([[], ['000001.json']])
})

it('subject erase removes the drafts of killed processes', async () => {
  fakeInstance(cli, 1)
  const left = join(folders.state, 'erasures', `${uuid(5)}.1.abcd.part`)
  mkdirSync(join(folders.state, 'erasures'), { recursive: true })
  writeFileSync(left, maria)
  utimesSync(left, 1, 1)
  expect(await folders.run('erase', maria, '--ticket', 'T', '--yes')).toMatchObject({ code: 0 })
  expect(folders.journals()).toEqual([])
})

it('subject erase stops (exit 7), without a receipt, if another process has taken over its job', async () => {
  const instance = fakeInstance(cli, 40)
  instance.beforeDelete = () => {
    for (const name of folders.journals()) rmSync(join(folders.state, 'erasures', name))
    return undefined
  }
  const { code, stderr } = await folders.run('erase', maria, '--ticket', 'T', '--yes')
  expect(code).toBe(7)
  expect(stderr.match(/is working on the job/g)).toHaveLength(1)
  expect(instance.deletions.length).toBeLessThanOrEqual(16)
  expect(folders.receipts()).toEqual([])
})

it('when the file of an unfinished job is damaged, erase still works for other people, and resume reports it (exit 1)', async () => {
  fakeInstance(cli, 1, 'li')
  await leaveKilledJob(folders, uuid(77), [...planned, ['P']])
  const path = join(folders.state, 'erasures', `${uuid(77)}.job`)
  writeFileSync(path, readFileSync(path, 'utf8').replace('\n[', '\n{'))
  expect(await folders.run('erase', 'li', '--ticket', 'T-2', '--yes')).toMatchObject({ code: 0 })
  expect((await folders.run('receipts')).stderr).toContain('an erasure is not finished and has no receipt')
  expect(await folders.run('resume', 'last')).toMatchObject({ code: 1, stderr: expect.stringContaining('damaged') })
})

it.each([
  ['when another person has the same ticket and no records either, finds no receipt', 'k', 'other', false],
  ['finds the receipt of the person', 'k', 'maria', true],
  ['when the signing key was replaced, finds the receipt by ticket and records', 'other', 'maria', true],
])('a resumed erasure › %s', async (_, id, subject, isFound) => {
  const receipt = {
    ticket: 'DSR-7',
    records: [],
    subjects: null,
    subject_hmacs: ['h-maria'],
    hmac_key: 'profile',
    key_id: 'k',
  }
  const key = { id, hmacOf: (each: string) => `h-${each}` } as unknown as ReceiptKey
  const made = [{ receipt } as unknown as StoredReceipt]
  const state = { order: { ticket: 'DSR-7', subjects: [subject] }, targets: new Map() } as unknown as PersonState
  const matcher = newMatcher({} as Client, key)
  expect(await findMadeReceipt({ made, matcher }, state)).toBe(isFound ? made[0] : null)
})
