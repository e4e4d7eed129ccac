import { EventEmitter } from 'node:events'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { beforeEach, expect, it } from 'vitest'
import type { ImportReceipt } from '../../../../../src/contract/documents/import-receipt.ts'
import { answers, consentsPath, expectExit, expectNoStdout, site, useCli, uuid, words } from '../../../support.ts'

const cli = useCli()
const account = uuid(1)
let [folder, state] = ['', '']
let signals = new EventEmitter()

beforeEach(() => {
  folder = cli.freshFolder()
  state = join(folder, 'state')
  signals = new EventEmitter()
  mkdirSync(folder, { recursive: true })
})

const map = {
  system: 'crm',
  container: { kind: 'csv' },
  rows: 'answer',
  fields: { origin_id: 'person', given_at: 'at', accepted: 'answer' },
  time: { formats: ['rfc3339'] },
  accepted: { values: { yes: 'yes', no: 'no' } },
}

function put(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

/** A file of this many persons, by default with answers that the map knows. */
function people(count: number, answer = 'yes'): string {
  const rows = Array.from({ length: count }, (_, index) => `person-${index},2024-03-01T09:00:00Z,${answer}\n`)
  return put('people.csv', `person,at,answer\n${rows.join('')}`)
}

const date = () => ({ date: new Date().toUTCString() })
const description = {
  paths: { '/api/v1/consents/batch': { post: {} }, '/api/v1/caller': { get: {} } },
  components: { schemas: { ImportRow: {} } },
}

interface Row {
  readonly origin: { readonly id: string }
}

/** An instance that answers each row of an import with what `outcome` says of it. `firstAt` is the time of the first. */
function importing(outcome: (row: Row, index: number) => object) {
  let rows = 0
  const seen = { firstAt: Number.POSITIVE_INFINITY }
  cli.instance.use(
    answers('get', '*/api/v1/openapi.json', description),
    answers('get', '*/api/v1/usage', { error: 'not_found', message: 'no' }, 404),
    answers('get', '*/api/v1/sites', { error: 'not_found', message: 'no' }, 404),
    http.get('*/api/v1/caller', () =>
      HttpResponse.json({ account_id: account, kind: 'api_key', id: uuid(2) }, { headers: date() }),
    ),
    http.post(`${consentsPath}/batch`, async ({ request }) => {
      seen.firstAt = Math.min(seen.firstAt, Date.now())
      const { records } = (await request.json()) as { records: Row[] }
      return HttpResponse.json({ results: records.map(row => outcome(row, rows++)) })
    }),
  )
  return seen
}

const made = () => ({ status: 201, consent: { id: uuid(7) }, replayed: false })
const refused = (status: number, error: string, message: string, reason?: string) => ({
  status,
  error: { error, message, reason },
})

function run(...args: string[]) {
  return cli.run(['import', ...args], {
    env: { CONSENTCTL_CONFIG_DIR: join(folder, 'config'), CONSENTCTL_STATE_DIR: state },
    signals,
  })
}

const flags = () => words(`--from csv --map ${put('map.json', JSON.stringify(map))} --site ${site} --policy-version 1`)
const posts = () => cli.sent().filter(({ method }) => method === 'POST').length

it('import › exit 2 › without a terminal or --yes, before any request', async () => {
  const { code, stderr } = await run(people(1), ...flags())
  expect([code, cli.sent()]).toEqual([2, []])
  expect(stderr).toContain('cannot prompt')
})

it.skipIf(process.platform !== 'linux').each(['CONSENTCTL_STATE_DIR', 'CONSENTCTL_CONFIG_DIR'])(
  'exit 2 › when the folder of %s cannot be created',
  async name => {
    const env = { HOME: folder, [name]: '/proc/home/consentctl' }
    const args = name.includes('STATE')
      ? ['import', people(1), ...flags(), '--yes']
      : ['config', 'set', 'protected', 'true']
    const { code, stderr } = await cli.run(args, { env })
    expect([code, posts()], stderr).toEqual([2, 0])
    expect(stderr).toContain('cannot make the folder /proc/home/consentctl')
  },
)

it.each(['--receipt-out', '--failed-out', '--refused-out'])(
  'import › exit 2 › when the file of %s exists, before it reads the input',
  async flag => {
    const { code, stderr } = await run('missing.csv', ...flags(), '--yes', flag, put('taken', ''))
    expect([code, cli.sent()], stderr).toEqual([2, []])
    expect(stderr).toContain(`${flag}: `)
    expect(stderr).toContain('already exists')
  },
)

it.each([
  ['--receipt-out', 1],
  ['--failed-out', 2],
])('import › removes the prepared rows if the file of %s cannot be created', async (flag, expected) => {
  importing(made)
  const { code, stderr } = await run(people(2), ...flags(), '--yes', flag, join(folder, 'missing', 'file'))
  expect([code, posts(), readdirSync(join(state, 'jobs'))], stderr).toEqual([expected, 0, []])
})

/** Two rows of one person, who contradicts, and five without a time, among 300 that can be told. */
function irregular(answer = 'yes'): string {
  const file = people(300, answer)
  const at = '2024-03-01T09:00:00Z'
  const untimed = Array.from({ length: 5 }, (_, index) => `late-${index},,yes\n`)
  appendFileSync(file, `${untimed.join('')},${at},yes\ntwo,${at},yes\ntwo,${at},no\n`)
  return file
}

interface RefusedRow {
  readonly where: string
  readonly rows: number
  readonly reason: string
}

const readRefused = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as RefusedRow)

function sumByReason(rows: readonly RefusedRow[]) {
  const reasons = [...new Set(rows.map(({ reason }) => reason))].sort()
  return reasons.map(reason => ({
    reason,
    rows: rows.filter(row => row.reason === reason).reduce((sum, { rows }) => sum + rows, 0),
  }))
}

it('import › --refused-out › lists every row rejected while reading before it sends any, and the receipt counts the same rows', async () => {
  const list = join(folder, 'refused.ndjson')
  let sentWith: number | undefined
  importing(() => {
    sentWith ??= readRefused(list).length
    return made()
  })
  const { code, stdout, stderr } = await run(irregular(), ...flags(), '--yes', '--refused-out', list, '--json')
  expect([code, sentWith], stderr).toEqual([8, 7])
  const rows = readRefused(list)
  const file = join(folder, 'people.csv')
  const row = (line: number, origin_id: string | null, reason: string, message: string) => ({
    ...{ where: `${file}:${line}`, rows: 1, origin_id, reason, message, others: [] },
  })
  expect([rows[0], rows[5], rows[6]]).toEqual([
    row(307, null, 'field', 'origin_id ("person") is not there'),
    row(306, 'late-4', 'time', 'given_at ("at") is not there'),
    {
      ...row(308, 'two', 'contradiction', 'at 2024-03-01T09:00:00.000Z it has different answers'),
      ...{ rows: 2, others: [`${file}:309`] },
    },
  ])
  const receipt = JSON.parse(readFileSync(JSON.parse(stdout).receipt, 'utf8')) as ImportReceipt
  expect(sumByReason(rows)).toEqual(receipt.refused_rows.toSorted((a, b) => (a.reason < b.reason ? -1 : 1)))
  expect(receipt.rows.refused).toBe(8)
  expect(statSync(list).mode & 0o777).toBe(0o600)
  expect(stderr).toContain(`8 rows refused when the files were read; ${list} lists the rows`)
})

it('import › --refused-out › works with --dry-run and with undecided values; without it, a message suggests it', async () => {
  importing(made)
  const list = (name: string) => ['--refused-out', join(folder, name)]
  const dry = await run(irregular(), ...flags(), '--dry-run', ...list('dry'))
  expect([dry.code, readRefused(join(folder, 'dry')).length], dry.stderr).toEqual([8, 7])
  expect(dry.stderr).toContain(`8 rows refused (listed in ${join(folder, 'dry')})`)
  const undecided = await run(irregular('seen'), ...flags(), '--yes', ...list('undecided'))
  expect([undecided.code, readRefused(join(folder, 'undecided')).length], undecided.stderr).toEqual([5, 6])
  expect(undecided.stderr).toContain(
    `308 rows of 1 file, whose persons are not judged until every value is decided; 6 rows refused (listed in ${join(folder, 'undecided')})`,
  )
  const without = await run(irregular(), ...flags(), '--dry-run')
  expect(without.stderr).toContain('8 rows refused (--refused-out FILE lists all)')
  const sent = await run(irregular(), ...flags(), '--yes')
  expect([dry.code, without.code]).toEqual([sent.code, sent.code])
  expect(sent.stderr.trimEnd().split('\n').at(-1)).toContain('--dry-run --refused-out FILE lists the rows')
  const none = await run(people(3), ...flags(), '--dry-run', ...list('none'))
  expect([none.code, readdirSync(folder).filter(name => name.startsWith('none'))]).toEqual([0, []])
})

it.each(['--yes', '--dry-run'])(
  'import › exit 5 › when a row cannot be read, and --refused-out names it (%s)',
  async flag => {
    importing(made)
    const [file, list] = [people(3), join(folder, 'refused')]
    appendFileSync(file, 'person-1,2024-04-01T09:00:00Z\n')
    const { code, stderr } = await run(file, ...flags(), flag, '--refused-out', list)
    expect([code, posts(), readRefused(list).map(({ where }) => where)], stderr).toEqual([5, 0, [`${file}:5`]])
    expect(stderr).toContain('1 row cannot be read, and may be a later answer of any person: nothing was sent')
    expect(readdirSync(join(state, 'jobs'))).toEqual([])
  },
)

it.each([
  ['nothing', ''],
  ['a header', 'person,at,answer\n'],
])('import › exit 5 › when the file has only %s, but 0 with --allow-empty', async (_, text) => {
  importing(made)
  for (const flag of ['--yes', '--dry-run']) {
    const { code, stderr } = await run(put('empty.csv', text), ...flags(), flag)
    expect([code, posts()], stderr).toEqual([5, 0])
    expect(stderr).toContain('no row in ')
    expect(await run(put('empty.csv', text), ...flags(), flag, '--allow-empty')).toMatchObject({ code: 0 })
  }
})

it('import › --refused-out › leaves no file when reading fails, and cannot be used with --resume', async () => {
  const file = irregular()
  appendFileSync(file, '"open,2024-03-01T09:00:00Z,yes\n')
  const { code, stderr } = await run(file, ...flags(), '--dry-run', '--refused-out', join(folder, 'refused.ndjson'))
  expect([code, readdirSync(folder).filter(name => name.startsWith('refused'))], stderr).toEqual([5, []])
  const resumed = await run('--resume', 'last', '--refused-out', join(folder, 'refused.ndjson'))
  expect([resumed.code, cli.sent()]).toEqual([2, []])
  expect(resumed.stderr).toContain('cannot be used with --resume')
})

it('import › exit 2 › when both --policy-version and the map name the version', async () => {
  const own = { ...map, fields: { ...map.fields, policy_version: { constant: 2 } } }
  const from = ['--from', 'csv', '--map', put('own.json', JSON.stringify(own)), '--dry-run']
  const refused = await run(people(1), ...from, '--policy-version', '1')
  expect(refused.code, refused.stderr).toBe(2)
  expect(refused.stderr).toContain('--policy-version would override it')
  expect(await run(people(1), ...from)).toMatchObject({ code: 0 })
})

it('import › exit 2 › when --site is a name and the key may not list sites, before it sends any record', async () => {
  importing(made)
  cli.instance.use(answers('get', '*/api/v1/sites', { error: 'forbidden', message: 'no' }, 403))
  const { code, stderr } = await run(people(1), ...flags().with(5, 'Shop'), '--yes')
  expect([code, posts()], stderr).toEqual([2, 0])
  expect(stderr).toContain('give the id: --site UUID')
  expect(readdirSync(join(state, 'jobs'))).toEqual([])
})

it('import › exit 7 › when the id of a replayed record contains no time, and signs nothing', async () => {
  const record = { id: '6f1c2e9a-1111-4222-8333-444455556666' }
  importing(({ origin }) => (origin.id === 'person-1' ? { status: 201, consent: record, replayed: true } : made()))
  const ran = await run(people(2), ...flags(), '--yes', '--json')
  expectNoStdout(ran, 7, 'contains no creation time', 'import --resume')
})

it('import › exit 5 › when values are undecided, and --map-out writes them to a map to edit', async () => {
  importing(made)
  const file = people(3, 'seen')
  const previewed = await run(file, ...flags(), '--dry-run', '--json')
  expect([previewed.code, posts()]).toEqual([5, 0])
  expect(previewed.stderr).toContain('"exit":5,')
  const edited = join(folder, 'edited.json')
  const stopped = await run(file, ...flags(), '--yes', '--map-out', edited, '--json')
  expect([stopped.code, posts()]).toEqual([5, 0])
  expect(JSON.parse(stopped.stdout)).toEqual([
    { table: 'accepted', value: 'seen', count: 3, column: 'accepted ("answer")', first: `${file}:2`, becomes: null },
  ])
  const written = JSON.parse(readFileSync(edited, 'utf8'))
  expect(written).toEqual({ ...map, accepted: { ...map.accepted, values: { ...map.accepted.values, seen: null } } })
  written.accepted.values.seen = 'no'
  const again = ['--from', 'csv', '--map', put('again.json', JSON.stringify(written)), '--policy-version', '1']
  const before = cli.sent().length
  const dry = await run(file, ...again, '--dry-run', '--json')
  expect(dry, dry.stderr).toMatchObject({ code: 0 })
  const seen = { table: 'accepted', value: 'seen', count: 3, becomes: 'no', first: `${file}:2` }
  expect(JSON.parse(dry.stdout)).toEqual([{ ...seen, column: 'accepted ("answer")' }])
  expect([cli.sent().length - before, readdirSync(join(state, 'jobs'))]).toEqual([0, []])
})

/** Sets what the instance says of itself, its quota, the key and its sites. */
function says({ scopes = ['read', 'import'], remaining = 10 }: { scopes?: string[]; remaining?: number | null } = {}) {
  const limits = { month: '2026-11', used: 5, limit: remaining === null ? null : remaining + 5, remaining }
  const at = '2026-01-01T00:00:00.000Z'
  const shop = { id: site, name: 'Shop', policy_version: 1, allowed_origins: [], created_at: at, updated_at: at }
  const who = { account_id: account, kind: 'api_key', id: uuid(2), role: null, scopes }
  cli.instance.use(
    answers('get', '*/api/v1/usage', { ...limits, resets_at: '2026-12-01T00:00:00.000Z' }),
    answers('get', '*/api/v1/sites', { data: [shop] }),
    http.get('*/api/v1/caller', () => HttpResponse.json(who, { headers: date() })),
  )
}

const written = () => [state, join(folder, 'config')].flatMap(each => listed(each))
const listed = (path: string) => (existsSync(path) ? readdirSync(path, { recursive: true }).map(String) : [])

it.each([
  [10, 'the quota has room for 3 requests'],
  [null, 'the quota has no limit'],
])('import › --dry-run › sends only reads, and reports what it found (quota %s)', async (remaining, quota) => {
  importing(made)
  says({ remaining })
  const { code, stderr, stdout } = await run(people(300), ...flags().with(5, 'Shop'), '--dry-run', '--json')
  expect([code, JSON.parse(stdout)], stderr).toEqual([
    0,
    [expect.objectContaining({ table: 'accepted', value: 'yes', count: 300, becomes: 'yes' })],
  ])
  expect(stderr).toContain(
    `it takes imports, the key has the scope import, the site Shop (${site}) is there, ${quota}; only reads were sent`,
  )
  expect(new Set(cli.sent().map(({ method }) => method))).toEqual(new Set(['GET']))
  expect(written()).toEqual(['jobs'])
})

it('import › --dry-run › reports only what the instance states', async () => {
  importing(made)
  expectExit(await run(people(3), ...flags(), '--dry-run'), 0, 'was asked: it takes imports; only reads were sent')
})

const withoutImports = answers('get', '*/api/v1/openapi.json', { paths: { '/api/v1/consents/batch': { post: {} } } })
const down = answers('get', '*/api/v1/caller', { error: 'unavailable', message: 'The database is down.' }, 503)

it.each<[string, number, string, () => void, string?]>([
  ['an instance without imports', 2, 'does not take imports', () => cli.instance.use(withoutImports)],
  ['a key without the scope', 4, 'The API key lacks the scope import.', () => says({ scopes: ['read'] })],
  ['an unknown site', 3, `no site with id ${uuid(0xbad)}`, says, uuid(0xbad)],
  ['an unknown name of a site', 5, 'sites: ', says, 'Shpo'],
  ['a quota that is too small', 6, 'only 0 fit into this month', () => says({ remaining: 0 })],
  ['an instance that is down', 7, 'The database is down.', () => cli.instance.use(down)],
])(
  'import › --dry-run › reports %s like the import (exit %i), which sends no record',
  async (_, exit, message, set, to = site) => {
    importing(made)
    says()
    set()
    const args = [people(3), ...flags().with(5, to), '--json']
    const dry = await run(...args, '--dry-run')
    expect([dry.code, JSON.parse(dry.stdout).length, written()], dry.stderr).toEqual([exit, 1, ['jobs']])
    const sent = await run(...args, '--yes')
    expect([sent.code, posts(), listed(join(state, 'jobs'))], sent.stderr).toEqual([exit, 0, []])
    const error = (text: string) => text.split('\n').find(line => line.startsWith('{"error"'))
    expect(error(dry.stderr)).toContain(message)
    expect(error(dry.stderr)).toBe(error(sent.stderr))
  },
)

it('import › --dry-run › sends no request without a site or a key, and says so', async () => {
  importing(made)
  const file = people(3)
  const siteless = await run(file, ...flags().toSpliced(4, 2), '--dry-run')
  expect([siteless.code, siteless.stderr]).toEqual([0, expect.stringContaining('was not asked: --site is missing')])
  const keyless = await cli.run(['import', file, ...flags(), '--dry-run'], {
    env: { CONSENTCTL_CONFIG_DIR: join(folder, 'config'), CONSENTCTL_STATE_DIR: state, CONSENTCTL_API_KEY: '' },
  })
  expect([keyless.code, keyless.stderr]).toEqual([0, expect.stringContaining('was not asked: no API key is set')])
  const undecided = await run(people(3, 'seen'), ...flags(), '--dry-run')
  expect([undecided.code, undecided.stderr]).toEqual([
    5,
    expect.stringContaining('was not asked: values have no decision'),
  ])
  expect(cli.sent()).toEqual([])
})

it('import › exit 4 › when the key lacks the scope, and prints the command that creates one', async () => {
  importing(() => refused(403, 'forbidden', 'no', 'missing_scope'))
  const ran = await run(people(2), ...flags(), '--yes')
  expectExit(ran, 4, 'for an import create one with consentctl keys create --name import --scope import,read')
})

it('import › exit 130 › when interrupted after every record was sent, and --resume only makes the receipt', async () => {
  importing(() => {
    signals.emit('SIGINT')
    return made()
  })
  const ran = await run(people(1), ...flags(), '--yes')
  expectNoStdout(ran, 130, 'every line was sent; only the receipt is missing, which a resumed run makes\n')
  expect(ran.stderr).not.toContain('were not sent')
  const [, job = ''] = /to resume: consentctl import --resume (\S+)/.exec(ran.stderr) ?? []
  const resumed = await run('--resume', job, '--json')
  expect([resumed.code, JSON.parse(resumed.stdout)]).toEqual([0, expect.objectContaining({ job, made: 1 })])
  expect(posts()).toBe(1)
})

it('import › --receipt-out › writes the copy before the job ends, even in a resumed run without the flag', async () => {
  const copy = join(folder, 'receipt.json')
  importing(() => {
    if (!existsSync(copy)) writeFileSync(copy, 'of somebody else')
    return made()
  })
  const taken = await run(people(2), ...flags(), '--yes', '--receipt-out', copy)
  expect([taken.code, readFileSync(copy, 'utf8')], taken.stderr).toEqual([8, 'of somebody else'])
  expect(taken.stderr).toContain('import --resume')
  const jobs = join(state, 'jobs')
  cpSync(jobs, `${jobs}.kept`, { recursive: true })
  const other = await run('--resume', 'last')
  expect([other.code, readFileSync(copy, 'utf8')], other.stderr).toEqual([2, 'of somebody else'])
  rmSync(copy)
  const resumed = await run('--resume', 'last', '--json')
  expect(resumed.code, resumed.stderr).toBe(0)
  const receipt = readFileSync(JSON.parse(resumed.stdout).receipt)
  expect(readFileSync(copy)).toEqual(receipt)
  cpSync(`${jobs}.kept`, jobs, { recursive: true }) // as if killed before the job was removed
  expect(await run('--resume', 'last', '--receipt-out', copy)).toMatchObject({ code: 0 })
  expect([readFileSync(copy), readdirSync(jobs)]).toEqual([receipt, []])
})

it('import › exit 6 › when the quota is used up; --resume from a moved state folder signs a receipt with rejections by reason', async () => {
  const conflict = refused(409, 'conflict', 'This origin was imported with different content.', 'origin_differs')
  const isRefused = ({ origin }: Row) => ['person-1', 'person-299'].includes(origin.id)
  const usedUp = refused(429, 'quota_exceeded', 'The quota is used up.')
  const seen = importing((row, index) => (index >= 150 ? usedUp : isRefused(row) ? conflict : made()))
  const file = people(300)
  appendFileSync(file, 'person-x,yesterday,yes\n')
  const failed = join(folder, 'failed.ndjson')
  const stopped = await run(file, ...flags(), '--yes', '--json', '--failed-out', failed)
  expect([stopped.code, stopped.stdout], stopped.stderr).toEqual([6, ''])
  const [, job = '', flag] = /to resume: consentctl import --resume ([\da-f-]{36}) ([^"]*)/.exec(stopped.stderr) ?? []
  expect([job === '', flag]).toEqual([false, `--json --failed-out ${failed} --concurrency 4`])
  renameSync(state, join(folder, 'moved'))
  state = join(folder, 'moved')
  importing(row => (isRefused(row) ? conflict : made()))
  const resumed = await run('--resume', job, '--failed-out', failed, '--json')
  expect(resumed.code, resumed.stderr).toBe(8)
  expect(resumed.stderr).toContain('origin person-299: This origin was imported with different content.')
  expect(resumed.stderr).toContain(
    'the exit code is 8: 1 row refused when the files were read, 2 records refused by the instance',
  )
  expect(resumed.stderr).toContain('consentctl update ID --refused')
  const lines = readFileSync(failed, 'utf8').trimEnd().split('\n')
  expect(lines.map(line => (JSON.parse(line) as Row).origin.id)).toEqual(['person-1', 'person-299'])
  const { receipt } = JSON.parse(resumed.stdout)
  const signed = JSON.parse(readFileSync(receipt, 'utf8')) as ImportReceipt
  expect(signed).toMatchObject({
    job,
    account_id: account,
    records: { made: 298, made_unanswered: 0, known: 0, refused: 2 },
    refused_records: [{ code: 'conflict', message: 'This origin was imported with different content.', records: 2 }],
  })
  expect(seen.firstAt).toBeGreaterThanOrEqual(Date.parse(signed.began_at))
  expect(readdirSync(join(state, 'jobs'))).toEqual([])
  expect(await run('--resume', job)).toMatchObject({ code: 2 })
})

it.each([
  [false, [], "'=1+1"],
  [true, ['--csv-unguard'], '=1+1'],
])('import › records in the receipt whether --csv-unguard was used (%s)', async (csv_unguard, flag, id) => {
  const sent: unknown[] = []
  importing(row => {
    sent.push(row.origin.id)
    return made()
  })
  const file = put('guarded.csv', "person,at,answer\n'=1+1,2024-03-01T09:00:00Z,yes\n")
  const { code, stdout, stderr } = await run(file, ...flags(), ...flag, '--yes', '--json')
  expect(code, stderr).toBe(0)
  const receipt = JSON.parse(readFileSync(JSON.parse(stdout).receipt, 'utf8'))
  expect([sent, receipt.csv_unguard]).toEqual([[id], csv_unguard])
})

it('import › --dry-run › counts each row once, including repeated rows', async () => {
  importing(made)
  const files = people(3)
  appendFileSync(files, 'person-1,2024-03-01T09:00:00Z,yes\nperson-2,2024-03-02T09:00:00Z,no\n')
  const { stderr } = await run(files, ...flags(), '--dry-run')
  expect(stderr).toContain(
    '3 records with 1 later answer from 5 rows of 1 file; 3 records without a subject, which no search for a person finds; 1 row repeated; answered',
  )
})
