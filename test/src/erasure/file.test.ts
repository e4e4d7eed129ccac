import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { useFolder } from '../../support/cli.ts'
import { answers, consent, expectExit, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, maria } from './fake-instance.ts'

const cli = useCli()
const folder = useFolder()

it('subject erase --file works with the routes of the specification alone, unless a line needs the register', async () => {
  const instance = fakeInstance(cli, 3)
  instance.records.set(uuid(900), consent({ id: uuid(900), subject_id: 'other' }))
  instance.records.set(uuid(901), consent({ id: uuid(901), subject_id: 'somebody' }))
  cli.instance.use(answers('get', '*/api/v1/requests', { error: 'not_found', message: 'no such route' }, 404))
  const folders = freshFolders(cli)
  const file = join(folder.path, 'requests.csv')
  writeFileSync(file, `ticket,identifier\nDSR-1,${maria}\nDSR-2,other\nDSR-3,\n`)
  const refused = await folders.run('erase', '--file', file, '--confirm', '4')
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('no register of requests') })
  expect(instance.deletions).toEqual([])
  writeFileSync(file, `ticket,identifier\nDSR-1,${maria}\nDSR-2,other\n`)
  const erased = await folders.run('erase', '--file', file, '--confirm', '4')
  expect(erased.code, erased.stderr).toBe(0)
  expect(erased.stdout).toMatch(/^DSR-1\t3\terased\t1\t.*\nDSR-2\t1\terased\t2\t.*\n$/)
  expect([...instance.records.keys()]).toEqual([uuid(901)])
  const verified = await folders.run('verify', 'last', '--subject', 'other')
  expectExit(verified, 0, 'only receipt 2 was checked; its job also made 1')
  expect(folders.journals()).toEqual([])
})

it('subject erase --file reads the separator line of a spreadsheet and rows without their last cells', async () => {
  const instance = fakeInstance(cli, 3)
  const folders = freshFolders(cli)
  const file = join(folder.path, 'separated.csv')
  writeFileSync(file, `sep=;\r\nticket;identifier;identifier\r\nDSR-1;${maria}\r\n`)
  expect((await folders.run('erase', '--file', file, '--confirm', '3')).code).toBe(0)
  expect(instance.deletions).toHaveLength(3)
})
