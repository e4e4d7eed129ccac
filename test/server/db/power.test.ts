import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import type { Sql } from 'postgres'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { connect } from '../../../server/db/connect.ts'
import { startEmbedded } from '../../../server/db/embedded.ts'
import { cutPower, type Disk, type Names, recordFlushes, settle } from '../../support/power.ts'

const built = new URL('../../../dist/server/db/embedded-worker.js', import.meta.url)
const rig = transformSync(readFileSync(new URL('../../support/power.ts', import.meta.url)), {
  loader: 'ts',
}).code
const variants: readonly Names[] = ['flushed', 'all']

let folder: string
let disk: Disk
let endRecording: () => void
beforeEach(() => {
  folder = mkdtempSync('/tmp/consentctl-power-')
  disk = { folder: join(folder, 'disk'), flushed: join(folder, 'flushed') }
  mkdirSync(disk.folder)
  settle(disk)
  endRecording = recordFlushes(disk)
})
afterEach(() => {
  endRecording()
  rmSync(folder, { recursive: true, force: true })
})

/** The database's thread with its flushes recorded; `each` is JavaScript that runs after each, with the `count` of them. */
function recorded(each = ''): URL {
  const file = join(folder, 'worker.mjs')
  const start = `recordFlushes(${JSON.stringify(disk)}, count => { ${each} })\nawait import('${built.href}')`
  writeFileSync(file, `${rig}\n${start}`)
  return pathToFileURL(file)
}

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
async function rowsFound(names: Names): Promise<number> {
  let rows = 0
  await use(join(found(names), 'data'), built, async sql => {
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from rows`
    rows = row?.count ?? 0
  })
  return rows
}

it('a power cut right after the first start of a database loses no acknowledged row', async () => {
  await use(join(disk.folder, 'data'), recorded(), async sql => {
    await write(sql, 1, 20)
    for (const names of variants) cutPower(disk, names, found(names))
  })
  for (const names of variants) expect(await rowsFound(names), names).toBe(20)
})

it('a power cut right after a later start loses no acknowledged row', async () => {
  await use(join(disk.folder, 'data'), built, sql => write(sql, 1, 20))
  settle(disk)
  await use(join(disk.folder, 'data'), recorded(), async sql => {
    await write(sql, 21, 40)
    for (const names of variants) cutPower(disk, names, found(names))
  })
  for (const names of variants) expect(await rowsFound(names), names).toBe(40)
})

it('control: a disk that flushes nothing loses acknowledged rows', async () => {
  await use(join(disk.folder, 'data'), built, sql => write(sql, 1, 20))
  settle(disk)
  await use(join(disk.folder, 'data'), built, async sql => {
    await write(sql, 21, 40)
    for (const names of variants) cutPower(disk, names, found(names))
  })
  for (const names of variants) expect(await rowsFound(names), names).toBe(20)
})
