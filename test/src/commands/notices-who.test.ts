import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, expectExit, fails, machineError, ndjson, screen, site, useCli, uuid, words } from '../support.ts'

const cli = useCli()
const path = '*/api/v1/sites/:id/notices/:version/subjects'

const person = (index: number) => ({
  id: uuid(index),
  subject_id: `person-${index}`,
  site_id: site,
  policy_version: 1,
  notice_held: index % 2 === 0,
  notice_locale: null,
  created_at: '2026-01-31T09:30:00.000Z',
  updated_at: '2026-01-31T09:30:00.000Z',
  expires_at: null,
  given_at: index % 2 === 0 ? null : '2020-05-01T10:00:00.000Z',
})

/** Pages of these sizes; a cursor says which page comes next. */
const pagesOf = (...sizes: number[]) =>
  http.get(path, ({ request }) => {
    const index = Number(new URL(request.url).searchParams.get('cursor') ?? 0)
    const start = sizes.slice(0, index).reduce((sum, size) => sum + size, 0)
    const data = Array.from({ length: sizes[index] ?? 0 }, (_, at) => person(start + at))
    return HttpResponse.json({ data, limit: 100, next_cursor: index + 1 < sizes.length ? String(index + 1) : null })
  })

const who = (...more: string[]) => cli.run(['notices', 'who', '--version', '1', ...more])

describe('notices who', () => {
  it('follows short and empty pages to the end', async () => {
    cli.instance.use(pagesOf(2, 0, 0, 3))
    const { code, stdout } = await who('--site', site, '-o', 'ndjson')
    expect(code).toBe(0)
    expect(ndjson(stdout)).toEqual([0, 1, 2, 3, 4].map(person))
    expect(cli.sent().map(sent => [sent.path, sent.query])).toEqual(
      [undefined, '1', '2', '3'].map(cursor => [
        `/api/v1/sites/${site}/notices/1/subjects`,
        { ...(cursor && { cursor }), limit: '100' },
      ]),
    )
  })

  it('prints a table on a terminal, CSV on request, and nothing if there are no persons', async () => {
    cli.instance.use(pagesOf(1))
    const shown = await cli.run(['notices', 'who', '--version=1', '--site', site], screen)
    expect(shown.stdout).toMatch(/SUBJECT_ID +STATED/)
    expect(shown.stderr).toContain('1 person')
    expect((await who('--site', site, '-o', 'csv', '--columns', 'subject_id')).stdout).toBe(
      'subject_id\r\nperson-0\r\n',
    )
    cli.instance.use(pagesOf(0))
    expect(await who('--site', site, '--json')).toMatchObject({ code: 0, stdout: '[]\n' })
  })

  it('prints the command that continues a list that an error interrupted', async () => {
    cli.instance.use(
      http.get(path, ({ request }) => (request.url.includes('cursor') ? fails(429, 'quota_exceeded') : undefined)),
      pagesOf(2, 2),
    )
    const { code, stderr } = await who('--site', site, '--json')
    expect(code).toBe(6)
    const { hint } = machineError(stderr)
    expect(words(String(hint))).toEqual(expect.arrayContaining(['notices', 'who', '--version', '1', '--cursor']))
  })

  it('when a cursor repeats itself, exits with 5', async () => {
    cli.instance.use(answers('get', path, { data: [], limit: 100, next_cursor: 'x' }))
    expect((await who('--site', site)).code).toBe(5)
  })

  it.each([
    ['notices', 'who', '--site', site],
    ['notices', 'who', '--version', '0', '--site', site],
    ['notices', 'who', '--version', '1', '--version', '2', '--site', site],
    ['notices', 'who', '--version', '1'],
  ])('%s %s %s %s %s %s: exits with 2 before any request', async (...args) => {
    expect((await cli.run(args.filter(word => word !== undefined))).code).toBe(2)
    expect(cli.instance.requests).toEqual([])
  })

  it('does not change the meaning of --version in other commands', async () => {
    for (const args of [
      ['--version'],
      ['-V'],
      ['notices', '--version'],
      ['list', '--version'],
      ['notices', 'who', '-V'],
    ])
      expect(await cli.run(args), args.join(' ')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+/) })
  })

  it('when the instance lacks it, exits with 2 (not_offered)', async () => {
    cli.instance.use(http.get('*/api/v1/*', () => fails(404, 'not_found')))
    expectExit(await who('--site', site, '--json'), 2, { code: 'not_offered' })
  })
})
