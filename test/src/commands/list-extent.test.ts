import { http } from 'msw'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  consentsPath,
  fails,
  listOf,
  machineError,
  ndjson,
  resumption,
  screen,
  useCli,
  uuid,
  withoutFlag,
} from '../support.ts'

const cli = useCli()

describe('extent of a list', () => {
  it('off a terminal, follows next_cursor to the end and prints no footer', async () => {
    cli.instance.use(listOf(250))
    const { code, stdout, stderr } = await cli.run(['list', '-q'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(Array.from({ length: 250 }, (_, index) => `${uuid(index)}\n`).join(''))
    expect(cli.sent().map(({ query }) => query)).toEqual([
      { limit: '100' },
      { limit: '100', cursor: 'after-100' },
      { limit: '100', cursor: 'after-200' },
    ])
  })

  it('keeps the filters on every page', async () => {
    cli.instance.use(listOf(150))
    await cli.run(['list', '--subject', 'x', '--from', '7d'])
    const [first, second] = cli.sent()
    expect(second?.query).toEqual({ ...first?.query, cursor: 'after-100' })
  })

  it('stops at 50 on a terminal, and the footer shows how to continue', async () => {
    cli.instance.use(listOf(120))
    const { stdout, stderr } = await cli.run(['list', '--subject', 'x y'], { ...screen, columns: 200 })
    expect(stdout.trimEnd().split('\n')).toHaveLength(1 + 50)
    expect(stderr.split('\n').at(-2)).toBe(
      "50 records; to list more: consentctl list --subject 'x y' --cursor after-50",
    )
    expect(cli.sent()).toHaveLength(1)
  })

  it('--all reads to the end on a terminal too, and counts', async () => {
    cli.instance.use(listOf(120))
    const { stdout, stderr } = await cli.run(['list', '--all'], { ...screen, columns: 200 })
    expect(stdout.trimEnd().split('\n')).toHaveLength(1 + 120)
    expect(stderr.split('\n').at(-2)).toBe('120 records')
  })

  it.each([1, 50, 99, 100, 101, 199, 200, 249])(
    '--limit %i is exact, and its cursor continues without a gap',
    async limit => {
      cli.instance.use(listOf(250))
      const first = await cli.run(['list', '-o', 'id', '--limit', String(limit)])
      expect(first.stdout.split('\n')).toHaveLength(limit + 1)
      expect(first.stderr).toMatch(new RegExp(`^${limit} records?; to list more: consentctl list `))
      const args = resumption(first.stderr).filter(withoutFlag('--limit'))
      const rest = await cli.run(args)
      expect((first.stdout + rest.stdout).trim().split('\n')).toEqual(
        Array.from({ length: 250 }, (_, index) => uuid(index)),
      )
    },
  )

  it.each([250, 251, 1000])('prints no footer when --limit %i covers all 250', async limit => {
    cli.instance.use(listOf(250))
    const { stdout, stderr } = await cli.run(['list', '-o', 'id', '--limit', String(limit)])
    expect(stdout.split('\n')).toHaveLength(251)
    expect(stderr).toBe('')
  })

  it('--max-requests stops early and says so', async () => {
    cli.instance.use(listOf(1000))
    const { code, stdout, stderr } = await cli.run(['list', '--max-requests', '2', '-o', 'ndjson'])
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(200)
    expect(resumption(stderr)).toEqual('list --max-requests 2 -o ndjson --cursor after-200'.split(' '))
    expect(cli.sent()).toHaveLength(2)
  })
})

describe('the command that continues a list', () => {
  afterEach(() => void vi.useRealTimers())

  it('replaces the given cursor', async () => {
    cli.instance.use(listOf(300))
    const { stderr } = await cli.run(['list', '--cursor', 'after-100', '--limit=50'])
    expect(resumption(stderr)).toEqual(['list', '--limit=50', '--cursor', 'after-150'])
    const again = await cli.run(['list', '--limit', '50', '--cursor=after-150'])
    expect(resumption(again.stderr)).toEqual(['list', '--limit', '50', '--cursor', 'after-200'])
  })

  it('repeats the filters of the list', async () => {
    cli.instance.use(listOf(300))
    const { stderr } = await cli.run(['list', '--limit', '10', '--from', '7d', '--to', '1h'])
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 })
    expect(await cli.run(resumption(stderr))).toMatchObject({ code: 0 })
    const [first, second] = cli.sent()
    expect(second?.query).toEqual({ ...first?.query, cursor: 'after-10' })
  })

  it('uses the same instance', async () => {
    cli.instance.use(listOf(300))
    const env = { CONSENTCTL_BASE_URL: undefined }
    const { stderr } = await cli.run(['--base-url', cli.instance.url, 'list', '--limit', '1'], { env })
    const args = /consentctl (.*)$/m.exec(stderr)?.[1]?.split(' ') ?? []
    expect(await cli.run(args, { env })).toMatchObject({ code: 0 })
  })
})

describe('a failure', () => {
  const failing = (status: number, error: string) =>
    http.get(consentsPath, ({ request }) =>
      request.url.includes('cursor=after-200') ? fails(status, error) : undefined,
    )

  it.each([
    [503, 'unavailable', 7],
    [429, 'quota_exceeded', 6],
    [401, 'unauthorized', 4],
    [400, 'invalid_request', 5],
  ])('midway (%i %s), keeps the printed records and prints the command that continues', async (status, error, exit) => {
    cli.instance.use(failing(status, error), listOf(500))
    const { code, stdout, stderr } = await cli.run(['list', '-o', 'ndjson', '--subject', 'x'])
    expect(code).toBe(exit)
    expect(ndjson(stdout).map(row => row.id)).toEqual(Array.from({ length: 200 }, (_, index) => uuid(index)))
    expect(machineError(stderr)).toMatchObject({
      code: error,
      exit,
      hint: 'consentctl list -o ndjson --subject x --cursor after-200',
    })
  })

  it.each([[['-o', 'json']], [['-o', 'ndjson']], [['-o', 'tsv', '--header']], [['-o', 'table']], [['-q']]])(
    'on the first request, prints nothing on stdout: %j',
    async flags => {
      cli.instance.use(http.get(consentsPath, () => fails(401, 'unauthorized')))
      expect(await cli.run(['list', ...flags])).toMatchObject({ code: 4, stdout: '' })
    },
  )
})
