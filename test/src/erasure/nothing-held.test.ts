import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { consent, consentsPath, expectExit, fails, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()

const erase = ['erase', maria, '--ticket', 'T-1']
const terminal = { stdin: true, stderr: true }

it('subject erase on a terminal asks before it makes a receipt that nothing is held, because of mistyped identifiers', async () => {
  fakeInstance(cli, 0)
  const folders = freshFolders(cli)
  const answered = (stdin: string) =>
    cli.run(['subject', ...erase], { env: folders.env, tty: terminal, stdin: `${stdin}\n` })
  const declined = await answered('')
  expect(declined.code).toBe(9)
  expect(declined.stderr).toContain('Identifiers must match exactly, including case and spaces')
  expect(folders.receipts()).toEqual([])
  expect((await answered('y')).code).toBe(0)
  expect(await lastReceipt(folders)).toMatchObject({ result: 'no_data_held' })
})

it('subject erase does not say that no data is held if deleted records still hold it', async () => {
  fakeInstance(cli, 0)
  const deleted = consent({ id: uuid(1), subject_id: maria, deleted_at: '2026-11-20T00:00:00.000Z' })
  const shows = { get: { parameters: [{ in: 'query', name: 'include_deleted' }] } }
  cli.instance.use(
    http.get('*/api/v1/openapi.json', () => HttpResponse.json({ paths: { '/api/v1/consents': shows } })),
    http.get(consentsPath, ({ request }) => {
      const isAsked = new URL(request.url).searchParams.get('include_deleted') === 'true'
      return HttpResponse.json({ data: isAsked ? [deleted] : [], next_cursor: null })
    }),
  )
  const folders = freshFolders(cli)
  expectExit(await folders.run(...erase, '--yes'), 0, 'nothing live on')
  expect(await lastReceipt(folders)).toMatchObject({
    result: 'nothing_live',
    verification: { deleted: 1, live: 0 },
  })
  expect((await folders.run('receipts', 'last', '--format', 'md')).stdout).toContain(
    '1 deleted before still hold data until they are purged',
  )
  expect((await folders.run('find', maria)).stderr).toContain('0 live and 1 deleted')
})

it('subject erase and receipts report an unfinished erasure of the same person', async () => {
  const instance = fakeInstance(cli, 2)
  instance.beforeDelete = id => (id === uuid(1) ? fails(403, 'forbidden', 'no') : undefined)
  const folders = freshFolders(cli)
  expect((await folders.run(...erase, '--yes')).code).not.toBe(0)
  const job = folders.journals()[0]?.slice(0, 36)
  const resume = `consentctl subject resume ${job}`
  expect((await folders.run('receipts')).stderr).toContain(`T-1 is not finished and has no receipt: ${resume}`)
  const again = await folders.run('erase', maria, '--ticket', 'T-2', '--dry-run')
  expect(again.stderr).toContain(`an erasure of this person (T-1) is not finished: ${resume}`)
  expect(again.stderr).toContain('nothing was deleted')
  expect((await folders.run('erase', 'li@example.com', '--ticket', 'T-3', '--dry-run')).stderr).not.toContain('T-1')
})
