import { expect, it } from 'vitest'
import { Consent } from '../../../src/contract/consents.ts'
import { consent, expectExit, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
const erase = ['erase', maria, '--ticket', 'T', '--yes', '-o', 'json']

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
  'subject erase stops (exit 5) if a record has an impossible deletion time: %s',
  async deleted_at => {
    const instance = instanceWith(deleted_at)
    const folders = freshFolders(cli)
    expectExit(await folders.run(...erase), 5, { code: 'unexpected_answer' })
    expect([folders.receipts(), instance.deletions]).toEqual([[], []])
  },
)
