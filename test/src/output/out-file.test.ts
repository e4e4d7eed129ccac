import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { apiKeyOf, keysPath, newKey, runAs, signedIn } from '../session-fixtures.ts'
import {
  answers,
  byId,
  consent,
  consentsPath,
  expectExit,
  expectUnsent,
  fails,
  listOf,
  screen,
  useCli,
  uuid,
} from '../support.ts'

const cli = useCli()

/** A folder with nothing in it, and a name in it. */
function place() {
  const folder = cli.freshFolder()
  mkdirSync(folder)
  return { folder, file: join(folder, 'records') }
}

describe('--out', () => {
  it.each([
    ['tsv', []],
    ['ndjson', ['-o', 'ndjson']],
    ['json', ['--json']],
    ['csv', ['-o', 'csv']],
    ['yaml', ['-o', 'yaml']],
    ['id', ['-q']],
  ])('contains every page, like standard output off a terminal: %s', async (_, flags) => {
    cli.instance.use(listOf(250))
    const { folder, file } = place()
    const { stdout: expected } = await cli.run(['list', ...flags])
    expect(await cli.run(['list', ...flags, '--out', file], screen)).toMatchObject({ code: 0, stdout: '' })
    expect(readFileSync(file, 'utf8')).toBe(expected)
    expect(readdirSync(folder)).toEqual(['records'])
  })

  it('can be read only by its owner', async () => {
    cli.instance.use(listOf(1))
    const { file } = place()
    await cli.run(['list', '--out', file])
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('a table in the file is not coloured, and contains every record', async () => {
    cli.instance.use(listOf(120))
    const { file } = place()
    await cli.run(['list', '-o', 'table', '--out', file], screen)
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain('\u001b')
    expect(text.split('\n')).toHaveLength(122)
  })

  it('names the file on stderr, unless quiet', async () => {
    cli.instance.use(listOf(1))
    const { file } = place()
    expect((await cli.run(['list', '--out', file])).stderr).toBe(`wrote ${file}\n`)
    expect((await cli.run(['list', '-q', '--out', `${file}2`])).stderr).toBe('')
  })

  it('is also written after a partial success', async () => {
    cli.instance.use(
      http.get(byId, ({ params }) =>
        params['id'] === '8' ? fails(404, 'not_found') : HttpResponse.json(consent({ id: String(params['id']) })),
      ),
    )
    const { file } = place()
    expect(await cli.run(['get', '7', '8', '9', '-q', '--out', file])).toMatchObject({ code: 8 })
    expect(readFileSync(file, 'utf8')).toBe('7\n9\n')
  })
})

describe('an existing file is rejected before any request', () => {
  it.each([
    ['a file', (file: string) => writeFileSync(file, 'mine')],
    ['a folder', (file: string) => mkdirSync(file)],
    ['a link to nothing', (file: string) => symlinkSync('/nowhere/at/all', file)],
  ])('%s with that name exits with 2', async (_, make) => {
    const { folder, file } = place()
    make(file)
    expectUnsent(cli, await cli.run(['rm', '7', '--yes', '--out', file]), 'already exists')
    expect(readdirSync(folder)).toEqual(['records'])
  })

  it.each([
    ['', 2],
    ['-', 2],
    ['/nowhere/at/all', 1],
  ])('--out %j exits with %i', async (file, exit) => {
    expectExit(await cli.run(['list', '--json', `--out=${file}`]), exit, { exit })
    expect(cli.sent()).toEqual([])
  })

  it('a file created meanwhile stays, and the records are saved next to it', async () => {
    const { folder, file } = place()
    cli.instance.use(
      http.delete(byId, () => {
        writeFileSync(file, 'mine')
        return HttpResponse.json(consent())
      }),
    )
    const { code, stderr } = await cli.run(['rm', uuid(1), '--yes', '-q', '--out', file])
    expect(code).toBe(1)
    expect(readFileSync(file, 'utf8')).toBe('mine')
    const [part = ''] = readdirSync(folder).filter(name => name.endsWith('.part'))
    expect(stderr).toContain(part)
    expect(readFileSync(join(folder, part), 'utf8')).toBe(`${uuid(1)}\n`)
  })
})

describe('--force', () => {
  it('overwrites a file only when the records are complete, readable only by its owner', async () => {
    cli.instance.use(listOf(2))
    const { folder, file } = place()
    writeFileSync(file, 'before', { mode: 0o644 })
    expect(await cli.run(['list', '-q', '--out', file, '--force'])).toMatchObject({ code: 0 })
    expect(readFileSync(file, 'utf8')).toBe(`${uuid(0)}\n${uuid(1)}\n`)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(['records'])
  })

  it('when the list fails, leaves the file unchanged; creates one if there is no file', async () => {
    cli.instance.use(http.get(consentsPath, () => fails(400, 'invalid_request')))
    const { folder, file } = place()
    writeFileSync(file, 'before')
    expect(await cli.run(['list', '--out', file, '--force'])).toMatchObject({ code: 5 })
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['before', ['records']])
    cli.instance.use(listOf(1))
    expect(await cli.run(['list', '-q', '--out', `${file}2`, '--force'])).toMatchObject({ code: 0 })
    expect(readdirSync(folder)).toEqual(['records', 'records2'])
  })

  it('never overwrites a folder or a link', async () => {
    const { folder, file } = place()
    mkdirSync(file)
    symlinkSync(file, `${file}2`)
    for (const path of [file, `${file}2`]) {
      expectExit(await cli.run(['list', '--out', path, '--force']), 2, 'is not a regular file')
    }
    expect(readdirSync(folder)).toEqual(['records', 'records2'])
    expect(cli.sent()).toEqual([])
  })

  it.each([
    [['list', '--force']],
    [['subject', 'export', 'a', '--out', 'x', '--force']],
    [['config', 'path', '--force']],
  ])('%j is a usage error', async args => {
    expectUnsent(cli, await cli.run(args))
  })
})

describe('a failure leaves no partial file', () => {
  it('a list that fails midway leaves no file and suggests no cursor', async () => {
    let page = 0
    cli.instance.use(
      http.get(consentsPath, () => {
        page += 1
        return page === 1 ? HttpResponse.json({ data: [consent()], next_cursor: 'c' }) : fails(400, 'invalid_request')
      }),
    )
    const { folder, file } = place()
    const { code, stderr } = await cli.run(['list', '--out', file])
    expect(code).toBe(5)
    expect(stderr).not.toContain('--cursor')
    expect(readdirSync(folder)).toEqual([])
  })

  it.each([['get'], ['rm', '--yes']])('a missing record leaves no file: %s', async (...words) => {
    cli.instance.use(
      http.get(byId, () => fails(404, 'not_found')),
      http.delete(byId, () => fails(404, 'not_found')),
    )
    const { folder, file } = place()
    const { code, stderr } = await cli.run([...words, '7', '--out', file])
    expect(code).toBe(3)
    expect(stderr).not.toContain(file)
    expect(readdirSync(folder)).toEqual([])
  })

  it('invalid options leave no file', async () => {
    const { folder, file } = place()
    expect(await cli.run(['list', '--all', '--limit', '3', '--out', file])).toMatchObject({ code: 2 })
    expect(readdirSync(folder)).toEqual([])
  })
})

it('writes a new key only to the file', async () => {
  signedIn(cli, 'post', keysPath, () => ({ ...apiKeyOf(), key: newKey }))
  const { file } = place()
  const { code, stdout, stderr } = await runAs(cli, ['keys', 'create', '--name', 'a', '--json', '--out', file])
  expect(code).toBe(0)
  expect(stdout + stderr).not.toContain(newKey)
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ key: newKey })
})

it('creates no file without it', async () => {
  cli.instance.use(answers('get', byId, consent()))
  const { file } = place()
  await cli.run(['get', '7'])
  expect(existsSync(file)).toBe(false)
})
