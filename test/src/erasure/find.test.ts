import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, apiKey, consent, consentsPath, useCli, uuid } from '../support.ts'
import { fakeInstance, freshFolders, lastReceipt, maria } from './fake-instance.ts'

const cli = useCli()

/** The description of the service, as far as it is read. */
const described = {
  openapi: '3.1.1',
  paths: {
    '/api/v1/consents': { get: { parameters: [{ in: 'query', name: 'include_deleted' }] } },
    '/api/v1/subjects/erase': { post: {} },
  },
}
const description = answers('get', '*/api/v1/openapi.json', described)

describe('subject find', () => {
  it('shows deleted records that are not purged yet, if the instance returns them', async () => {
    const deleted = consent({ id: uuid(2), deleted_at: '2026-02-01T00:00:00.000Z' })
    cli.instance.use(
      description,
      http.get(consentsPath, ({ request }) => {
        const all = new URL(request.url).searchParams.get('include_deleted') === 'true'
        return HttpResponse.json({ data: [consent(), ...(all ? [deleted] : [])], next_cursor: null })
      }),
    )
    const { stdout } = await freshFolders(cli).run('find', maria, '-o', 'json')
    expect(JSON.parse(stdout).map((row: { state: string }) => row.state)).toEqual(['live', 'deleted'])
  })

  it('searches for every identifier of a person, and shows each record once', async () => {
    fakeInstance(cli, 2)
    const args = ['find', maria, '--also', 'nobody', '--also', maria, '-o', 'id']
    const { stdout, stderr } = await freshFolders(cli).run(...args)
    expect(stderr).toContain('no record of nobody was found: check the spelling')
    expect(stderr).not.toContain(`no record of ${maria}`)
    expect(stdout.trim().split('\n')).toHaveLength(2)
    expect(cli.sent().filter(({ path }) => path.endsWith('consents'))).toHaveLength(2)
  })

  it('--all-profiles searches every stored instance with its own key, and reports one that fails (exit 8)', async () => {
    fakeInstance(cli, 1)
    const folders = freshFolders(cli)
    mkdirSync(folders.config, { recursive: true, mode: 0o700 })
    const profiles = { one: { base_url: cli.instance.url }, two: { base_url: 'http://127.0.0.1:9' } }
    const key = (base_url: string) => ({ api_key: 'sk-of-one-0123456789abcdef', base_url })
    writeFileSync(join(folders.config, 'config.json'), JSON.stringify({ profiles }))
    const credentials = { one: key(cli.instance.url), two: key('http://127.0.0.1:9') }
    writeFileSync(join(folders.config, 'credentials.json'), JSON.stringify(credentials), { mode: 0o600 })
    const { code, stdout, stderr } = await folders.run('find', maria, '--all-profiles', '-o', 'json')
    expect(code).toBe(8)
    expect(JSON.parse(stdout)).toMatchObject([{ profile: 'one', id: uuid(1), state: 'live' }])
    expect(stderr).toContain('profile two')
    const sent = cli.instance.requests.map(({ headers }) => headers.authorization)
    expect(sent).not.toContain(`Bearer ${apiKey}`)
    expect(sent).toContain('Bearer sk-of-one-0123456789abcdef')
  })

  it('--all-profiles cannot be used with --base-url (exit 2)', async () => {
    expect((await freshFolders(cli).run('find', maria, '--all-profiles', '--base-url', cli.instance.url)).code).toBe(2)
  })
})

const run = (folders: ReturnType<typeof freshFolders>, args: readonly string[], stdin: string) =>
  cli.run(['subject', ...args], { env: folders.env, stdin })

it('subject find and erase with - read identifiers from stdin unchanged', async () => {
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
])('subject find - rejects %s (exit 5) before any request', async (_, stdin) => {
  expect(await run(freshFolders(cli), ['find', '-'], stdin)).toMatchObject({ code: 5 })
  expect(cli.sent()).toEqual([])
})

it('subject erase - cannot prompt (exit 2)', async () => {
  const ran = await run(freshFolders(cli), ['erase', '-', '--ticket', 'T'], maria)
  expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot prompt') })
})
