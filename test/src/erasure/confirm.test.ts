import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { expect, it } from 'vitest'
import { answers, consent, consentsPath, expectExit, fails, useCli, uuid, words } from '../support.ts'
import { describesCaller, erasesSubjects, fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()
const erase = ['erase', maria, '--ticket', 'T-1']

it('subject erase --confirm 0 creates a receipt for a protected profile, without a prompt', async () => {
  const instance = fakeInstance(cli, 0)
  const folders = freshFolders(cli)
  const set = (...args: string[]) => cli.run(['config', 'set', ...args, '-p', 'live'], { env: folders.env })
  expect(await set('base_url', cli.instance.url)).toMatchObject({ code: 0 })
  expect(await set('protected', 'true')).toMatchObject({ code: 0 })
  const eraseLive = (...more: string[]) => folders.run(...erase, '-p', 'live', ...more)
  expect(await eraseLive('--yes')).toMatchObject({ code: 2 })
  expect(await eraseLive('--confirm', '1')).toMatchObject({ code: 10 })
  expectExit(await eraseLive('--confirm', '0'), 0, 'no live data held')
  const { stdout } = await folders.run('receipts', 'last', '-p', 'live')
  expect(JSON.parse(stdout)).toMatchObject({ result: 'no_data_held' })
  fakeInstance(cli, 2)
  expect(await eraseLive('--confirm', '0')).toMatchObject({ code: 10 })
  expect(instance.deletions).toEqual([])
})

it.each([
  ['one person', ['erase', maria, '--ticket', 'T']],
  ['a file', ['erase', '--file', 'requests.csv']],
])(
  'subject erase of %s warns before the prompt if the key lacks the scope needed to delete or mark records',
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

it('subject erase sends nothing and signs nothing with a key that is restricted to sites', async () => {
  const instance = fakeInstance(cli, 2)
  erasesSubjects(cli, instance)
  const identity = { account_id: uuid(800), kind: 'api_key', id: uuid(801), role: null, site_ids: [uuid(9)] }
  cli.instance.use(answers('get', '*/api/v1/caller', identity))
  const folders = freshFolders(cli)
  const env = { ...cli.env(), ...folders.env }
  for (const count of ['2', '0']) {
    const ran = await cli.run(['subject', 'erase', maria, '--ticket', 'T', '--confirm', count], { env })
    expectExit(ran, 4, 'the API key is restricted to some sites')
    instance.records.clear()
  }
  expect(instance.deletions).toEqual([])
  expectExit(await folders.run('receipts', 'last'), 3, 'receipt')
})

it.each([2, 0])(
  'subject erase --plan-out with %d records prints the command that carries out the plan, quoted for a shell',
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

it('when nothing is held, subject erase on a terminal prompts before it creates a receipt, in case of mistyped identifiers', async () => {
  fakeInstance(cli, 0)
  const folders = freshFolders(cli)
  const answered = (stdin: string) =>
    cli.run(['subject', ...erase], { env: folders.env, tty: { stdin: true, stderr: true }, stdin: `${stdin}\n` })
  const declined = await answered('')
  expect(declined.code).toBe(9)
  expect(declined.stderr).toContain('Identifiers must match exactly, including case and spaces')
  expect(folders.receipts()).toEqual([])
  expect((await answered('y')).code).toBe(0)
  expect(await lastReceipt(folders)).toMatchObject({ result: 'no_data_held' })
})

it('when deleted records still hold data, subject erase does not say that no data is held', async () => {
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
