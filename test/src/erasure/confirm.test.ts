import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { answers, expectExit, useCli, uuid, words } from '../support.ts'
import { describesCaller, erasesSubjects, fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()

it('subject erase --confirm 0 makes a receipt for a protected profile, without a prompt', async () => {
  const instance = fakeInstance(cli, 0)
  const folders = freshFolders(cli)
  const set = (...args: string[]) => cli.run(['config', 'set', ...args, '-p', 'live'], { env: folders.env })
  expect(await set('base_url', cli.instance.url)).toMatchObject({ code: 0 })
  expect(await set('protected', 'true')).toMatchObject({ code: 0 })
  const erase = (...more: string[]) => folders.run('erase', maria, '--ticket', 'T', '-p', 'live', ...more)
  expect(await erase('--yes')).toMatchObject({ code: 2 })
  expect(await erase('--confirm', '1')).toMatchObject({ code: 10 })
  expectExit(await erase('--confirm', '0'), 0, 'no live data held')
  const { stdout } = await folders.run('receipts', 'last', '-p', 'live')
  expect(JSON.parse(stdout)).toMatchObject({ result: 'no_data_held' })
  fakeInstance(cli, 2)
  expect(await erase('--confirm', '0')).toMatchObject({ code: 10 })
  expect(instance.deletions).toEqual([])
})

it.each([
  ['one person', ['erase', maria, '--ticket', 'T']],
  ['a file', ['erase', '--file', 'requests.csv']],
])(
  'subject erase of %s says before it asks that the key lacks the scope, which it needs only to delete or to mark',
  async (_, args) => {
    const instance = fakeInstance(cli, 2)
    Object.assign(erasesSubjects(cli, instance), { version: 2 })
    const identity = { account_id: uuid(800), kind: 'api_key', id: uuid(801), role: null, scopes: ['read', 'write'] }
    cli.instance.use(answers('get', '*/api/v1/caller', identity))
    const folders = freshFolders(cli)
    mkdirSync(folders.state, { recursive: true })
    const file = join(folders.state, 'requests.csv')
    writeFileSync(file, `ticket,identifier\nT,${maria}\n`)
    const env = { ...cli.env(), ...folders.env }
    const tty = { stdin: true, stdout: true, stderr: true }
    const words = args.map(word => (word === 'requests.csv' ? file : word))
    const { code, stderr } = await cli.run(['subject', ...words], { env, tty, stdin: '2\n' })
    expect([code, stderr]).toEqual([4, expect.stringContaining('The API key lacks the scope erase.')])
    expect(stderr).not.toContain('Type 2')
    expect(instance.deletions).toEqual([])
    instance.records.clear()
    const nothing = await cli.run(['subject', ...words, '--confirm', '0'], { env })
    expect(nothing.code, nothing.stderr).toBe(0)
    expect(await lastReceipt(folders)).toMatchObject({ result: 'no_data_held' })
    const marks = { ...describesCaller.paths, '/api/v1/consents/{id}/restore': { post: {} } }
    cli.instance.use(answers('get', '*/api/v1/openapi.json', { ...describesCaller, paths: marks }))
    const marking = await cli.run(['subject', ...words], { env, tty, stdin: 'y\n' })
    expect([marking.code, marking.stderr]).toEqual([4, expect.not.stringContaining('[y/N]')])
  },
)

it.each([2, 0])(
  'subject erase --plan-out with %d records prints the command that carries the plan out, quoted for a shell',
  async count => {
    const instance = fakeInstance(cli, count)
    const folders = freshFolders(cli)
    mkdirSync(folders.state, { recursive: true })
    const path = join(folders.state, 'the plan; of maria.json')
    const flags = ['--base-url', cli.instance.url, '-p', 'default']
    const planned = await folders.run('erase', maria, '--ticket', 'T', '--plan-out', path, ...flags)
    expect(planned).toMatchObject({ code: 0 })
    expect(JSON.parse(readFileSync(path, 'utf8')).records).toHaveLength(count)
    const command = words(/consentctl (subject .*)$/m.exec(planned.stderr)?.[1] ?? '')
    expect(command).toEqual(expect.arrayContaining(flags))
    const applied = await folders.run(...command.slice(1))
    expect(applied.code, applied.stderr).toBe(0)
    expect(instance.deletions).toHaveLength(count)
    expect(await lastReceipt(folders)).toMatchObject({ ticket: 'T' })
  },
)
