import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { Consent } from '../../../src/contract/consents.ts'
import { consent, consentsPath, expectExit, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
const erase = ['erase', maria, '--ticket', 'T', '--yes', '-o', 'json']

it.each([
  ['half a character', 'x\ud800'],
  ['more than 255 characters', 'x'.repeat(256)],
])('subject erase does nothing (exit 5) if a record has an unusable id: %s', async (_, id) => {
  const instance = fakeInstance(cli, 2)
  instance.records.set(id, consent({ id, subject_id: maria }))
  const folders = freshFolders(cli)
  expectExit(await folders.run(...erase), 5, { code: 'wrong_subject' })
  expect([folders.journals(), instance.deletions]).toEqual([[], []])
})

it('subject erase does nothing (exit 5) if a record is too long for the job file', async () => {
  const instance = fakeInstance(cli, 1)
  instance.records.set(uuid(1), consent({ id: uuid(1), subject_id: maria, site_id: 's'.repeat(1_200_000) }))
  const folders = freshFolders(cli)
  expect(await folders.run(...erase)).toMatchObject({ code: 5 })
  expect([folders.journals(), instance.deletions]).toEqual([[], []])
})

it('a record that a page contains twice counts as one record in an erasure and in an export', async () => {
  const instance = fakeInstance(cli, 0)
  const record = consent({ id: uuid(1), subject_id: maria })
  instance.records.set(uuid(1), record)
  const isLeft = () => instance.records.has(uuid(1))
  cli.instance.use(
    http.get(consentsPath, () => HttpResponse.json({ data: isLeft() ? [record, record] : [], next_cursor: null })),
  )
  const folders = freshFolders(cli)
  const file = `${folders.state}.json`
  expect(await folders.run('export', maria, '--out', file)).toMatchObject({ code: 0 })
  expect(JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'))).toMatchObject({ records: 1 })
  expect(await folders.run('erase', maria, '--ticket', 'T', '--confirm', '1')).toMatchObject({ code: 0 })
})

it.each([
  ['reason', 'r'.repeat(501)],
  ['ticket', 't'.repeat(101)],
])('subject erase --apply rejects (exit 5) a plan with a %s that is too long', async (name, text) => {
  const instance = fakeInstance(cli, 1)
  const folders = freshFolders(cli)
  const file = `${folders.state}.plan`
  expect(await folders.run('erase', maria, '--ticket', 'T', '--reason', 'R', '--plan-out', file)).toMatchObject({
    code: 0,
  })
  const plan = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...plan, [name]: text }))
  expectExit(await folders.run('erase', '--apply', file, '--yes'), 5, name)
  expect([instance.deletions, existsSync(folders.receipt(1))]).toEqual([[], false])
})

/** Fakes an instance whose only record has this deletion time. */
function instanceWith(deleted_at: string) {
  const instance = fakeInstance(cli, 1)
  instance.records.set(uuid(1), consent({ id: uuid(1), subject_id: maria, deleted_at }))
  return instance
}

it('subject erase treats a record with an empty deletion time as live', async () => {
  const { deleted_at: _, ...record } = consent()
  expect(Consent.parse(record).deleted_at).toBe(null)
  instanceWith('')
  const folders = freshFolders(cli)
  expect(await folders.run(...erase)).toMatchObject({ code: 0 })
  expect(await lastReceipt(folders)).toMatchObject({ result: 'erased', counts: { deleted: 1 } })
})

it.each(['0001-01-01T00:00:00Z', '2026-01-31T09:29:59.999Z', 'never', '0'])(
  'subject erase exits with 5 if a record has an impossible deletion time: %s',
  async deleted_at => {
    const instance = instanceWith(deleted_at)
    const folders = freshFolders(cli)
    expectExit(await folders.run(...erase), 5, { code: 'unexpected_answer' })
    expect([folders.receipts(), instance.deletions]).toEqual([[], []])
  },
)
