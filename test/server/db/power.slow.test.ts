import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { deserialize, serialize } from 'node:v8'
import { createTarGzip, parseTarGzip } from 'nanotar'
import type { Sql } from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { startEmbedded } from '../../../server/db/embedded.ts'
import { makeFolder } from '../../../server/db/flush.ts'
import { migrate } from '../../../server/db/migrate.ts'
import { openPGlite } from '../../../server/db/pglite.ts'
import { verifyAll } from '../../../server/verify/verify.ts'
import { isLongRun, randomFrom } from '../../e2e/campaign.ts'
import { newLedger, type RecordHistory, type Target, write } from '../../e2e/ledger.ts'
import { recordDisk } from '../../support/disk-recorder.ts'
import { memoryFolder } from '../../support/run-folder.ts'
import { newAccount, startNode } from '../../support/service.ts'
import { kill, type Operation, randomCut, SimulatedDisk } from '../../support/simulated-disk.ts'

const replays = Number(process.env['CONSENTCTL_TEST_REPLAYS'] || (isLongRun ? 5000 : 15))
/** A recording of a failed run, to replay it with the seed that it printed. */
const recordingFile = process.env['CONSENTCTL_TEST_RECORDING']

const packed = new URL('../../../dist/server/db/embedded.tar.gz', import.meta.url)
const built = new URL('../../../dist/server/db/embedded-worker.js', import.meta.url)

interface Recording {
  readonly seed: number
  readonly operations: readonly Operation[]
  /** What was written, with the number of operations before each acknowledgement. */
  readonly histories: readonly RecordHistory[]
}

const folder = mkdtempSync(join(memoryFolder(), 'power-'))
const fresh = pathToFileURL(join(folder, 'fresh.tar.gz'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** An empty database with so little memory that it writes pages of tables all the time, and that is quick to open. */
async function packFresh(): Promise<void> {
  const entries = (await parseTarGzip(readFileSync(packed))).map(({ name, type, data = new Uint8Array() }) => {
    if (type === 'directory') return { name: `${name.replace(/\/$/, '')}/` }
    return { name, data: name === 'postgresql.conf' ? `${Buffer.from(data)}\nshared_buffers = 1MB\n` : data }
  })
  writeFileSync(fresh, await createTarGzip(entries))
}

/** Opens the database below a folder as a server does. */
async function use<T>(root: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const data = join(root, 'new/data')
  makeFolder(data)
  const database = await openPGlite(data, fresh)
  const sql = connect({ target: { folder: data }, max: 1 })
  try {
    await migrate(sql)
    return await work(sql)
  } finally {
    await sql.end()
    await database.close()
  }
}

/**
 * Records a first start whose process is killed, a start that recovers and is stopped, and a start after that, each with
 * clients that write.
 */
async function record(): Promise<Recording> {
  const operations: Operation[] = []
  const ledger = newLedger(() => operations.length)
  let target: Omit<Target, 'url'> | undefined
  const serve = async (root: string, during: (sql: Sql) => Promise<unknown> = async () => {}) => {
    const endRecording = recordDisk(root, operation => operations.push(operation))
    await use(root, async sql => {
      target ??= await newAccount(sql)
      const { app, url } = await startNode(sql)
      let isOver = false
      const phase = { ...ledger, seed: ledger.seed + operations.length, histories: new Map() }
      const writing = write({ ...target, url }, phase, { clients: 4 }, () => isOver)
      const acknowledged = () =>
        [...phase.histories.values()].flatMap(({ steps }) => steps).filter(isAcknowledged).length
      await vi.waitFor(() => expect(acknowledged()).toBeGreaterThan(20), 20_000)
      await during(sql)
      await vi.waitFor(() => expect(acknowledged()).toBeGreaterThan(40), 20_000)
      isOver = true
      await writing
      for (const history of phase.histories.values())
        ledger.histories.set(`${operations.length} ${history.label}`, history)
      if (during === killed) endRecording() // what follows is of a process that is no longer there
      await app.close()
    })
    endRecording()
  }
  const killed = async () => {}
  const first = join(folder, 'recorded-first')
  await serve(first, killed)
  const disk = new SimulatedDisk()
  for (const operation of operations) disk.apply(operation)
  const later = join(folder, 'recorded-later')
  disk.build(later, kill, Math.random)
  await serve(later, async sql => {
    await sql`checkpoint`
    await sql`vacuum full sites`
    await sql`select pg_switch_wal()`
  })
  await serve(later)
  return { seed: ledger.seed, operations, histories: [...ledger.histories.values()] }
}

const isAcknowledged = ({ outcome }: { outcome: string }) => outcome === 'ok'

/** Lists what is wrong with the database that a power cut left after a number of recorded operations. */
async function check(root: string, { histories }: Recording, after: number): Promise<string[]> {
  try {
    return await use(root, async sql => {
      const problems = await findLost(sql, histories, after)
      const work = {
        sql,
        signal: AbortSignal.timeout(60_000),
        inspected: { accounts: 0, records: 0, entries: 0, administration: 0, checkpoints: 0, timestamps: 0 },
      }
      for await (const found of verifyAll(work, { account: undefined, kept: [], records: true }))
        problems.push(...found.map(({ detail }) => detail))
      return problems
    })
  } catch (error) {
    return [`does not open: ${(error as Error).message}`]
  }
}

async function findLost(sql: Sql, histories: readonly RecordHistory[], after: number): Promise<string[]> {
  const entries = await sql<{ id: string; action: string; step: string }[]>`
    select consent_id as id, action, preferences ->> 'step' as step from consent_history`
  const nameOf = (id: string | null, action: string, step: string) => `${id} ${action === 'deleted' ? action : step}`
  const stored = new Set(entries.map(({ id, action, step }) => nameOf(id, action, step)))
  return histories.flatMap(({ id, steps }) =>
    steps
      .filter(step => isAcknowledged(step) && (step.acknowledgedAt ?? 0) <= after)
      .filter(({ action, name }) => !stored.has(nameOf(id, action, name)))
      .map(({ name }) => `lost the acknowledged write ${name}`),
  )
}

interface Replay {
  readonly count: number
  /** Paths whose flushes are left out, as if the engine had forgotten them. */
  readonly without?: RegExp
  /** Stop at the first problem. */
  readonly isSearch?: boolean
}

/** Cuts the power at random moments of a recording. Returns what is wrong, and how many cuts were checked. */
async function replay(recording: Recording, { count, without, isSearch = false }: Replay) {
  const { operations, seed } = recording
  const cuts = Array.from({ length: count }, (_, index) => {
    const random = randomFrom(seed + index)
    return { index, random, after: Math.floor(random() * (operations.length + 1)) }
  })
  // In the order of the recording, so that each operation is applied once; a search takes random ones.
  if (!isSearch) cuts.sort((one, other) => one.after - other.after)
  const forgotten = without ? filesOf(operations, without) : new Set<number>()
  let disk = new SimulatedDisk()
  let applied = 0
  let checked = 0
  const problems: string[] = []
  for (const { index, random, after } of cuts) {
    if (after < applied) [disk, applied] = [new SimulatedDisk(), 0]
    for (const operation of operations.slice(applied, after)) {
      if (operation.kind !== 'flush' || !forgotten.has(operation.file)) disk.apply(operation)
    }
    applied = after
    const cut = randomCut(random)
    const root = join(folder, `cut-${index}`)
    disk.build(root, cut, random)
    const found = await (random() < 0.25 ? checkTwice : check)(root, recording, after, random)
    rmSync(root, { recursive: true, force: true })
    checked += 1
    problems.push(
      ...found.map(problem => `cut ${index} after ${after} operations (${cut.names}, ${cut.data}) ${problem}`),
    )
    if (isSearch && problems.length > 0) break
  }
  return { problems, checked }
}

/** Cuts the power a second time while the database that the first cut left is opened, read and closed. */
async function checkTwice(root: string, recording: Recording, after: number, random: () => number): Promise<string[]> {
  const disk = SimulatedDisk.load(root)
  const operations: Operation[] = []
  const endRecording = recordDisk(root, operation => operations.push(operation))
  const found = await check(root, recording, after)
  endRecording()
  const again = `${root}-again`
  for (const operation of operations.slice(0, Math.floor(random() * (operations.length + 1)))) disk.apply(operation)
  disk.build(again, randomCut(random), random)
  found.push(...(await check(again, recording, after)).map(problem => `and a second cut: ${problem}`))
  rmSync(again, { recursive: true, force: true })
  return found
}

function filesOf(operations: readonly Operation[], paths: RegExp): Set<number> {
  return new Set(operations.flatMap(each => (each.kind === 'open' && paths.test(each.path) ? [each.file] : [])))
}

describe('power cut', () => {
  let recording: Recording
  beforeAll(async () => {
    await packFresh()
    recording = recordingFile ? (deserialize(readFileSync(recordingFile)) as Recording) : await record()
  })

  it('a recording contains every operation › replaying all of them yields the files of the folder', () => {
    if (recordingFile) return
    const disk = new SimulatedDisk()
    for (const operation of recording.operations) disk.apply(operation)
    const root = join(folder, 'all')
    disk.build(root, kill, Math.random)
    const contents = (path: string) =>
      readdirSync(path, { recursive: true, withFileTypes: true })
        .filter(entry => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name).slice(path.length))
        .sort()
        .map(name => [name, readFileSync(join(path, name)).toString('latin1')])
    expect(contents(root)).toEqual(contents(join(folder, 'recorded-later')))
  })

  it(`${replays} cuts at random moments, with any part of the unflushed data › open and lose no acknowledged write`, {
    timeout: 120_000 + replays * 5000,
  }, async () => {
    const startedAt = Date.now()
    const { problems } = await replay(recording, { count: replays })
    const seconds = Math.round((Date.now() - startedAt) / 1000)
    process.stderr.write(
      `${replays} cuts of ${recording.operations.length} operations in ${seconds} s: ${problems.length} problems\n`,
    )
    if (problems.length > 0) {
      const file = join('/tmp', `consentctl-recording-${recording.seed}`)
      writeFileSync(file, serialize(recording), { mode: 0o600 })
      process.stderr.write(`repeat it with CONSENTCTL_TEST_RECORDING=${file}\n`)
    }
    expect(problems.slice(0, 20)).toEqual([])
  })

  const faults = [
    { flush: 'any file', paths: /./, within: 5 },
    { flush: 'the write-ahead log', paths: /postgresql\/pg_wal\//, within: 30 },
    { flush: 'pg_control', paths: /postgresql\/global\/pg_control$/, within: 30 },
  ]
  it.each(faults)(
    'without flushes of $flush › loses writes within $within cuts',
    { timeout: 300_000 },
    async ({ paths, within, flush }) => {
      const { problems, checked } = await replay(recording, { count: within, without: paths, isSearch: true })
      process.stderr.write(`without flushes of ${flush}: ${checked} cuts, ${problems[0]}\n`)
      expect(problems).not.toEqual([])
    },
  )
})

it('failed flush › acknowledges nothing afterwards, and restarts from the data on disk', async () => {
  const data = mkdtempSync(join(tmpdir(), 'consentctl-power-'))
  const isBroken = join(data, 'broken')
  const thread = join(data, 'thread.mjs')
  writeFileSync(
    thread,
    `import fs from 'node:fs'
     import { syncBuiltinESMExports } from 'node:module'
     fs.fsyncSync = () => {
       if (fs.existsSync(${JSON.stringify(isBroken)})) throw new Error('EIO: i/o error, fsync')
     }
     syncBuiltinESMExports()
     await import('${built.href}')`,
  )
  const onTrouble = vi.fn()
  const database = await startEmbedded(data, { workerFile: pathToFileURL(thread), onTrouble })
  const sql = connect({ target: { folder: data }, max: 1 })
  await sql`create table rows (number int primary key)`
  writeFileSync(isBroken, '')
  await expect(sql`insert into rows values (6)`).rejects.toThrow()
  rmSync(isBroken)
  await vi.waitFor(() => sql`insert into rows values (7)`, { timeout: 20_000, interval: 100 })
  expect(onTrouble).toHaveBeenCalledWith(expect.objectContaining({ message: 'EIO: i/o error, fsync' }))
  await sql.end()
  await database.close()
  rmSync(data, { recursive: true, force: true })
})
