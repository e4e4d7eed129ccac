import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import type { NewAccount } from '../../src/contract/index.ts'
import { contentBeforeImports, contentOf } from '../server/transfer/moved.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { onCitus } from '../support/database.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { newDatabase } from './campaign.ts'

const folder = useFolder()
const at = (name: string) => join(folder.path, name)
const env = () => ({ HOME: folder.path, LOG_LEVEL: 'error' })
let place: string[]
const first = () => place
const admin = (...args: string[]) => runBinary(['admin', ...args], { env: env() })
const on = (server: ServerProcess, key: string, ...args: string[]) =>
  runBinary(args, {
    env: {
      ...env(),
      CONSENTCTL_BASE_URL: server.url,
      CONSENTCTL_API_KEY: key,
      CONSENTCTL_CONFIG_DIR: folder.path,
    },
  })

let account: NewAccount
let cookie: string
let listed: string
beforeAll(async () => {
  place = await newPlace('first')
  account = await createAccount(['--email', 'a@example.com', ...first()], env())
  const server = await startServer([...first(), '--port', '0'], env())
  writeFileSync(at('drafts.ndjson'), drafts(300))
  const made = await on(
    server,
    account.api_key,
    'create',
    '--file',
    at('drafts.ndjson'),
    '--site',
    account.site.id,
    '-q',
  )
  expect(made).toMatchObject({ code: 0 })
  const [id = ''] = made.stdout.split('\n')
  await on(server, account.api_key, 'rm', id, '--yes')
  cookie = (await signIn(server)).cookie
  listed = (await on(server, account.api_key, 'list', '--all', '-o', 'ndjson')).stdout
  expect(await admin('export', at('beside.ndjson'), ...first())).toMatchObject({ code: 0, stdout: '' })
  await server.end('SIGTERM')
}, 120_000)

function drafts(count: number): string {
  return Array.from(
    { length: count },
    (_, number) => `${JSON.stringify({ subject_id: `s${number}`, preferences: { number, text: 'ä\u2028"' } })}\n`,
  ).join('')
}

async function signIn(server: ServerProcess) {
  const answer = await fetch(`${server.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: server.url },
    body: JSON.stringify({ email: account.user.email, password: account.user.password }),
  })
  return { status: answer.status, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

/** An empty database: on a real PostgreSQL where there is one. */
async function newPlace(name: string): Promise<string[]> {
  if (!inject('clusterUrl')) return ['--data-dir', at(name)]
  return ['--database-url', await newDatabase(`consentctl_test_${name}`)]
}

/** How much memory a command takes at most, in KiB. V8 lets a young heap grow for want of a reason not to. */
async function peakOf(...args: string[]): Promise<number> {
  const limits = '--max-old-space-size=64 --max-semi-space-size=1'
  const peak = fileURLToPath(new URL('../support/print-peak-memory.cjs', import.meta.url))
  const { code, stderr } = await runBinary(['admin', ...args], {
    env: { ...env(), NODE_OPTIONS: `${limits} --require ${peak}` },
  })
  expect(code).toBe(0)
  return Number(/^peak (\d+)$/m.exec(stderr)?.[1])
}

/** What must go on to work on a server of the same data. Resolves to an export of it with one record more. */
async function expectMoved(database: string[]): Promise<string> {
  const server = await startServer([...database, '--port', '0'], env())
  try {
    const { stdout: moved } = await admin('export', '-', ...database)
    expect(contentBeforeImports(moved)).toBe(contentBeforeImports(readFileSync(at('one.ndjson'), 'utf8')))
    expect(await admin('verify', ...database)).toMatchObject({ code: 0 })
    expect((await on(server, account.api_key, 'list', '--all', '-o', 'ndjson')).stdout).toBe(listed)
    const session = await fetch(`${server.url}/api/v1/session`, { headers: { cookie } })
    expect(session.status).toBe(200)
    expect(await signIn(server)).toMatchObject({ status: expect.toSatisfy((status: number) => status < 300) })
    const made = await on(server, account.api_key, 'create', '--site', account.site.id, '-q')
    expect(made).toMatchObject({ code: 0 })
    return (await admin('export', '-', ...database)).stdout
  } finally {
    await server.end('SIGTERM')
  }
}

describe('admin export and import › a service is moved', () => {
  it('moves to another database and back with working keys, passwords and sessions', async () => {
    const [there, back] = [['--data-dir', at('there')], await newPlace('back')]
    const exported = await admin('export', at('one.ndjson'), ...first())
    expect(exported).toMatchObject({ code: 0, stdout: '' })
    expect(exported.stderr).toContain('exported 300 records')
    expect(statSync(at('one.ndjson')).mode & 0o777).toBe(0o600)
    const imported = await admin('import', at('one.ndjson'), ...there)
    expect(imported).toMatchObject({ code: 0, stdout: '' })
    expect(imported.stderr).toContain('imported 300 records')
    const grown = await expectMoved(there)
    const returned = await runBinary(['admin', 'import', '-', ...back], { env: env(), stdin: grown })
    expect(returned).toMatchObject({ code: 0 })
    expect(contentBeforeImports((await admin('export', '-', ...back)).stdout)).toBe(contentBeforeImports(grown))
  })

  it.runIf(inject('clusterUrl') && !onCitus())(
    'uses memory that does not grow with the number of records',
    async () => {
      const source = await newPlace('large')
      const sql = postgres(source[1] ?? '', { max: 1, onnotice: () => {} })
      await admin('account', 'create', '--email', 'b@example.com', ...source)
      const peaks: { [verb: string]: number[] } = { export: [], import: [] }
      for (const rows of [10_000, 90_000]) {
        await sql`
        insert into log_entries (account_id, consent_id, version, hash)
        select gen_random_uuid(), gen_random_uuid(), 1, sha256(n::text::bytea) from generate_series(1, ${rows}::int) n`
        const file = at(`${rows}.ndjson`)
        peaks['export']?.push(await peakOf('export', file, ...source))
        peaks['import']?.push(await peakOf('import', file, ...(await newPlace('large_copy'))))
      }
      await sql.end()
      for (const [few = 0, many = 0] of Object.values(peaks)) expect(many / few).toBeLessThan(1.2)
    },
  )
})

describe('admin import', () => {
  it('when a server is running or the database is not empty, exits with conflict and changes nothing', async () => {
    const before = contentOf((await admin('export', '-', ...first())).stdout)
    const { code, stderr } = await admin('import', at('beside.ndjson'), ...first())
    expect(code).toBe(5)
    expect(stderr).toContain('the database is not empty')
    expect(stderr).toContain('import into a new one')
    expect(contentOf((await admin('export', '-', ...first())).stdout)).toBe(before)
  })

  it('when the file is truncated, exits with 5, and the next import starts from scratch', async () => {
    const whole = readFileSync(at('beside.ndjson'))
    writeFileSync(at('cut.ndjson'), whole.subarray(0, whole.length - 100))
    const third = await newPlace('third')
    const { code, stderr } = await admin('import', at('cut.ndjson'), ...third)
    expect({ code, stderr }).toMatchObject({ code: 5, stderr: expect.stringContaining('is cut off') })
    expect(await admin('import', at('beside.ndjson'), ...third)).toMatchObject({ code: 0 })
    expect(await admin('verify', ...third)).toMatchObject({ code: 0 })
  })

  it('when the file does not exist, creates no database', async () => {
    expect(await admin('import', at('no such file'), '--data-dir', at('none'))).toMatchObject({ code: 2 })
    expect(() => statSync(at('none'))).toThrow('ENOENT')
  })
})

describe('admin export', () => {
  it('replaces no file, and creates none when the database does not exist', async () => {
    const [code, before] = [2, readFileSync(at('beside.ndjson'), 'utf8')]
    expect(await admin('export', at('beside.ndjson'), ...first())).toMatchObject({ code })
    expect(readFileSync(at('beside.ndjson'), 'utf8')).toBe(before)
    expect(await admin('export', at('new.ndjson'), '--data-dir', at('none'))).toMatchObject({ code: 3 })
    expect(() => statSync(at('new.ndjson'))).toThrow('ENOENT')
  })
})
