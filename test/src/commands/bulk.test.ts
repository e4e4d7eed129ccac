import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { useFolder } from '../../support/cli.ts'
import { consent, consentsPath, fails, screen, site, useCli, uuid } from '../support.ts'

const cli = useCli()
const folder = useFolder()

interface Row {
  readonly line: number
  readonly result: string
  readonly id: string | null
  readonly error_code: string | null
}

type Draft = Record<string, unknown>

/** Creates records whose id is their subject; `wait` and `status` of a draft's preferences say how it answers. */
function creating() {
  let running = 0
  const most = { count: 0 }
  cli.instance.use(
    http.post(consentsPath, async ({ request }) => {
      const { subject_id = 'none', preferences } = (await request.json()) as Draft
      const {
        wait = 0,
        status = 201,
        error = 'invalid_request',
      } = (preferences ?? {}) as {
        wait?: number
        status?: number
        error?: string
      }
      running += 1
      most.count = Math.max(most.count, running)
      await delay(wait)
      running -= 1
      return status === 201
        ? HttpResponse.json(consent({ id: String(subject_id) }), { status })
        : fails(status, error)
    }),
  )
  return most
}

const line = (subject_id: string, preferences?: object) => JSON.stringify({ subject_id, preferences })

async function bulk(stdin: string | Uint8Array, ...flags: string[]) {
  const ran = await cli.run(['create', '--file', '-', '--site', site, '-o', 'ndjson', ...flags], { stdin })
  const rows = ran.stdout.split('\n').filter(Boolean)
  return { ...ran, rows: rows.map(row => JSON.parse(row) as Row) }
}

const ids = (rows: readonly Row[]) => rows.map(({ line, id }) => [line, id])

describe('one result per line, in the order of the lines', () => {
  it('however long each takes, and with never more than 8 requests under way', async () => {
    const most = creating()
    const lines = Array.from({ length: 40 }, (_, index) => line(String(index), { wait: (index * 7) % 30 }))
    const { code, rows, stderr } = await bulk(lines.join('\n'))
    expect(code).toBe(0)
    expect(ids(rows)).toEqual(lines.map((_, index) => [index + 1, String(index)]))
    expect(rows[0]).toEqual({ line: 1, result: 'created', id: '0', error_code: null })
    expect(most.count).toBeLessThanOrEqual(8)
    expect(most.count).toBeGreaterThan(1)
    expect(stderr).toContain('created 40 records on default@')
  })

  it.each([
    [
      'CRLF',
      `${line('a')}\r\n${line('b')}\r\n`,
      [
        [1, 'a'],
        [2, 'b'],
      ],
    ],
    ['a byte order mark', `\ufeff${line('a')}\n`, [[1, 'a']]],
    [
      'blank lines',
      `\n\n${line('a')}\n\r\n\n${line('b')}\n\n`,
      [
        [3, 'a'],
        [6, 'b'],
      ],
    ],
    [
      'a last line without its end',
      `${line('a')}\n${line('b')}`,
      [
        [1, 'a'],
        [2, 'b'],
      ],
    ],
    ['no line at all', '', []],
  ])('with %s', async (_, text, expected) => {
    creating()
    const { code, rows } = await bulk(text)
    expect(code).toBe(0)
    expect(ids(rows)).toEqual(expected)
  })

  it('of a file, whose records carry --site unless they name their own', async () => {
    creating()
    const file = join(folder.path, 'two.ndjson')
    writeFileSync(file, `{"subject_id":"a"}\n{"site_id":"${uuid(5)}","subject_id":"b","accepted":true}\n`)
    expect(await cli.run(['create', '--file', file, '--site', site])).toMatchObject({ code: 0 })
    rmSync(file)
    const bodies = cli.sent().map(({ body }) => body as Draft)
    expect(bodies.sort((a, b) => String(a['subject_id']).localeCompare(String(b['subject_id'])))).toEqual([
      { site_id: site, subject_id: 'a' },
      { site_id: uuid(5), subject_id: 'b', accepted: true },
    ])
  })

  it('sends every field as it is, known or not: the service decides', async () => {
    creating()
    const draft = {
      site_id: uuid(5),
      acepted: true,
      preferences: { a: { b: [1.5, null] } },
      policy_version: 2,
    }
    await bulk(JSON.stringify(draft))
    expect(cli.sent()[0]?.body).toEqual(draft)
  })

  it('on a terminal no id and no result is cut, whatever the first line became', async () => {
    creating()
    const stdin = `{"broken\n${line(uuid(7))}\n`
    const { stdout } = await cli.run(['create', '--file', '-', '--site', site], {
      ...screen,
      columns: 80,
      stdin,
    })
    expect(stdout).toContain(uuid(7))
    expect(stdout).toContain('created')
    expect(stdout).not.toContain('…')
  })
})

describe('lines that are no record', () => {
  it.each([
    ['{"a":', 'is not valid JSON'],
    ['[1]', 'is no JSON object'],
    ['"text"', 'is no JSON object'],
    ['{"a":1,"a":2}', 'has the key "a" twice'],
    ['{"preferences":{"a":1,"\\u0061":2}}', 'twice'],
    ['{"policy_version":9007199254740993}', 'has a number'],
    ['{"a":1}{"b":2}', 'is not valid JSON'],
  ])('%s is reported with its number, and the others go on', async (bad, problem) => {
    creating()
    const { code, rows, stderr } = await bulk(`${line('a')}\n\n${bad}\n${line('b')}\n`)
    expect(code).toBe(8)
    expect(rows.map(row => row.result)).toEqual(['created', 'failed', 'created'])
    expect(rows[1]).toEqual({ line: 3, result: 'failed', id: null, error_code: 'invalid_data' })
    expect(stderr).toMatch(/line 3/)
    expect(stderr).toContain(problem.replaceAll('"', '\\"'))
    expect(cli.sent()).toHaveLength(2)
  })

  it('invalid UTF-8 is reported with its number, and never repaired', async () => {
    creating()
    const stdin = Buffer.concat([
      Buffer.from(`${line('a')}\n{"subject_id":"`),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}\n'),
    ])
    const { code, rows, stderr } = await bulk(stdin)
    expect(code).toBe(8)
    expect(rows.map(row => row.result)).toEqual(['created', 'failed'])
    expect(stderr).toContain('line 2 is not valid UTF-8')
  })

  it('a line without a site is reported where none is given', async () => {
    creating()
    const { code, stderr } = await cli.run(['create', '--file', '-'], { stdin: '{"subject_id":"a"}\n' })
    expect(code).toBe(5)
    expect(stderr).toContain('line 1 has no site_id')
    expect(cli.sent()).toEqual([])
  })

  it('a line longer than 1 MiB ends it as a partial success, and every line before it has its result', async () => {
    creating()
    const file = join(folder.path, 'long.ndjson')
    writeFileSync(file, `${line('a')}\n${line('b')}\n"${'x'.repeat(2_000_000)}"\n`)
    const { code, stdout, stderr } = await cli.run(['create', '--file', file, '--site', site, '-q'])
    expect(code).toBe(8)
    expect(stderr).toContain('line 3')
    expect(stderr).toContain('the lines that follow were not read')
    expect(stdout).toBe('a\nb\n')
  })
})

describe('refusals of the instance', () => {
  it('of some lines end with 8, each named with its code', async () => {
    creating()
    const { code, rows, stderr } = await bulk([line('a'), line('b', { status: 400 }), line('c')].join('\n'))
    expect(code).toBe(8)
    expect(rows[1]).toEqual({ line: 2, result: 'failed', id: null, error_code: 'invalid_request' })
    expect(stderr).toContain('created 2 records on ')
  })

  it('of all lines alike end with their own exit code', async () => {
    creating()
    const all = [line('a', { status: 400 }), line('b', { status: 400 })].join('\n')
    expect(await bulk(all)).toMatchObject({ code: 5 })
  })

  it.each([
    [401, 'unauthorized', 4],
    [429, 'quota_exceeded', 6],
  ])('that no later line can escape (%i %s) end it at once', async (status, error, exit) => {
    creating()
    const lines = Array.from({ length: 200 }, (_, index) => line(String(index), { status, error }))
    const { code } = await bulk(lines.join('\n'))
    expect(code).toBe(exit)
    expect(cli.sent().length).toBeLessThanOrEqual(16)
  })

  it('a bad key is told with the source that it came from', async () => {
    creating()
    const { stderr } = await cli.run(['create', '--file', '-', '--site', site], {
      stdin: line('a', { status: 401, error: 'unauthorized' }),
    })
    expect(stderr).toContain('CONSENTCTL_API_KEY')
  })

  it('whatever was created while it stopped is told, for it exists', async () => {
    creating()
    const over = line('over', { status: 429, error: 'quota_exceeded', wait: 20 })
    const { rows } = await bulk([line('a'), over, line('b'), line('c')].join('\n'))
    const told = rows.filter(row => row.result === 'created').map(row => row.id)
    const made = cli
      .sent()
      .map(({ body }) => (body as Draft)['subject_id'])
      .filter(id => id !== 'over')
    expect(told.sort()).toEqual(made.sort())
  })

  it('of a temporary kind do not stop it', async () => {
    creating()
    cli.instance.use(http.get('*/api/v1/openapi.json', () => fails(404, 'not_found')))
    const { code, rows, stderr } = await bulk(
      [line('a', { status: 429, error: 'rate_limited' }), line('b'), line('c', { status: 503 })].join('\n'),
    )
    expect(code).toBe(8)
    expect(rows.map(row => row.result)).toEqual(['failed', 'created', 'unknown'])
    expect(stderr).toContain(', 1 failed, 1 unknown')
  })
})
