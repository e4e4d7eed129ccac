import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import type { NewAccount } from '../../src/contract/server.ts'
import { newSigningKey, privatePem } from '../../src/evidence/keys.ts'
import { runBinary, useFolder } from '../support/cli.ts'
import { findPrograms } from '../support/postgres.ts'
import { createAccount, type ServerProcess, startServer } from '../support/server.ts'
import { databaseFor, newDatabase } from './campaign.ts'

const programs = findPrograms()
const folder = useFolder()
const at = (name: string) => join(folder.path, name)

let surroundings: Record<string, string>
let account: NewAccount
let server: ServerProcess | undefined

beforeAll(async () => {
  writeFileSync(at('signing.pem'), privatePem(newSigningKey()), { mode: 0o600 })
  const database = await databaseFor('before_restore', folder.path)
  surroundings = { HOME: folder.path, LOG_LEVEL: 'silent', SIGNING_KEY_FILE: at('signing.pem'), ...database }
  account = await createAccount(['--email', 'a@example.com'], surroundings)
})
afterAll(() => server?.end('SIGTERM'))

const runWith = (env: Record<string, string>, ...args: string[]) =>
  runBinary(args, {
    env: {
      HOME: folder.path,
      CONSENTCTL_BASE_URL: server?.url ?? '',
      CONSENTCTL_API_KEY: account.api_key,
      CONSENTCTL_SITE: account.site.id,
      ...env,
    },
  })
const run = (...args: string[]) => runWith({}, ...args)
const cells = (stdout: string, count: number) =>
  stdout
    .trim()
    .split('\n')
    .map(line => line.split('\t').slice(0, count).join(' '))

function dump(): void {
  execFileSync(join(programs ?? '', 'pg_dump'), [
    '--format=custom',
    '--file',
    at('consents.dump'),
    surroundings['DATABASE_URL'] ?? '',
  ])
}

/** Replaces the database by an older one, as the section on backups in server/README.md does. */
async function restoreDump(name: string): Promise<void> {
  await server?.end('SIGTERM')
  const DATABASE_URL = await newDatabase(name)
  execFileSync(join(programs ?? '', 'pg_restore'), ['--no-owner', '--dbname', DATABASE_URL, at('consents.dump')])
  surroundings = { ...surroundings, DATABASE_URL }
  server = await startServer(['--port', '0'], surroundings)
}

it.skipIf(!programs || !inject('clusterUrl'))(
  'when a backup was restored › the receipts since then erase the same people again, except those who came back',
  async () => {
    server = await startServer(['--port', '0'], surroundings)
    const people = ['ada', 'ada', 'customer-1', 'bob', 'carol', 'dora', 'eve']
    writeFileSync(at('people.ndjson'), people.map(subject_id => `${JSON.stringify({ subject_id })}\n`).join(''))
    expect(await run('create', '--file', at('people.ndjson'), '-q')).toMatchObject({ code: 0 })
    await run('requests', 'add', 'DSR-2', 'bob', '--kind', 'erasure', '--received', '2026-01-31')

    dump()
    const since = new Date().toISOString()
    writeFileSync(
      at('requests.csv'),
      'ticket,received,identifier,identifier_2\nDSR-1,2026-01-31,ada,customer-1\nDSR-2,,,\nDSR-3,,carol,\nDSR-4,,dora,\nDSR-5,,nobody,\n',
    )
    expect(await run('subject', 'erase', '--file', at('requests.csv'), '--confirm', '6')).toMatchObject({ code: 0 })
    expect(await run('subject', 'purge', 'DSR-3', '--confirm', '1')).toMatchObject({ code: 0 })

    await restoreDump('consentctl_test_restored')
    expect(await run('create', '--subject', 'dora', '--accepted', '-q')).toMatchObject({ code: 0 })

    const again = await run('subject', 'erase', '--repeat-since', since, '--confirm', '5')
    expect([again.code, ...cells(again.stdout, 4)], again.stderr).toEqual([
      8,
      'DSR-3 1 erased 7',
      'DSR-2 1 erased 8',
      'DSR-1 3 erased 9',
    ])
    expect(again.stderr).toMatch(/receipt 5 \(DSR-5\) lists no records: left out/)
    expect(again.stderr).toMatch(/receipt 4 \(DSR-4\): the record \S+ was made, changed or restored after the erasure/)
    expect(again.stderr).toContain(
      'receipt 3 (DSR-3) was purged; to purge it after this again, by the number of its new receipt: consentctl subject receipts --ticket DSR-3',
    )
    expect(again.stderr).toContain('consentctl requests close DSR-2 --outcome done')

    const toPurge = async () => (await run('subject', 'erase', '--repeat-since', since, '--dry-run')).stderr
    expect(await toPurge()).toContain(
      'receipt 3 (DSR-3) was purged, but the instance holds the data again; to purge it again: consentctl subject purge 7',
    )
    expect(await run('subject', 'purge', '7', '--confirm', '1')).toMatchObject({ code: 0 })
    expect(await toPurge()).not.toContain('purged')
    const purged = await run('subject', 'verify', '7', '--live', '--purged')
    expect(purged, purged.stdout).toMatchObject({ code: 0 })
    const proof = await run('subject', 'verify', '9', '--live', '--subject', 'ada')
    expect(proof, proof.stdout).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('3 records of the receipt shown as deleted'),
    })
    const receipt = JSON.parse(readFileSync(at('.local/state/consentctl/receipts/default/000009.json'), 'utf8'))
    expect(receipt).toMatchObject({
      reason: 'repeats receipt 1, whose records were live again',
      received_at: '2026-01-31',
      previous: { number: 8 },
    })
    const live = cells((await run('list', '--columns', 'subject_id')).stdout, 1)
    expect(live.toSorted()).toEqual(['dora', 'dora', 'eve'])
  },
)

it.skipIf(!programs || !inject('clusterUrl'))(
  'when a backup was restored › a colleague on another machine repeats the erasures whose records the first one sends again',
  async () => {
    const elsewhere = (...args: string[]) => runWith({ HOME: at('elsewhere') }, ...args)
    dump()
    const since = new Date().toISOString()
    expect(await run('subject', 'erase', 'eve', '--ticket', 'DSR-9', '--confirm', '1')).toMatchObject({ code: 0 })
    const found = await elsewhere('subject', 'receipts', '--subject', 'eve', '--columns', 'ticket,local,kept')
    expect(found, found.stderr).toMatchObject({ code: 0, stdout: 'DSR-9\tfalse\ttrue\n' })
    const verified = await elsewhere('subject', 'verify', 'DSR-9', '--live', '--subject', 'eve')
    expect(verified, verified.stdout).toMatchObject({ code: 0 })

    await restoreDump('consentctl_test_restored_again')
    const repeat = () => elsewhere('subject', 'erase', '--repeat-since', since, '--confirm', '1')
    expect(await repeat()).toMatchObject({ code: 0, stdout: '' })
    expect(await run('subject', 'receipts')).toMatchObject({ code: 0 })
    const again = await repeat()
    expect([again.code, ...cells(again.stdout, 4)], again.stderr).toEqual([0, 'DSR-9 1 erased 1'])
    expect((await runWith(surroundings, 'admin', 'verify')).code).toBe(0)
  },
)
