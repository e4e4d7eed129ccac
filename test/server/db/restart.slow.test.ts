import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { startEmbedded } from '../../../server/db/embedded.ts'
import type { OperatorError } from '../../../src/contract/index.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'consentctl-db-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A worker that records each start and runs a script. */
function worker(script: string): URL {
  const file = join(folder, 'worker.mjs')
  const note = `import { appendFileSync } from 'node:fs'
    import { parentPort } from 'node:worker_threads'
    appendFileSync(${JSON.stringify(join(folder, 'starts'))}, '.')
    parentPort.once('message', () => parentPort.close())\n`
  writeFileSync(file, note + script)
  return pathToFileURL(file)
}

const starts = () => readFileSync(join(folder, 'starts'), 'utf8').length

it('startEmbedded › restarts the database when its thread exits, until it is closed', async () => {
  const workerFile = worker(`parentPort.postMessage('ready'); setTimeout(() => process.exit(1), 20)`)
  const database = await startEmbedded(folder, { workerFile })
  await vi.waitFor(() => expect(starts()).toBeGreaterThan(3), { timeout: 5000 })
  await database.close()
  const atClose = starts()
  await new Promise(resolve => setTimeout(resolve, 300))
  expect(starts()).toBe(atClose)
})

it('startEmbedded › reports why a database cannot be opened, and unlocks the folder', async () => {
  const workerFile = worker(`throw new Error('the disk is full')`)
  const onWait = vi.fn()
  await expect(startEmbedded(folder, { workerFile, onWait })).rejects.toThrow(/cannot be opened: the disk is full/)
  expect(onWait).toHaveBeenLastCalledWith(null)
  const again = await startEmbedded(folder, { workerFile: worker(`parentPort.postMessage('ready')`) })
  await again.close()
})

const built = new URL('../../../dist/server/db/embedded-worker.js', import.meta.url)

/** A new database that was closed, to be copied. */
let closed: string
beforeAll(async () => {
  closed = mkdtempSync(join(tmpdir(), 'consentctl-db-'))
  await (await startEmbedded(closed, { workerFile: built })).close()
})
afterAll(() => rmSync(closed, { recursive: true, force: true }))

function copyClosed(): void {
  cpSync(join(closed, 'postgresql'), join(folder, 'postgresql'), { recursive: true })
}

const damages = [
  {
    what: 'an empty pg_control',
    damage: (files: string) => truncateSync(join(files, 'global/pg_control')),
    message: /cannot be opened: could not read file "global\/pg_control": read 0 of \d+/,
    hint: /put \S+\/postgresql back from a backup/,
  },
  {
    what: 'the files of another version',
    damage: (files: string) => writeFileSync(join(files, 'PG_VERSION'), '12\n'),
    message: /incompatible with server: The data directory was initialized by PostgreSQL version 12/,
    hint: /open \S+\/postgresql with the version of consentctl that made it/,
  },
  {
    what: 'no PG_VERSION among its files',
    damage: (files: string) => rmSync(join(files, 'PG_VERSION')),
    message: /\/postgresql\/PG_VERSION is missing/,
    hint: /put \S+\/postgresql back from a backup/,
  },
  {
    what: 'no write-ahead log',
    damage: (files: string) => emptyFolder(join(files, 'pg_wal')),
    message: /cannot be opened: could not locate a valid checkpoint record/,
    hint: /put \S+\/postgresql back from a backup/,
  },
  {
    what: 'no configuration',
    damage: (files: string) => rmSync(join(files, 'postgresql.conf')),
    message: /cannot be opened: could not access the server configuration file/,
    hint: /put \S+\/postgresql back from a backup/,
  },
]

function emptyFolder(path: string): void {
  for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true })
}

function contentsOf(path: string): (readonly [name: string, content: string])[] {
  const found = readdirSync(path, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  const paths = found.map(({ parentPath, name }) => join(parentPath, name)).sort()
  return paths.map(each => [each, createHash('sha1').update(readFileSync(each)).digest('hex')])
}

it.each(damages)(
  'startEmbedded › names the damaged file and a remedy, and changes nothing, with $what',
  async ({ damage, message, hint }) => {
    copyClosed()
    damage(join(folder, 'postgresql'))
    const before = contentsOf(folder)
    const error = await startEmbedded(folder, { workerFile: built }).catch((error: OperatorError) => error)
    expect(error).toMatchObject({
      message: expect.stringMatching(message),
      hint: expect.stringMatching(hint),
    })
    expect(contentsOf(folder)).toEqual(before)
  },
)

it.skipIf(process.getuid?.() === 0)('startEmbedded › explains how to use a folder owned by another user', async () => {
  chmodSync(folder, 0o500)
  const error = await startEmbedded(folder, { workerFile: built }).catch((error: OperatorError) => error)
  chmodSync(folder, 0o700)
  expect(error).toMatchObject({ message: `the data folder ${folder} cannot be used: permission denied` })
  expect(error).toMatchObject({ hint: `let the user of this process own ${folder} and everything in it` })
})

it('startEmbedded › opens a database with an empty postmaster.pid, and keeps that of a running one', async () => {
  const pid = join(folder, 'postgresql/postmaster.pid')
  copyClosed()
  writeFileSync(pid, '')
  const database = await startEmbedded(folder, { workerFile: built })
  const before = readFileSync(pid, 'utf8')
  expect(before).not.toBe('')
  await expect(startEmbedded(folder, { workerFile: built })).rejects.toThrow(/in use by another/)
  expect(readFileSync(pid, 'utf8')).toBe(before)
  await database.close()
})

it('startEmbedded › checkpoints a long write-ahead log, which a later start does not replay', async () => {
  const database = await startEmbedded(folder, { workerFile: built, checkpointIntervalMs: 100 })
  const sql = connect({ target: { folder }, max: 1 })
  const checkpointed = async () =>
    (await sql<{ at: string }[]>`select redo_lsn::text as at from pg_control_checkpoint()`)[0]?.at
  const atStart = await checkpointed()
  await sql`create table rows (text text)`
  await sql`insert into rows select repeat('x', 1000) from generate_series(1, 70000)`
  await vi.waitFor(async () => expect(await checkpointed()).not.toBe(atStart), { timeout: 10_000, interval: 100 })
  await sql.end()
  await database.close()
})

it('startEmbedded › rejects a folder whose path is too long for a Unix socket', async () => {
  const long = join(folder, 'x'.repeat(100))
  await expect(startEmbedded(long, { workerFile: worker('') })).rejects.toThrow(/too long for a Unix socket/)
})
