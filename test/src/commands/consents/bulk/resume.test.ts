import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, consent, consentsPath, expectExit, fails, site, uuid, words } from '../../../support.ts'
import { useJobs } from './jobs.ts'

const { cli, folder, jobs, jobsFolder, failedOut, create: createWith } = useJobs()

/** Answers with the refusal of a subject, if it has one, and else with 201 and the subject as the id. */
function serve(refusals: Record<string, [status: number, error: string]> = {}, honours = true) {
  const parameters = honours ? [{ in: 'header', name: 'Idempotency-Key' }] : []
  const document = { openapi: '3.1.1', paths: { '/api/v1/consents': { post: { parameters } } } }
  cli.instance.use(
    http.post(consentsPath, async ({ request }) => {
      const { subject_id } = (await request.json()) as { subject_id: string }
      const refusal = refusals[subject_id]
      return refusal ? fails(...refusal) : HttpResponse.json(consent({ id: subject_id }), { status: 201 })
    }),
    answers('get', '*/api/v1/openapi.json', document),
    answers('get', '*/api/v1/usage', { error: 'not_found', message: 'no' }, 404),
  )
}

const text = (...subjects: string[]) => subjects.map(subject_id => `${JSON.stringify({ subject_id })}\n`).join('')

function write(content: string): string {
  const file = join(folder.path, 'records.ndjson')
  writeFileSync(file, content)
  return file
}

const create = (...args: string[]) =>
  createWith([...(args.includes('--concurrency') ? [] : ['--concurrency', '1']), ...args])

const posts = () =>
  cli.instance.requests
    .filter(({ method }) => method === 'POST')
    .map(({ text, headers }) => ({
      subject: JSON.parse(text).subject_id as string,
      key: headers['idempotency-key'],
    }))

const jobFile = () => join(jobsFolder(), jobs()[0] ?? '')

/** A job of a, b, c and d that was stopped by the quota at b. */
async function stopped(): Promise<string> {
  serve({ b: [429, 'quota_exceeded'] })
  const ran = await create('--file', write(text('a', 'b', 'c', 'd')), '--site', site)
  expect(ran.code).toBe(8)
  cli.instance.requests.length = 0
  return /--resume ([\da-f-]{36})/.exec(ran.stderr)?.[1] ?? 'none'
}

const notFoundPage = () => HttpResponse.html('<h1>Not Found</h1>', { status: 404 })

/** A job of one line, whose answer was lost. */
async function lostAnswer() {
  serve({ a: [503, 'unavailable'] })
  await create('--file', write(text('a')), '--site', site)
}

describe('create --file: when the quota is used up', () => {
  it('does not count the lines that are not created yet as failed', async () => {
    serve({ b: [429, 'quota_exceeded'] })
    const last = await create('--file', write(text('a', 'b')), '--site', site)
    expect(last.stderr).toMatch(/created 1 record on [^,]*, 0 failed, 1 not created yet"/)
    expect(last.stderr).not.toContain('stopped after')
    const more = await create('--file', write(text('a', 'b', 'c')), '--site', site)
    expect(more.stderr).toContain('stopped after line 2: the lines after it would fail for the same reason')
    expect(more.stderr).toContain(', 0 failed, 2 not created yet')
    expect(more.stderr).toContain('to resume: consentctl create')
  })

  it('with --out, suggests a command that overwrites the file with all results', async () => {
    serve({ b: [429, 'quota_exceeded'] })
    const out = join(folder.path, 'results.ndjson')
    const first = await create('--file', write(text('a', 'b')), '--site', site, '--out', out)
    expect(first.code).toBe(8)
    const [, command = ''] = /to resume: consentctl (.*?)"\}/.exec(first.stderr) ?? []
    serve()
    const resumed = await cli.run(words(command))
    expect(resumed).toMatchObject({ code: 0, stdout: '' })
    const rows = readFileSync(out, 'utf8').trimEnd().split('\n')
    expect(rows.map(row => JSON.parse(row).id)).toEqual(['a', 'b'])
    rmSync(out)
  })
})

describe('create --file: lines that are not created', () => {
  /** `lost` may exist, `later` does not, both with the same message; `bad` is rejected. */
  const refuse = () => {
    serve({ bad: [400, 'invalid_request'], lost: [503, 'unavailable'], later: [503, 'unavailable'] })
    cli.instance.use(
      http.post(consentsPath, async ({ request }) => {
        const { subject_id } = (await request.clone().json()) as { subject_id: string }
        if (subject_id !== 'later') return undefined
        const headers = { 'Request-Not-Applied': 'true' }
        return HttpResponse.json({ error: 'unavailable', message: 'it failed' }, { status: 503, headers })
      }),
    )
  }

  it.each([
    [8, 'a line was rejected', ['lost', 'later', 'bad'], '1 failed, 1 not created yet, 1 unknown'],
    [11, 'none was, but one is unknown', ['a', 'lost', 'later'], '0 failed, 1 not created yet, 1 unknown'],
    [8, 'some are created and some not yet', ['a', 'later'], '0 failed, 1 not created yet'],
    [7, 'none is created yet', ['later', 'later'], '0 failed, 2 not created yet'],
    [5, 'all were rejected', ['bad', 'bad'], '2 failed'],
  ])('exit with %i if %s', async (code, _, subjects, counts) => {
    refuse()
    const ran = await create('--file', write(text(...subjects)), '--site', site)
    expect([ran.code, ran.stderr]).toEqual([code, expect.stringMatching(new RegExp(`, ${counts}"`))])
  })

  it('are reported separately: lines that may exist, and lines to retry', async () => {
    refuse()
    const { stderr } = await create('--file', write(text('lost', 'lost', 'lost', 'lost', 'later')), '--site', site)
    const told = stderr.split('\n').filter(Boolean)
    const errors = told.flatMap(each => JSON.parse(each).error ?? [])
    expect(errors.map(({ exit, retryable }) => [exit, retryable])).toEqual([...Array(3).fill([11, false]), [7, true]])
    expect(stderr).toContain('and 1 more errors like line 1"')
  })

  it('count towards --fail-fast', async () => {
    refuse()
    const { stderr } = await create('--file', write(text('a', 'later', 'b')), '--site', site, '--fail-fast')
    expect(stderr).toContain('stopped after line 2: 0 failed, 1 not created yet, and no more may')
    expect(stderr).toMatch(/created 1 record on [^,]*, 0 failed, 2 not created yet"/)
  })

  it('with --failed-out, count as failed, and the job ends', async () => {
    refuse()
    const flags = ['--site', site, '--failed-out', failedOut()]
    const ran = await create('--file', write(text('a', 'later')), ...flags)
    expect([ran.code, ran.stderr]).toEqual([8, expect.stringMatching(/, 1 failed"/)])
    expect(readFileSync(failedOut(), 'utf8')).toBe(text('later'))
  })
})

describe('create --resume', () => {
  it('creates the remaining lines, and prints a result for every line', async () => {
    const job = await stopped()
    serve()
    const { code, rows, stderr } = await create('--resume', job)
    expect(code).toBe(0)
    expect(rows.map(({ line, result, id }) => [line, result, id])).toEqual(
      ['a', 'b', 'c', 'd'].map((id, index) => [index + 1, 'created', id]),
    )
    expect(posts().map(({ subject }) => subject)).toEqual(['b', 'c', 'd'])
    expect(stderr).toContain('created 4 records on default@')
    expect(stderr).toContain('1 of them in earlier runs')
    expect(jobs()).toEqual([])
  })

  it('resends a line with the same Idempotency-Key', async () => {
    serve({ a: [503, 'unavailable'] })
    expect(await create('--file', write(text('a')), '--site', site)).toMatchObject({ code: 11 })
    expect(await create('--resume', 'last')).toMatchObject({ code: 11 })
    expect(new Set(posts().map(({ key }) => key)).size).toBe(1)
    expect(posts().length).toBeGreaterThan(1)
  })

  it('sends lines that were recorded as started but never sent, even after a day', async () => {
    const subjects = Array.from({ length: 150 }, (_, index) => `s${index + 1}`)
    serve({ s3: [429, 'quota_exceeded'] })
    const stopped = await create('--file', write(text(...subjects)), '--site', site, '--no-batch', '--ignore-quota')
    expect(stopped.code).toBe(8)
    const begun = /\["s",(\d+)/.exec(readFileSync(jobFile(), 'utf8'))?.[1]
    expect(posts().length).toBeLessThan(Number(begun))
    makeOlder(24 * hour)
    serve()
    const { code, rows } = await create('--resume', 'last', '--ignore-quota')
    expect(code).toBe(0)
    expect(rows.map(({ id }) => id)).toEqual(subjects)
  })

  it('when the instance has no Idempotency-Key, does not resend a line that may exist', async () => {
    serve({ a: [503, 'unavailable'] }, false)
    await create('--file', write(text('a', 'b')), '--site', site)
    cli.instance.requests.length = 0
    const { code, rows } = await create('--resume', 'last')
    expect(code).toBe(11)
    expect(rows.map(row => row.result)).toEqual(['unknown', 'created'])
    expect(posts()).toEqual([])
  })

  it('when the key of a line is over 23 hours old, does not resend it', async () => {
    await lostAnswer()
    makeOlder(24 * hour)
    cli.instance.requests.length = 0
    expect(await create('--resume', 'last')).toMatchObject({ code: 11 })
    expect(posts()).toEqual([])
  })

  it('measures the age of a key from its first use', async () => {
    await lostAnswer()
    makeOlder(22 * hour)
    cli.instance.requests.length = 0
    await create('--resume', 'last')
    expect(posts().length).toBeGreaterThan(0)
    makeOlder(2 * hour)
    cli.instance.requests.length = 0
    expect(await create('--resume', 'last')).toMatchObject({ code: 11 })
    expect(posts()).toEqual([])
  })

  it('suggests --resume for lost responses while their keys are valid, then consentctl list', async () => {
    serve({ a: [503, 'unavailable'], b: [503, 'unavailable'] })
    const advice = (stderr: string) => stderr.match(/consentctl (list|create .*--resume)/g)
    const ran = await create('--file', write(text('a', 'b')), '--site', site)
    expect(advice(ran.stderr)).toEqual([expect.stringContaining('--resume')])
    expect(ran.stderr).toContain('to retry what was not created')
    makeOlder(24 * hour)
    const late = await create('--resume', 'last')
    expect([late.code, advice(late.stderr)]).toEqual([11, ['consentctl list']])
    expect(late.stderr).toContain('2 lines may have been created or not')
  })

  it('when other lines are permanently lost, writes --failed-out', async () => {
    serve({ a: [503, 'unavailable'], b: [400, 'invalid_request'] })
    await create('--file', write(text('a', 'b')), '--site', site)
    makeOlder(24 * hour)
    const ran = await create('--resume', 'last')
    expect([ran.code, ran.rows.map(row => row.result)]).toEqual([8, ['unknown', 'failed']])
    expect(ran.stderr).toContain(
      '1 line may have been created or not: check with consentctl list before you create it again',
    )
    expect(ran.stderr).toContain('to retry the others: consentctl create')
    const last = await create('--resume', 'last', '--failed-out', failedOut())
    expect([last.code, readFileSync(failedOut(), 'utf8')]).toEqual([8, text('b')])
    expect(last.stderr).not.toContain('--resume')
    expect(jobs()).toEqual([])
  })

  it('when the job’s file has become a CSV, does not suggest --format csv', async () => {
    const job = await stopped()
    write('subject_id,accepted\nb,true\n')
    const { code, stderr } = await create('--resume', job)
    expect([code, stderr.includes('--format csv')]).toEqual([5, false])
    expect(posts()).toEqual([])
  })

  it.each([
    ['of an instance that honours no key', false],
    ['of standard input', true],
  ])('suggests consentctl list once for lost responses %s', async (_, honours) => {
    serve({ a: [503, 'unavailable'], b: [503, 'unavailable'] }, honours)
    const stdin = text('a', 'b')
    const args = ['create', '--site', site, '--file', honours ? '-' : write(stdin)]
    const { code, stderr } = await cli.run(args, { stdin })
    expect([code, stderr.match(/consentctl \w+/g)]).toEqual([11, ['consentctl list']])
    expect(stderr).toContain(
      '2 lines may have been created or not: check with consentctl list before you create them again',
    )
  })

  it.each([
    [400, 'invalid_request'],
    [404, 'not_found'],
  ])('when a resent line is rejected (%i), reports it as failed', async (status, code) => {
    await lostAnswer()
    serve({ a: [status, code] })
    const { rows, stderr } = await create('--resume', 'last', '--failed-out', failedOut())
    expect(rows.map(row => row.result)).toEqual(['failed'])
    expect(readFileSync(failedOut(), 'utf8')).toBe(text('a'))
    expect([stderr, jobs()]).toEqual([expect.not.stringContaining('--resume'), []])
  })

  it.each<[string, () => void]>([
    ['software other than the API rejects it', () => cli.instance.use(http.post(consentsPath, notFoundPage))],
    ['it conflicts now, because its record may have been erased', () => serve({ a: [409, 'conflict'] })],
  ])('when %s, a line that may exist stays unknown', async (_, answer) => {
    await lostAnswer()
    answer()
    const { rows } = await create('--resume', 'last', '--failed-out', failedOut())
    expect(rows.map(row => row.result)).toEqual(['unknown'])
    expect(readdirSync(folder.path)).not.toContain('failed')
  })

  it('after a kill, resends every line that may have been sent, with its Idempotency-Key', async () => {
    serve({ b: [404, 'not_found'], c: [429, 'quota_exceeded'] })
    await create('--file', write(text('a', 'b', 'c', 'd')), '--site', site)
    const keys = posts().map(({ key }) => key)
    forgetResults()
    cli.instance.requests.length = 0
    serve({ b: [404, 'not_found'] })
    const { code, rows } = await create('--resume', 'last', '--failed-out', failedOut())
    expect([code, rows.map(row => row.result)]).toEqual([8, ['created', 'failed', 'created', 'created']])
    expect(posts().map(({ key }) => key)).toEqual(expect.arrayContaining(keys))
    expect([readFileSync(failedOut(), 'utf8'), jobs()]).toEqual([text('b'), []])
  })

  it('after a kill, lines that may have been sent without an Idempotency-Key stay unknown', async () => {
    serve({ c: [429, 'quota_exceeded'] }, false)
    await create('--file', write(text('a', 'b', 'c', 'd')), '--site', site)
    forgetResults()
    cli.instance.requests.length = 0
    serve({}, false)
    const { code, rows } = await create('--resume', 'last')
    expect([code, rows.map(row => row.result)]).toEqual([11, ['unknown', 'unknown', 'unknown', 'created']])
    expect(posts().map(({ subject }) => subject)).toEqual(['d'])
  })

  it('accepts the same file at another path, but no other file', async () => {
    const job = await stopped()
    serve()
    const file = write(text('a', 'b', 'c', 'e'))
    const other = await create('--resume', job)
    expect(other.code).toBe(10)
    expect(other.stderr).toContain('is not the file that the job was started with')
    expect(posts()).toEqual([])
    writeFileSync(file, 'gone')
    const copy = join(folder.path, 'copy')
    writeFileSync(copy, text('a', 'b', 'c', 'd'))
    expect(await create('--resume', job, '--file', copy)).toMatchObject({ code: 0 })
  })

  it.each([
    ['another instance', { CONSENTCTL_BASE_URL: 'http://127.0.0.1:1' }, []],
    ['another profile', { CONSENTCTL_PROFILE: 'other' }, []],
    ['another site', {}, ['--site', uuid(5)]],
  ])('exits with a usage error with %s', async (_, env, flags) => {
    const job = await stopped()
    expect((await cli.run(['create', '--resume', job, ...flags], { env })).code).toBe(2)
    expect(posts()).toEqual([])
  })

  it('with "last", resumes the newest job of the profile and instance, and names one of another profile', async () => {
    const job = await stopped()
    const begun = ['create', '--concurrency', '1', '--site', site, '--file', write(text('b', 'c'))]
    const later = await cli.run(begun, { env: { CONSENTCTL_PROFILE: 'other' } })
    expect([later.code, jobs().length]).toEqual([6, 2])
    serve()
    write(text('a', 'b', 'c', 'd'))
    const { code, stderr } = await create('--resume', 'last')
    expect([code, stderr]).toEqual([0, expect.stringContaining('created 4 records on default@')])
    expect(stderr).toMatch(/^\{"note":\{"message":"resuming the import of \S*records\.ndjson of 20/)
    const none = await create('--resume', 'last')
    expect(none.code).toBe(2)
    expect(none.stderr).toContain('no job of this profile and instance')
    const [other = ''] = jobs().map(name => name.slice(0, 36))
    expect(none.stderr).toContain(`create --resume ${other} -p other --base-url ${cli.instance.url}`)
    expect(other).not.toBe(job)
    const imported = await cli.run(['import', '--resume', 'last', '--json'])
    expect([imported.code, imported.stderr]).toEqual([2, expect.not.stringContaining('create --resume')])
  })

  it('while another process works on the job, exits with 7', async () => {
    const job = await stopped()
    rewrite(line => {
      if ('ended' in line) return null
      return 'owner' in line ? { ...line, owner: { ...(line.owner as object), pid: 1, started: null } } : line
    })
    expectExit(await create('--resume', job), 7, 'pid 1 is working on the job')
    expect(posts()).toEqual([])
  })
})

type Entry = readonly [kind: string, ...unknown[]]

/** Changes the lines of a job's files, which have a head, entries, and an end; those for which `change` returns null are left out. */
function rewrite(change: (line: object | readonly Entry[]) => unknown): void {
  for (const name of jobs()) {
    const file = join(jobsFolder(), name)
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
    const kept = lines.map(line => change(JSON.parse(line))).filter(line => line !== null)
    writeFileSync(file, kept.map(line => `${JSON.stringify(line)}\n`).join(''))
  }
}

const hour = 3600 * 1000

/** Makes every send so much older. */
function makeOlder(ms: number): void {
  const older = (value: unknown) => (typeof value === 'number' ? value - ms : value)
  const change = ([kind, ...rest]: Entry): Entry =>
    kind === 's'
      ? [kind, rest[0], older(rest[1])]
      : [kind, ...rest.map(result => [(result as unknown[])[0], ...(result as unknown[]).slice(1).map(older)])]
  rewrite(line => (Array.isArray(line) ? (line as Entry[]).map(change) : line))
}

/** Leaves of a run what a kill leaves that came before any of its results was on the disk. */
function forgetResults(): void {
  rewrite(line => {
    if (!Array.isArray(line)) return 'ended' in line ? null : line
    return (line as Entry[]).filter(([kind]) => kind === 's')
  })
}

describe('the file of an import job', () => {
  it('is readable only by its owner, and contains neither the key nor record data', async () => {
    await stopped()
    expect(statSync(jobsFolder()).mode & 0o777).toBe(0o700)
    expect(statSync(jobFile()).mode & 0o777).toBe(0o600)
    const content = readFileSync(jobFile(), 'utf8')
    expect(content).not.toContain(cli.env()['CONSENTCTL_API_KEY'])
    expect(content).not.toContain('subject')
  })

  it('when a line before the last is damaged, reports an error and sends nothing', async () => {
    const job = await stopped()
    const content = readFileSync(jobFile(), 'utf8')
    writeFileSync(jobFile(), content.replace('["s",', '["s,'))
    expectExit(await create('--resume', job), 1, 'is damaged at line')
    expect(posts()).toEqual([])
  })

  it('when it cannot be created, reports an error before anything is sent', async () => {
    const state = join(folder.path, 'no-folder')
    writeFileSync(state, '')
    const file = write(text('a'))
    serve()
    const ran = await cli.run(['create', '--file', file, '--site', site], {
      env: { CONSENTCTL_STATE_DIR: state },
    })
    expectExit(ran, 2, 'cannot make the folder')
    expect(posts()).toEqual([])
  })
})

describe('--failed-out', () => {
  const refusals = { b: [400, 'invalid_request'], d: [404, 'not_found'] } as Record<string, [number, string]>

  it('contains the failed lines unchanged, readable only by their owner, and the job is removed', async () => {
    serve(refusals)
    const content = `{"subject_id":"a"}\r\n{ "subject_id" : "b" }\r\n\n${text('c')}{"subject_id":"d"}`
    expect((await create('--file', write(content), '--site', site, '--failed-out', failedOut())).code).toBe(8)
    expect(readFileSync(failedOut(), 'utf8')).toBe('{ "subject_id" : "b" }\r\n{"subject_id":"d"}')
    expect(statSync(failedOut()).mode & 0o777).toBe(0o600)
    expect(jobs()).toEqual([])
    serve()
    const again = await create('--file', failedOut(), '--site', site)
    expect(again.rows.map(row => row.id)).toEqual(['b', 'd'])
  })

  it('is not written while the job can be resumed', async () => {
    serve({ b: [400, 'invalid_request'], c: [401, 'unauthorized'] })
    const flags = ['--failed-out', failedOut()]
    const { stderr } = await create('--file', write(text('a', 'b', 'c', 'd')), '--site', site, ...flags)
    expect(stderr).toMatch(/to resume: consentctl create --resume \S+ .*--failed-out /)
    expect(readdirSync(folder.path).filter(name => name.startsWith('failed'))).toEqual([])
    serve({ b: [400, 'invalid_request'] })
    expect(await create('--resume', 'last', ...flags)).toMatchObject({ code: 8 })
    expect(readFileSync(failedOut(), 'utf8')).toBe(text('b'))
  })

  it('never overwrites a file, and is not written when no line failed', async () => {
    serve()
    writeFileSync(failedOut(), 'mine')
    const file = write(text('a'))
    const refused = await create('--file', file, '--site', site, '--failed-out', failedOut())
    expect(refused.code).toBe(2)
    expect(readFileSync(failedOut(), 'utf8')).toBe('mine')
    expect(posts()).toEqual([])
    rmSync(failedOut())
    await create('--file', file, '--site', site, '--failed-out', failedOut())
    expect(readdirSync(folder.path)).not.toContain('failed')
  })
})

it('when the file changes during sending, create --file stops with an error', async () => {
  const long = { preferences: { text: 'x'.repeat(10_000) } } // so that one chunk of the file has few lines
  const file = write(`${JSON.stringify(long)}\n`.repeat(80))
  serve()
  cli.instance.use(
    http.post(consentsPath, () => {
      appendFileSync(file, text('more'))
      return HttpResponse.json(consent(), { status: 201 })
    }),
  )
  expectExit(await create('--file', file, '--site', site, '--concurrency', '4'), 8, 'changed while it was read')
})
