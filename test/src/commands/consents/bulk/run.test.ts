import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { freePort } from '../../../../support/postgres.ts'
import {
  answers,
  consent,
  consentsPath,
  expectExit,
  expectNoStdout,
  fails,
  ndjson,
  screen,
  site,
  uuid,
} from '../../../support.ts'
import { type Row, useJobs } from './jobs.ts'

const { cli, folder, create } = useJobs()

type Draft = Record<string, unknown>

/** Creates records whose id is their subject; `wait` and `status` in a draft's preferences control the answer. */
function creating() {
  let running = 0
  const most = { count: 0 }
  cli.instance.use(
    answers('get', '*/api/v1/openapi.json', { error: 'not_found', message: 'no' }, 404),
    answers('get', '*/api/v1/usage', { error: 'not_found', message: 'no' }, 404),
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
      return status === 201 ? HttpResponse.json(consent({ id: String(subject_id) }), { status }) : fails(status, error)
    }),
  )
  return most
}

const line = (subject_id: string, preferences?: object) => JSON.stringify({ subject_id, preferences })

const importLines = (stdin: string | Uint8Array, ...flags: string[]) =>
  create(['--file', '-', '--site', site, ...flags], stdin)

const ids = (rows: readonly Row[]) => rows.map(({ line, id }) => `${line}:${id}`)

describe('create --file: results', () => {
  it('prints one result per line in line order, with at most 8 requests in flight', async () => {
    const most = creating()
    const lines = Array.from({ length: 40 }, (_, index) => line(String(index), { wait: (index * 7) % 30 }))
    const { code, rows, stderr } = await importLines(lines.join('\n'))
    expect(code).toBe(0)
    expect(ids(rows)).toEqual(lines.map((_, index) => `${index + 1}:${index}`))
    expect(rows[0]).toEqual({ line: 1, result: 'created', id: '0', error_code: null, message: null })
    expect(most.count).toBeLessThanOrEqual(8)
    expect(most.count).toBeGreaterThan(1)
    expect(stderr).toContain('created 40 records on default@')
  })

  it.each([
    ['CRLF', `${line('a')}\r\n${line('b')}\r\n`, '1:a 2:b'],
    ['a byte order mark', `\ufeff${line('a')}\n`, '1:a'],
    ['blank lines', `\n\n${line('a')}\n\r\n\n${line('b')}\n\n`, '3:a 6:b'],
    ['lines of blanks alone', ` \n${line('a')}\n\t \r\n\r\r\n ${line('b')} \n  `, '2:a 5:b'],
    ['a last line without its end', `${line('a')}\n${line('b')}`, '1:a 2:b'],
    ['no line at all', '', ''],
  ])('numbers the lines as in the file: %s', async (_, text, expected) => {
    creating()
    const { code, rows } = await importLines(text)
    expect(code).toBe(expected === '' ? 5 : 0)
    expect(ids(rows).join(' ')).toBe(expected)
  })

  it.each([
    ['nothing', '', [], 'has no line'],
    ['blank lines', '\n  \n', [], 'has no line'],
    ['a header', 'subject_id\n', ['--format', 'csv'], 'has no line but its header'],
  ])('when the file has only %s, fails, or warns with --allow-empty', async (_, text, flags, told) => {
    const file = join(folder.path, 'empty')
    writeFileSync(file, text)
    for (const command of [
      ['create', '--site', site],
      ['update', '--refused'],
      ['rm', '--yes'],
    ]) {
      const stdin = command[0] === 'create' ? text : text.replace('subject_', '')
      writeFileSync(file, stdin)
      for (const input of command[0] === 'rm' ? [file] : [file, '-']) {
        const given = [...command, ...flags, '--file', input]
        const { code, stderr } = await cli.run(given, { stdin })
        expect([code, cli.sent()], stderr).toEqual([5, []])
        expect(stderr).toContain(told)
        expect(stderr).toContain('--allow-empty')
        expect(await cli.run([...given, '--allow-empty'], { stdin })).toMatchObject({ code: 0 })
      }
    }
    writeFileSync(file, text)
    const args = ['create', '--site', site, '-q', '--allow-empty', ...flags, '--file']
    expect(await cli.run([...args, file])).toEqual({ code: 0, stdout: '', stderr: `${file} ${told}\n` })
    const piped = await cli.run([...args, '-'], { stdin: text })
    expect(piped).toEqual({ code: 0, stdout: '', stderr: `standard input ${told}\n` })
    const dry = await cli.run([...args, '-', '--dry-run'], { stdin: text })
    expect(dry.stderr).toMatch(new RegExp(`^standard input ${told}\\nwould create 0 records`))
  })

  it('applies --site to records without a site', async () => {
    creating()
    const file = join(folder.path, 'two.ndjson')
    writeFileSync(file, `{"subject_id":"a"}\n{"site_id":"${uuid(5)}","subject_id":"b","accepted":true}\n`)
    expect(await cli.run(['create', '--file', file, '--site', site])).toMatchObject({ code: 0 })
    rmSync(file)
    const bodies = cli.sent().flatMap(({ body }) => (body ? [body as Draft] : []))
    expect(bodies.sort((a, b) => String(a['subject_id']).localeCompare(String(b['subject_id'])))).toEqual([
      { site_id: site, subject_id: 'a' },
      { site_id: uuid(5), subject_id: 'b', accepted: true },
    ])
  })

  it('sends every field unchanged', async () => {
    creating()
    const draft = {
      site_id: uuid(5).toUpperCase(),
      accepted: true,
      preferences: { a: { b: [1.5, null] } },
      policy_version: 2,
    }
    await importLines(JSON.stringify(draft))
    expect(cli.sent()[0]?.body).toEqual(draft)
  })

  it('on a terminal, shows ids and results in full', async () => {
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

describe('create --file -: invalid lines', () => {
  it.each([
    ['{"a":', 'is not valid JSON'],
    ['[1]', 'is not a JSON object'],
    ['"text"', 'is not a JSON object'],
    ['{"a":1,"a":2}', 'has the key "a" twice'],
    ['{"preferences":{"a":1,"\\u0061":2}}', 'twice'],
    ['{"policy_version":9007199254740993}', 'has a number'],
    ['{"a":1}{"b":2}', 'is not valid JSON'],
    ['{"acepted":true}', '"acepted" is not a field of a new record'],
    ['{"id":"7"}', '"id" is not a field of a new record'],
    ['{"accepted":"true"}', 'accepted must be true or false'],
    ['{"subject_id":""}', 'subject_id must not be empty'],
    ['{"policy_version":0}', 'policy_version must be from 1'],
    ['{"ip_address":"1.2.3"}', 'ip_address must be an IPv4 or IPv6 address'],
  ])('reports %s with its line number, and sends the other lines', async (bad, problem) => {
    creating()
    const { code, rows, stderr } = await importLines(`${line('a')}\n\n${bad}\n${line('b')}\n`)
    expect(code).toBe(8)
    expect(rows.map(row => row.result)).toEqual(['created', 'failed', 'created'])
    expect(rows[1]).toMatchObject({ line: 3, result: 'failed', id: null, error_code: 'invalid_data' })
    expect(rows[1]?.message).toContain(problem)
    expect(stderr).toMatch(/line 3/)
    expect(stderr).toContain(problem.replaceAll('"', '\\"'))
    expect(cli.sent()).toHaveLength(2)
  })

  it('reports invalid UTF-8 with its line number, and never repairs it', async () => {
    creating()
    const stdin = Buffer.concat([
      Buffer.from(`${line('a')}\n{"subject_id":"`),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}\n'),
    ])
    const { code, rows, stderr } = await importLines(stdin)
    expect(code).toBe(8)
    expect(rows.map(row => row.result)).toEqual(['created', 'failed'])
    expect(stderr).toContain('line 2 is not valid UTF-8')
  })

  it('reports a line without site_id when --site is missing', async () => {
    creating()
    const ran = await cli.run(['create', '--file', '-'], { stdin: '{"subject_id":"a"}\n' })
    expectExit(ran, 5, 'line 1 has no site_id', 'config set site NAME')
    expect(cli.sent()).toEqual([])
  })

  it('at a line over 1 MiB exits with 8, after the results of all lines before it', async () => {
    creating()
    const { code, rows, stderr } = await importLines(`${line('a')}\n${line('b')}\n"${'x'.repeat(2_000_000)}"\n`)
    expect(code).toBe(8)
    expect(stderr).toContain('line 3')
    expect(stderr).toContain('later lines were not sent')
    expect(rows.map(row => row.id)).toEqual(['a', 'b'])
  })
})

describe('create --file: errors of the instance', () => {
  it('exit with 8 when they concern some lines, and each line has its error code', async () => {
    creating()
    const { code, rows, stderr } = await importLines([line('a'), line('b', { status: 400 }), line('c')].join('\n'))
    expect(code).toBe(8)
    expect(rows[1]).toEqual({
      line: 2,
      result: 'failed',
      id: null,
      error_code: 'invalid_request',
      message: 'it failed',
    })
    expect(stderr).toContain('created 2 records on ')
  })

  it('with JSON output, are printed as JSON lines like all messages', async () => {
    creating()
    const bad = Array.from({ length: 6 }, (_, index) => line(`bad ${index}`, { status: 400 }))
    const { stderr } = await importLines([line('a'), ...bad].join('\n'), '--concurrency', '1')
    const told = ndjson(stderr)
    expect(told.flatMap(each => Object.keys(each))).toEqual(['error', 'error', 'error', 'warning', 'note'])
    expect(told[3]).toEqual({ warning: { message: 'and 3 more errors like line 2' } })
    expect(told[4].note.message).toMatch(/^created 1 record on /)
  })

  it.each([
    [401, 'unauthorized', 4],
    [429, 'quota_exceeded', 6],
  ])('stop the job when every later line would fail alike (%i %s)', async (status, error, exit) => {
    creating()
    const lines = Array.from({ length: 200 }, (_, index) => line(String(index), { status, error }))
    expect((await importLines(lines.join('\n'))).code).toBe(exit)
    expect(cli.sent().length).toBeLessThanOrEqual(16)
  })

  it('name the source of a rejected key', async () => {
    creating()
    const { stderr } = await cli.run(['create', '--file', '-', '--site', site], {
      stdin: line('a', { status: 401, error: 'unauthorized' }),
    })
    expect(stderr).toContain('CONSENTCTL_API_KEY')
  })

  it('when they stop the job, records created by requests in flight are printed', async () => {
    creating()
    const over = line('over', { status: 429, error: 'quota_exceeded', wait: 20 })
    const { rows } = await importLines([line('a'), over, line('b'), line('c')].join('\n'))
    const told = rows.filter(row => row.result === 'created').map(row => row.id)
    const made = cli
      .sent()
      .map(({ body }) => (body as Draft)['subject_id'])
      .filter(id => id !== 'over')
    expect(told.sort()).toEqual(made.sort())
  })

  it('when they are temporary, do not stop the job', async () => {
    creating()
    cli.instance.use(http.get('*/api/v1/openapi.json', () => fails(404, 'not_found')))
    const { code, rows, stderr } = await importLines(
      [line('a', { status: 429, error: 'rate_limited' }), line('b'), line('c', { status: 503 })].join('\n'),
    )
    expect(code).toBe(8)
    expect(rows.map(row => row.result)).toEqual(['failed', 'created', 'unknown'])
    expect(stderr).toContain(', 1 failed, 1 unknown')
  })
})

it('create --file accepts both samples in the manual, and sends the same records', async () => {
  creating()
  const manual = readFileSync('src/commands/README.md', 'utf8')
  const importSample = async (format: string) => {
    const sample = new RegExp(`<!-- import ${format} -->\n\`\`\`\\w+\n([^\`]*)`).exec(manual)?.[1] ?? ''
    const { rows } = await importLines(sample, '--format', format, '--concurrency', '1')
    expect(rows).toHaveLength(2)
    return cli.instance.requests.splice(0).flatMap(({ text }) => (text ? [JSON.parse(text)] : []))
  }
  const [ndjson, csv] = [await importSample('ndjson'), await importSample('csv')]
  expect(csv).toEqual(ndjson)
  expect(ndjson).toHaveLength(2)
})

describe('create --file: when the instance cannot be reached', () => {
  const env = async () => ({
    CONSENTCTL_MAX_WAIT: '0',
    CONSENTCTL_BASE_URL: `http://127.0.0.1:${await freePort()}`,
  })
  const file = () => {
    const path = join(folder.path, 'unsent.ndjson')
    writeFileSync(path, `${line('a')}\n`.repeat(200))
    return path
  }

  it('when the quota cannot be read, exits before it creates a job', async () => {
    const ran = await cli.run(['create', '--file', file(), '--site', site], { env: await env() })
    expect(ran).toMatchObject({ code: 7, stdout: '' })
    expect(ran.stderr).toMatch(/^error: no answer from .*\ntry: check that the instance is running.*\n$/)
  })

  it('stops after the lines in flight, reports it once, and suggests --resume with the same flags', async () => {
    const flags = ['--concurrency', '4', '--max-errors', '9', '--fail-fast', '--ignore-quota', '--no-batch']
    const ran = await cli.run(['create', '--file', file(), '--site', site, ...flags], { env: await env() })
    expect(ran.code).toBe(7)
    expect(ran.stdout.split('\n').length).toBeLessThanOrEqual(9)
    expect(ran.stderr.match(/no answer from/g)).toHaveLength(1)
    expect(ran.stderr).toMatch(/stopped after line \d: the lines after it would fail for the same reason/)
    expect(ran.stderr).toMatch(new RegExp(`to resume: .* --resume [\\da-f-]{36} ${flags.join(' ')}\n$`))
  })
})

it('create --file reports three rejected lines of each kind with one hint, and writes all to --failed-out', async () => {
  creating()
  const lines = Array.from({ length: 9 }, (_, index) => line(String(index), { status: index % 2 ? 404 : 409 }))
  const failed = join(folder.path, 'failed')
  const { code, rows, stderr } = await importLines(lines.join('\n'), '--failed-out', failed)
  expect(code).toBe(5)
  expect(rows).toHaveLength(9)
  expect(stderr.match(/"exit":/g)).toHaveLength(3)
  expect(stderr).toContain('{"warning":{"message":"and 6 more errors like line 1"}}\n')
  expect(readFileSync(failed, 'utf8').trimEnd()).toBe(lines.join('\n'))
})

describe('create --file: limits', () => {
  it.each([
    [['--max-errors', '3'], 3],
    [['--fail-fast'], 1],
  ])('with %j stops after %i failed lines', async (flags, most) => {
    creating()
    const lines = Array.from({ length: 60 }, (_, index) => line(String(index), { status: 400 }))
    expectExit(await importLines(lines.join('\n'), '--concurrency', '1', ...flags), 5, `stopped after line ${most}`)
    expect(cli.sent()).toHaveLength(most)
  })

  it.each([
    ['0', 2],
    ['65', 2],
    ['x', 2],
  ])('rejects --concurrency %s with a usage error', async (value, code) => {
    expect(await importLines('{}', '--concurrency', value)).toMatchObject({ code })
  })

  it('keeps as many requests in flight as --concurrency allows', async () => {
    const most = creating()
    const lines = Array.from({ length: 12 }, (_, index) => line(String(index), { wait: 30 }))
    await importLines(lines.join('\n'), '--concurrency', '3')
    expect(most.count).toBe(3)
  })
})

describe('create --file PATH', () => {
  const inFile = (text: string | Uint8Array, ...flags: string[]) => {
    const file = join(folder.path, 'records.ndjson')
    writeFileSync(file, text)
    return cli.run(['create', '--file', file, '--site', site, ...flags])
  }

  it('reports every invalid line, and sends nothing', async () => {
    const { code, stdout, stderr } = await inFile(`${line('a')}\n{"x":1}\n${line('b')}\n[]\n`)
    expect({ code, stdout }).toEqual({ code: 5, stdout: '2\tfailed\t\tinvalid_data\n4\tfailed\t\tinvalid_data\n' })
    expect(stderr).toMatch(/line 2: "x" is not a field/)
    expect(stderr).toContain('line 4 is not a JSON object')
    expect(stderr).toContain('2 lines of 4 cannot be sent, so nothing was')
  })

  it.each([
    ['a line longer than 1 MiB', `"${'x'.repeat(2_000_000)}"\n`, [], 'is longer than 1 MiB'],
    [
      'a header that is not UTF-8',
      Buffer.from('subj\xebct_id\na\n', 'latin1'),
      ['--format', 'csv'],
      'is not valid UTF-8',
    ],
    [
      'damaged UTF-16',
      Buffer.from('\ufeffsubject_id\n\ud83da\n', 'utf16le'),
      ['--format', 'csv'],
      'is not valid UTF-16',
    ],
  ])('when the file or stream starts with %s, reports that nothing was sent', async (_, bytes, flags, what) => {
    const told = expect.stringMatching(new RegExp(`${what}, so nothing was sent`))
    expect(await inFile(bytes, ...flags)).toMatchObject({ code: 5, stdout: '', stderr: told })
    expect(await importLines(bytes, ...flags)).toMatchObject({ code: 5, stdout: '', stderr: told })
    expect(cli.sent()).toEqual([])
  })

  it('reports at most --max-errors invalid lines', async () => {
    const { stderr } = await inFile('[]\n'.repeat(9), '--max-errors', '2')
    expect(stderr.match(/is not a JSON object/g)).toHaveLength(2)
  })

  it('when the file is invalid, writes the results to --out, with the reasons if --columns includes them', async () => {
    const out = join(folder.path, 'results.tsv')
    expect(await inFile('[]\n', '--out', out, '--columns', 'line,message')).toMatchObject({ code: 5, stdout: '' })
    expect(readFileSync(out, 'utf8')).toBe('1\tis not a JSON object\n')
  })

  it('with --dry-run validates the file, and sends nothing', async () => {
    expectNoStdout(await inFile(`${line('a')}\n${line('b')}\n`, '--dry-run'), 0, 'would create 2 records on default@')
    expect(await inFile('[]', '--dry-run')).toMatchObject({ code: 5 })
  })

  it.each([
    [500, 499, 6],
    [500, 500, 0],
    [9, 5, 6],
    [1, 0, 6],
  ])('when the file has %i lines and the quota %i requests left, exits with %i', async (lines, remaining, code) => {
    creating()
    const used = {
      month: '2026-01',
      used: 1,
      limit: 1000,
      remaining,
      resets_at: '2026-02-01T00:00:00.000Z',
    }
    cli.instance.use(answers('get', '*/api/v1/usage', used))
    const ran = await inFile(`${line('a')}\n`.repeat(lines), '-q')
    expect(ran.code).toBe(code)
    expect(cli.sent().filter(({ method }) => method === 'POST')).toHaveLength(code === 6 ? 0 : lines)
    if (code === 6) expect(ran.stderr).toContain(`would be sent, but only ${remaining} fit`)
  })

  it('when reading the quota fails with quota_exceeded, does not start', async () => {
    cli.instance.use(answers('get', '*/api/v1/usage', { error: 'quota_exceeded', message: 'used up' }, 429))
    expect(await inFile(`${line('a')}\n`)).toMatchObject({ code: 6, stdout: '' })
  })

  it('when the instance does not report its quota, sends the file; with --ignore-quota does not read it', async () => {
    creating()
    cli.instance.use(answers('get', '*/api/v1/usage', { error: 'not_found', message: 'no' }, 404))
    expect(await inFile(`${line('a')}\n`, '-q')).toMatchObject({ code: 0 })
    expect(await inFile(`${line('a')}\n`, '-q', '--ignore-quota')).toMatchObject({ code: 0 })
    expect(cli.sent().filter(({ path }) => path === '/api/v1/usage')).toHaveLength(1)
  })
})

describe('create --file: conflicting flags', () => {
  it.each([
    [['--file', '-', '--accepted']],
    [['--resume', 'last', '--subject', 'a']],
    [['--concurrency', '2']],
    [['--failed-out', 'x']],
    [['--file', '-', '--format', 'xml']],
  ])('are rejected with a usage error: %j', async flags => {
    expect(await cli.run(['create', ...flags])).toMatchObject({ code: 2, stdout: '' })
  })
})

it('create --file on a terminal shows its progress until it ends, unless --quiet is given', async () => {
  creating()
  const lines = Array.from({ length: 30 }, (_, index) => line(String(index), { wait: 200 })).join('\n')
  const options = { stdin: lines, tty: { stderr: true }, columns: 80 }
  const { stderr } = await cli.run(['create', '--file', '-', '--site', site], options)
  expect(stderr).toMatch(/\d+ lines sent, 0 failed, \d+\/s/)
  expect(stderr).toContain('\r\u001b[2Kcreated 30 records')
  expect((await cli.run(['create', '--file', '-', '--site', site, '-q'], options)).stderr).toBe('')
})
