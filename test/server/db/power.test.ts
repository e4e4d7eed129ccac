import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import type { Sql } from 'postgres'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { startEmbedded } from '../../../server/db/embedded.ts'
import { cutPower, type Disk, flush, flushAll, interceptFlushes, type Names } from '../../support/simulated-disk.ts'

const built = new URL('../../../dist/server/db/embedded-worker.js', import.meta.url)
const rig = transformSync(readFileSync(new URL('../../support/simulated-disk.ts', import.meta.url)), {
  loader: 'ts',
}).code
const variants: readonly Names[] = ['flushed', 'all']

let folder: string
let disk: Disk
let endRecording: () => void
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'consentctl-power-'))
  disk = { folder: join(folder, 'disk'), flushed: join(folder, 'flushed') }
  mkdirSync(disk.folder)
  flushAll(disk)
  endRecording = interceptFlushes(path => flush(disk, path))
})
afterEach(() => {
  endRecording()
  rmSync(folder, { recursive: true, force: true })
})

/** The database's thread with other JavaScript in the place of its flushes, which has the `disk` and the `path`. */
function thread(flush: string): URL {
  const file = join(folder, `${createHash('sha1').update(flush).digest('hex')}.mjs`)
  const start = `const disk = ${JSON.stringify(disk)}\ninterceptFlushes(path => { ${flush} })\nawait import('${built.href}')`
  writeFileSync(file, `${rig}\n${start}`)
  return pathToFileURL(file)
}

const recorded = () => thread('flush(disk, path)')
const unflushed = () => thread('')

/** Runs work on the database of a folder. */
async function use(data: string, workerFile: URL, work: (sql: Sql) => Promise<void>): Promise<void> {
  const database = await startEmbedded(data, { workerFile })
  const sql = connect({ target: { folder: data }, max: 1 })
  try {
    await work(sql)
  } finally {
    await sql.end()
    await database.close()
  }
}

async function write(sql: Sql, from: number, to: number): Promise<void> {
  await sql`create table if not exists rows (number int primary key)`
  for (let number = from; number <= to; number += 1) await sql`insert into rows values (${number})`
}

/** The folder that a power cut leaves. */
function found(names: Names): string {
  return join(folder, `found-${names}`)
}

/** Counts the rows of the database that a power cut leaves. */
async function rowsFound(found: string, data = 'data'): Promise<number> {
  let rows = 0
  await use(join(found, data), unflushed(), async sql => {
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from rows`
    rows = row?.count ?? 0
  })
  return rows
}

it('power cut › right after the first start of a database › loses no acknowledged row', async () => {
  await use(join(disk.folder, 'new', 'data'), recorded(), async sql => {
    await write(sql, 1, 5)
    for (const names of variants) cutPower(disk, names, found(names))
  })
  for (const names of variants) expect(await rowsFound(found(names), 'new/data'), names).toBe(5)
})

it('power cut › right after a later start › loses no acknowledged row', async () => {
  await use(join(disk.folder, 'data'), unflushed(), sql => write(sql, 1, 5))
  flushAll(disk)
  await use(join(disk.folder, 'data'), recorded(), async sql => {
    await write(sql, 6, 10)
    for (const names of variants) cutPower(disk, names, found(names))
  })
  for (const names of variants) expect(await rowsFound(found(names)), names).toBe(10)
})

it('power cut › within a start › leaves a database that opens with all its rows', async () => {
  await use(join(disk.folder, 'data'), unflushed(), sql => write(sql, 1, 5))
  flushAll(disk)
  const isStarted = join(folder, 'started')
  const cut = `if (!fs.existsSync(${JSON.stringify(isStarted)})) {
    globalThis.cuts = (globalThis.cuts ?? 0) + 1
    cutPower(disk, 'all', ${JSON.stringify(join(folder, 'cut-'))} + globalThis.cuts)
  }`
  await use(join(disk.folder, 'data'), thread(`${cut}; flush(disk, path)`), async () => writeFileSync(isStarted, ''))
  const cuts = readdirSync(folder).filter(name => name.startsWith('cut-'))
  expect(cuts.length).toBeGreaterThan(1)
  for (const name of cuts) expect(await rowsFound(join(folder, name)), name).toBe(5)
})

it('failed flush › acknowledges nothing afterwards, and restarts from what is on the disk', async () => {
  const data = join(disk.folder, 'data')
  const isBroken = join(folder, 'broken')
  const flush = `if (fs.existsSync(${JSON.stringify(isBroken)})) throw new Error('EIO: i/o error, fsync'); flush(disk, path)`
  const onTrouble = vi.fn()
  const database = await startEmbedded(data, { workerFile: thread(flush), onTrouble })
  const sql = connect({ target: { folder: data }, max: 1 })
  await write(sql, 1, 5)
  writeFileSync(isBroken, '')
  await expect(sql`insert into rows values (6)`).rejects.toThrow()
  cutPower(disk, 'all', found('all'))
  rmSync(isBroken)
  await vi.waitFor(() => sql`insert into rows values (7)`, { timeout: 20_000, interval: 100 })
  expect(onTrouble).toHaveBeenCalledWith(expect.objectContaining({ message: 'EIO: i/o error, fsync' }))
  await sql.end()
  await database.close()
  expect(await rowsFound(found('all'))).toBe(5)
})

it('control › a disk that flushes nothing loses acknowledged rows', async () => {
  await use(join(disk.folder, 'data'), unflushed(), sql => write(sql, 1, 5))
  flushAll(disk)
  await use(join(disk.folder, 'data'), unflushed(), async sql => {
    await write(sql, 6, 10)
    for (const names of variants) cutPower(disk, names, found(names))
  })
  for (const names of variants) expect(await rowsFound(found(names)), names).toBe(5)
})
