import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { useFolder } from '../../support/cli.ts'
import { answers, consent, expectExit, fails, useCli, uuid } from '../support.ts'
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

  const [, , , , job = ''] = erased.stdout.trim().split(/\s/)
  for (const command of [
    ['purge', job, '--yes'],
    ['verify', job],
    ['receipts', job],
  ]) {
    const { code, stdout, stderr } = await folders.run(...command)
    expect([command[0], code]).toEqual([command[0], 2])
    expect(stdout + stderr).toContain(`the job ${job} has 2 receipts`)
    expect(stdout + stderr).toContain('name one by its number: 1, 2')
  }
  const resumed = await folders.run('resume', job)
  expect([resumed.code, resumed.stdout]).toEqual([0, erased.stdout])
  for (const number of [1, 2]) expect(resumed.stderr).toContain(`receipt ${number}: `)
})

it('subject resume of a finished job exits with the worst code of its receipts', async () => {
  const instance = fakeInstance(cli, 1)
  instance.records.set(uuid(900), consent({ id: uuid(900), subject_id: 'other' }))
  const folders = freshFolders(cli)
  const file = join(folder.path, 'worst.csv')
  writeFileSync(file, `ticket,identifier\nDSR-1,${maria}\nDSR-2,other\n`)
  instance.beforeDelete = id => {
    if (id === uuid(1)) instance.records.set(uuid(77), consent({ id: uuid(77), subject_id: maria }))
    return undefined
  }
  const erased = await folders.run('erase', '--file', file, '--confirm', '2')
  expect(erased.code).toBe(8)
  const [, , , , job = ''] = erased.stdout.split(/\s/)
  const resumed = await folders.run('resume', job)
  expect([resumed.code, resumed.stdout]).toEqual([8, erased.stdout])
})

it('subject verify and purge reject a ticket with several erasures, and take a number', async () => {
  const folders = freshFolders(cli)
  for (const count of [1, 2]) {
    fakeInstance(cli, count)
    expect(await folders.run('erase', maria, '--ticket', 'DSR-7', '--yes')).toMatchObject({ code: 0 })
  }
  for (const command of [
    ['purge', 'DSR-7', '--yes'],
    ['verify', 'DSR-7'],
  ]) {
    const { code, stdout, stderr } = await folders.run(...command)
    expect([command[0], code]).toEqual([command[0], 2])
    expect(stdout + stderr).toContain('name one by its number: 1, 2')
  }
  expect(await folders.verify('2')).toEqual({ code: 0, failed: [] })
})

it('subject erase --file reads a spreadsheet’s separator line and rows without trailing cells', async () => {
  const instance = fakeInstance(cli, 3)
  const folders = freshFolders(cli)
  const file = join(folder.path, 'separated.csv')
  writeFileSync(file, `sep=;\r\nticket;identifier;identifier\r\nDSR-1;${maria}\r\n`)
  expect((await folders.run('erase', '--file', file, '--confirm', '3')).code).toBe(0)
  expect(instance.deletions).toHaveLength(3)
})

it('when the job of a file is unfinished, subject erase --file prints the command that resumes it (exit 2), and sends nothing', async () => {
  const instance = fakeInstance(cli, 3)
  instance.records.set(uuid(900), consent({ id: uuid(900), subject_id: 'other' }))
  const folders = freshFolders(cli)
  const file = join(folder.path, 'unfinished.csv')
  const people = `ticket,identifier\nDSR-1,${maria}\nDSR-2,other\n`
  writeFileSync(file, people)
  const erase = (...flags: string[]) => folders.run('erase', '--file', file, '--confirm', '4', ...flags)
  instance.beforeDelete = id => (id === uuid(900) ? fails(503, 'unavailable') : undefined)
  const stopped = await erase('--max-wait', '0')
  const resume = /consentctl subject resume [\da-f-]{36}/.exec(stopped.stderr)?.[0] ?? 'no command'
  expect(stopped.code, stopped.stderr).toBe(8)
  const sent = cli.sent().length
  for (const flags of [[], ['--dry-run']]) expectExit(await erase(...flags), 2, 'is not finished', resume)
  expect(cli.sent()).toHaveLength(sent)
  instance.beforeDelete = () => undefined
  writeFileSync(file, `${people}DSR-3,third\n`)
  expectExit(await folders.run('erase', '--file', file, '--dry-run'), 0, '(DSR-1) is not finished')
  writeFileSync(file, people)
  expect((await folders.run('resume', 'last')).code).toBe(0)
  expect(folders.receipts()).toEqual(['000001.json', '000002.json'])
  expectExit(await folders.run('erase', '--file', file, '--dry-run'), 0)
})
