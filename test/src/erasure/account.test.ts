import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { byId, consentsPath, expectExit, fails, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
const erase = ['erase', maria, '--ticket', 'T', '--yes']

/** From now on the key is of an account that has nothing. */
function swapKey(): void {
  cli.instance.use(
    http.get(consentsPath, () => HttpResponse.json({ data: [], next_cursor: null })),
    ...[byId, `${byId}/history`].map(path => http.all(path, () => fails(404, 'not_found'))),
  )
}

describe('with a key of another account, when the instance does not name accounts', () => {
  it('subject verify --live reports that the records are unknown to the key, and exits with 10', async () => {
    fakeInstance(cli, 3)
    const folders = freshFolders(cli)
    expect(await folders.run(...erase)).toMatchObject({ code: 0 })
    const verify = async () => {
      const { code, stdout } = await folders.run('verify', 'last', '--live', '--subject', maria, '-o', 'json')
      return { code, detail: JSON.parse(stdout).find(({ check }: { check: string }) => check === 'live').detail }
    }
    expect(await verify()).toEqual({
      code: 0,
      detail:
        '3 records of the receipt shown as deleted, and no live record of the subject among the records that the key can see',
    })
    swapKey()
    expect(await verify()).toMatchObject({ code: 10, detail: expect.stringContaining('3 records unknown to this key') })
  })

  it('subject resume signs nothing, and exits with 10', async () => {
    const instance = fakeInstance(cli, 3)
    instance.beforeDelete = id => (id === uuid(2) ? fails(403, 'forbidden', 'no') : undefined)
    const folders = freshFolders(cli)
    expect((await folders.run(...erase)).code).not.toBe(0)
    swapKey()
    const { code, stderr } = await folders.run('resume', 'last')
    expect([code, folders.receipts(), folders.journals()[0]]).toEqual([10, [], expect.stringMatching(/\.job$/)])
    expect(stderr).toContain('the key sees none of the job’s records')
  })

  it('subject erase reports neither an account nor a deletion', async () => {
    fakeInstance(cli, 0)
    const folders = freshFolders(cli)
    expectExit(await folders.run(...erase), 0, 'among the records that the key can see')
    expect(await lastReceipt(folders)).toMatchObject({
      version: 1,
      result: 'no_data_held',
      statement: null,
      account_id: null,
      api_key_id: null,
    })
  })
})

it('when the service reports no deletion time, a receipt states that the time is the local clock’s', async () => {
  fakeInstance(cli, 1)
  const folders = freshFolders(cli)
  expect(await folders.run(...erase)).toMatchObject({ code: 0 })
  expect(await lastReceipt(folders)).toMatchObject({
    statement: 'logically deleted; whether and when personal data is purged is not known',
    records: [{ result: 'deleted', deleted_at: expect.any(String), deleted_at_by: 'local' }],
  })
  expect((await folders.run('receipts', 'last', '--format', 'md')).stdout).toMatch(
    /Z \(by the clock of that computer\) \|/,
  )
})
