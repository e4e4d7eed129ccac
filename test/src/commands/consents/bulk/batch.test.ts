import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { HttpResponse, http } from 'msw'
import { describe, expect, it } from 'vitest'
import { answers, consent, consentsPath, expectExit, fails, site } from '../../../support.ts'
import { useJobs } from './jobs.ts'

const { cli, folder, jobs, failedOut, create: createWith } = useJobs()
const batchPath = `${consentsPath}/batch`

interface Draft {
  readonly subject_id: string
  readonly idempotency_key: string
}

/** The error for a row, by its draft and the number of times that its key came. */
type Fate = (draft: Draft, times: number) => [status: number, error: string] | undefined

/** An instance that takes batches of up to `most` rows, and counts how often each record was created. */
function serve(fate: Fate = () => undefined, most = 1000, document: unknown = description) {
  const made = new Map<string, number>()
  const times = new Map<string, number>()
  const keys = new Map<string, string>()
  const make = (draft: Draft, key: string) => {
    times.set(key, (times.get(key) ?? 0) + 1)
    const refusal = fate(draft, times.get(key) ?? 0)
    if (refusal) return refusal
    if (!keys.has(key)) made.set(draft.subject_id, (made.get(draft.subject_id) ?? 0) + 1)
    keys.set(key, draft.subject_id)
    return consent({ id: `id-${draft.subject_id}` })
  }
  cli.instance.use(
    answers('get', '*/api/v1/openapi.json', document),
    http.post(consentsPath, async ({ request }) => {
      const made = make((await request.json()) as Draft, String(request.headers.get('idempotency-key')))
      return Array.isArray(made) ? fails(...made) : HttpResponse.json(made, { status: 201 })
    }),
    http.post(batchPath, async ({ request }) => {
      const { records } = (await request.json()) as { records: Draft[] }
      if (records.length > most) return fails(413, 'payload_too_large')
      const results = records.map(draft => {
        const made = make(draft, draft.idempotency_key)
        if (!Array.isArray(made)) return { status: 201, consent: made, replayed: false }
        return { status: made[0], error: { error: made[1], message: 'no' }, retry_after: null }
      })
      return HttpResponse.json({ results })
    }),
  )
  return made
}

const parameters = [{ in: 'header', name: 'Idempotency-Key' }]
const single = { '/api/v1/consents': { post: { parameters } } }
const description = { openapi: '3.1.1', paths: { ...single, '/api/v1/consents/batch': { post: {} } } }

const subjects = (count: number) => Array.from({ length: count }, (_, index) => `s${index + 1}`)
const text = (names: readonly string[]) => names.map(subject_id => `${JSON.stringify({ subject_id })}\n`).join('')

const create = (...args: string[]) => createWith(['--site', site, '--ignore-quota', ...args])

function inFile(names: readonly string[]): string {
  const file = join(folder.path, 'records.ndjson')
  writeFileSync(file, text(names))
  return file
}

const batches = () =>
  cli
    .sent()
    .filter(({ path }) => path.endsWith('/batch'))
    .map(({ body }) => (body as { records: Draft[] }).records)
const paths = () => cli.sent().map(({ method, path }) => `${method} ${path.replace('/api/v1/', '')}`)

function refuseBatches(isRefused: (text: string) => boolean) {
  cli.instance.use(
    http.post(batchPath, async ({ request }) =>
      isRefused(await request.clone().text()) ? fails(400, 'invalid_request') : undefined,
    ),
  )
}

const created = (names: readonly string[]) =>
  names.map((name, index) => ({
    line: index + 1,
    result: 'created',
    id: `id-${name}`,
    error_code: null,
    message: null,
  }))
const once = (names: readonly string[]) => new Map(names.map(name => [name, 1]))

describe('create --file on an instance that supports batches', () => {
  it('sends up to 1,000 lines per request, and prints a result for every line in order', async () => {
    const made = serve()
    const { code, rows, stderr } = await create('--file', inFile(subjects(2500)))
    expect({ code, rows }, stderr).toEqual({ code: 0, rows: created(subjects(2500)) })
    expect(made).toEqual(once(subjects(2500)))
    expect(paths()).toEqual(['GET openapi.json', ...Array(3).fill('POST consents/batch')])
    const keys = batches().flatMap(records => records.map(record => record.idempotency_key))
    expect(new Set(keys).size).toBe(2500)
    for (const key of keys) expect(key).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}-\d+$/)
    expect(jobs()).toEqual([])
  })

  it('after the first hundred lines of a stream, sends batches', async () => {
    const made = serve()
    const ran = await cli.run(['create', '-q', '--site', site, '--file', '-'], { stdin: text(subjects(400)) })
    expect(ran.stdout).toBe(
      created(subjects(400))
        .map(({ id }) => `${id}\n`)
        .join(''),
    )
    expect(made).toEqual(once(subjects(400)))
    expect(batches().length).toBeGreaterThan(0)
    expect(cli.sent().length).toBeLessThan(120)
  })

  it.each([
    ['with 100 lines does not read the description, and', subjects(100), [], []],
    ['with --no-batch', subjects(101), ['--no-batch'], ['GET openapi.json']],
  ])('%s sends each line in its own request', async (_, names, flags, asked) => {
    const made = serve()
    expect(await create('--file', inFile(names), ...flags)).toMatchObject({ code: 0, rows: created(names) })
    expect(made).toEqual(once(names))
    expect(new Set(paths())).toEqual(new Set([...asked, 'POST consents']))
  })

  it('with --max-errors, never sends more lines at once than may still fail', async () => {
    serve(() => [400, 'invalid_request'])
    const flags = ['--max-errors', '5', '--concurrency', '1']
    const { code, rows, stderr } = await create('--file', inFile(subjects(200)), ...flags)
    expect({ code, rows: rows.length }).toEqual({ code: 5, rows: 5 })
    expect(stderr).toContain('stopped after line 5')
  })
})

describe('create --file on an instance without batches', () => {
  it.each([
    ['does not list them', answers('get', '*/api/v1/openapi.json', { openapi: '3.1.1', paths: single })],
    ['has no description', http.get('*/api/v1/openapi.json', () => fails(404, 'not_found'))],
    ['lets nobody read it', http.get('*/api/v1/openapi.json', () => fails(401, 'unauthorized'))],
    ['answers with a page', http.get('*/api/v1/openapi.json', () => HttpResponse.html('<p>hello</p>'))],
  ])('when it %s, reads its description once and sends each line in its own request', async (_, description) => {
    const made = serve()
    cli.instance.use(description)
    expect(await create('--file', inFile(subjects(150)))).toMatchObject({ code: 0 })
    expect(made).toEqual(once(subjects(150)))
    expect(paths().filter(path => path !== 'POST consents')).toEqual(['GET openapi.json'])
  })

  it('when it claims to support them, resends the lines of rejected batches in their own requests', async () => {
    const made = serve()
    cli.instance.use(http.post(batchPath, () => fails(404, 'not_found')))
    const { code, rows } = await create('--file', inFile(subjects(300)), '--concurrency', '4')
    expect({ code, rows }).toEqual({ code: 0, rows: created(subjects(300)) })
    expect(made).toEqual(once(subjects(300)))
    expect(batches().length).toBeLessThanOrEqual(4)
  })
})

describe('create --file: rejected rows of a batch', () => {
  it('fail individually, with the error code of a single create, and are in --failed-out', async () => {
    const bad: Record<string, [number, string]> = {
      s7: [400, 'invalid_request'],
      s1260: [404, 'not_found'],
      s1300: [409, 'conflict'],
    }
    const made = serve(({ subject_id }) => bad[subject_id])
    const { code, rows, stderr } = await create('--file', inFile(subjects(1300)), '--failed-out', failedOut())
    expect(code).toBe(8)
    expect(rows.filter(row => row.result !== 'created')).toEqual(
      [7, 1260, 1300].map(line => ({
        ...{ line, result: 'failed', id: null, error_code: bad[`s${line}`]?.[1] },
        message: expect.any(String),
      })),
    )
    expect(made.size).toBe(1297)
    expect(readFileSync(failedOut(), 'utf8')).toBe(text(['s7', 's1260', 's1300']))
    expect(stderr.match(/line (7|1260|1300): /g)).toHaveLength(3)
    expect(stderr).toContain('created 1297 records')
  })

  it.each([
    [503, 'unavailable'],
    [429, 'rate_limited'],
  ])('with a temporary error (%i) are retried individually with the same key', async (status, error) => {
    const made = serve(({ subject_id }, times) => (subject_id === 's5' && times < 3 ? [status, error] : undefined))
    expect(await create('--file', inFile(subjects(150)))).toMatchObject({ code: 0, rows: created(subjects(150)) })
    expect(made).toEqual(once(subjects(150)))
    const again = batches().slice(1)
    expect(again.map(records => records.map(({ subject_id }) => subject_id))).toEqual([['s5'], ['s5']])
    expect(again[0]?.[0]?.idempotency_key).toBe(batches()[0]?.[4]?.idempotency_key)
  })

  it('stop the job when the quota is used up, and --resume creates the rest, none twice', async () => {
    let left = 120
    const made = serve(() => (left-- > 0 ? undefined : [429, 'quota_exceeded']))
    const stopped = await create('--file', inFile(subjects(200)))
    expect([stopped.code, made.size]).toEqual([8, 120])
    expect(stopped.stderr.match(/^\{"error".*quota_exceeded/gm)).toHaveLength(1)
    left = 1000
    expect(await create('--resume', 'last')).toMatchObject({ code: 0, rows: created(subjects(200)) })
    expect(made).toEqual(once(subjects(200)))
  })
})

it('when its results cannot be written, create --file also counts those in flight', async () => {
  const made = serve()
  const stdout = new Writable({
    write: (_chunk, _encoding, callback) => callback(Object.assign(new Error('full'), { code: 'ENOSPC' })),
  })
  const args = ['create', '--site', site, '--ignore-quota', '--file', inFile(subjects(50)), '--no-batch']
  expectExit(await cli.run(args, { stdout }), 1, `created ${made.size} records on `)
  expect(made.size).toBeGreaterThan(1)
})

describe('create --file: a batch without a usable response', () => {
  it('is halved until every line is created once, when it is too large', async () => {
    const made = serve(undefined, 40)
    expect(await create('--file', inFile(subjects(150)))).toMatchObject({ code: 0, rows: created(subjects(150)) })
    expect(made).toEqual(once(subjects(150)))
    expect(batches().map(({ length }) => length)).toEqual([150, 75, 38, 37, 75, 38, 37])
  })

  it('is halved until an invalid line is alone; later lines are still sent in batches', async () => {
    const made = serve(({ subject_id }) => (subject_id === 's9' ? [400, 'invalid_request'] : undefined))
    refuseBatches(text => text.includes('"s9"'))
    const { code, rows } = await create('--file', inFile(subjects(3000)), '--concurrency', '1')
    expect([code, made.size, rows.length, rows[8]?.result]).toEqual([8, 2999, 3000, 'failed'])
    expect(cli.sent().length).toBeLessThan(40)
  })

  it('when every batch is rejected, falls back to single requests', async () => {
    const made = serve()
    refuseBatches(() => true)
    expect(await create('--file', inFile(subjects(300)), '--concurrency', '1')).toMatchObject({ code: 0 })
    expect(made).toEqual(once(subjects(300)))
    expect(batches().length).toBeLessThan(12)
  })

  it.each([
    ['an id', { status: 201, consent: { id: 'x'.repeat(1_200_000) } }, 'unknown', 11],
    ['an error code', { status: 400, error: { error: 'x'.repeat(1_200_000), message: 'no' } }, 'failed', 8],
  ])('with %s of over 1 MiB has the results of all its lines', async (_, outcome, result, exitCode) => {
    serve()
    const others = Array.from({ length: 119 }, (_, index) => ({ status: 201, consent: { id: `id-s${index + 1}` } }))
    cli.instance.use(http.post(batchPath, () => HttpResponse.json({ results: [...others, outcome] })))
    const { code, rows, stderr } = await create('--file', inFile(subjects(120)))
    expect([code, rows.length, rows[119]?.result]).toEqual([exitCode, 120, result])
    expect(stderr).not.toContain('nothing was sent')
  })

  it('is retried with the same keys when its response is lost', async () => {
    const made = serve()
    let isLost = false
    cli.instance.use(
      http.post(batchPath, async ({ request }) => {
        if (isLost) return undefined
        isLost = true
        const { records } = (await request.clone().json()) as { records: Draft[] }
        for (const { subject_id } of records) made.set(subject_id, 1)
        return fails(503, 'unavailable')
      }),
    )
    expect(await create('--file', inFile(subjects(150)))).toMatchObject({ code: 0, rows: created(subjects(150)) })
    const [first, second] = batches()
    expect(second).toEqual(first)
  })

  it.each([
    ['is never answered', () => fails(503, 'unavailable')],
    ['has fewer results than lines', () => HttpResponse.json({ results: [] })],
  ])('its lines are unknown until --resume retries them, when it %s', async (_, answer) => {
    const made = serve()
    let isBroken = true
    cli.instance.use(http.post(batchPath, () => (isBroken ? answer() : undefined)))
    const { code, rows } = await create('--file', inFile(subjects(150)))
    expect(code).toBe(11)
    expect(new Set(rows.map(row => row.result))).toEqual(new Set(['unknown']))
    isBroken = false
    expect(await create('--resume', 'last')).toMatchObject({ code: 0, rows: created(subjects(150)) })
    expect(made).toEqual(once(subjects(150)))
  })

  it('when a line is rejected only at the retry, it is unknown', async () => {
    let isFirst = true
    serve(({ subject_id }) => (subject_id === 's3' ? [409, 'conflict'] : undefined))
    cli.instance.use(
      http.post(batchPath, () => {
        if (!isFirst) return undefined
        isFirst = false
        return fails(503, 'unavailable')
      }),
    )
    const { rows } = await create('--file', inFile(subjects(150)))
    expect(rows.map(row => row.result).filter(result => result !== 'created')).toEqual(['unknown'])
  })
})
