import { expect, it } from 'vitest'
import { consent, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
const run = (folders: ReturnType<typeof freshFolders>, args: readonly string[], stdin: string) =>
  cli.run(['subject', ...args], { env: folders.env, stdin })

it('subject find and erase read identifiers from stdin unchanged, with -', async () => {
  const instance = fakeInstance(cli, 2)
  instance.records.set(uuid(9), consent({ id: uuid(9), subject_id: ' a\\tb ' }))
  const folders = freshFolders(cli)
  const found = await run(folders, ['find', '-', '-o', 'id'], `${maria}\n a\\tb \r\n${maria}\n`)
  expect(found.stdout.trim().split('\n').sort()).toEqual([1, 2, 9].map(uuid))
  const args = ['erase', '-', '--ticket', 'T', '--show-subject', '--confirm', '2']
  expect(await run(folders, args, maria)).toMatchObject({ code: 0 })
  expect(await lastReceipt(folders)).toMatchObject({ subjects: [maria], counts: { deleted: 2 } })
})

it.each([
  ['empty input', '\n'],
  ['too long an identifier', `${maria}\n${'x'.repeat(256)}\n`],
])('subject find - refuses %s (exit 5) before any request', async (_, stdin) => {
  expect(await run(freshFolders(cli), ['find', '-'], stdin)).toMatchObject({ code: 5 })
  expect(cli.sent()).toEqual([])
})

it('subject erase - cannot prompt (exit 2)', async () => {
  const ran = await run(freshFolders(cli), ['erase', '-', '--ticket', 'T'], maria)
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot prompt') })
})
