import { createConnection, createServer, type Socket } from 'node:net'
import postgres, { type Sql } from 'postgres'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { connect } from '../../../../server/db/connect.ts'
import { dbErrorKind } from '../../../../server/db/errors.ts'
import { listen } from '../../../support/net.ts'

const cluster = inject('clusterUrl')

/** With TEST_DRIVER_POOL=1 the same tests run on the driver's own pool: those that pass tell which code can be deleted. */
const isDriver = Boolean(process.env['TEST_DRIVER_POOL'])
const pools: Sql[] = []

function open(max: number, url = `${cluster}/postgres`): Sql {
  const sql = isDriver ? postgres(url, { max, onnotice: () => {} }) : connect({ target: { url }, max })
  pools.push(sql)
  return sql
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map(sql => sql.end({ timeout: 1 })))
})

const five = (sql: Sql) => sql<{ n: number }[]>`select n from generate_series(1, 5) n`
const rowsOfFive = [1, 2, 3, 4, 5].map(n => ({ n }))

/** Has the backend of the pool's only connection terminated while it executes a statement, and returns the error. */
async function loseConnection(sql: Sql): Promise<unknown> {
  const other = open(1)
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const lost = sql`select pg_sleep(10)`.catch((error: unknown) => error)
  const isRunning = () => other`
    select from pg_stat_activity where pid = ${row?.pid ?? 0} and state = 'active' and query like '%pg_sleep%'`
  await expect.poll(async () => (await isRunning()).length).toBe(1)
  await other`select pg_terminate_backend(${row?.pid ?? 0})`
  return lost
}

describe.runIf(cluster)('Pool › a statement fails after its first rows', () => {
  it('returns all rows of the next statement, without gaps (porsager/postgres#1119, #1181)', async () => {
    const sql = open(1)
    const failing = sql`select 1 / (4 - n) from generate_series(1, 5) n`
    await expect(failing).rejects.toMatchObject({ code: '22012' })
    expect(await five(sql)).toEqual(rowsOfFive)
  })

  it('returns all rows of statements that were already waiting', async () => {
    const sql = open(1)
    const failing = sql`select 1 / (4 - n) from generate_series(1, 5) n`.catch((error: unknown) => error)
    const waiting = [five(sql), five(sql)]
    expect(await failing).toMatchObject({ code: '22012' })
    for (const statement of waiting) expect(await statement).toEqual(rowsOfFive)
  })
})

describe.runIf(cluster)('Pool › a connection is lost during a statement', () => {
  it('fails only that statement, and runs the next ones on another connection (#1208, #1223)', async () => {
    const sql = open(1)
    expect(dbErrorKind(await loseConnection(sql))).toBe('lost')
    for (let round = 0; round < 3; round += 1) expect(await five(sql)).toEqual(rowsOfFive)
  })

  it('ends within a second (#1097, #1130)', async () => {
    const sql = open(1)
    await loseConnection(sql)
    const ended = sql.end().then(() => 'ended')
    const late = new Promise(resolve => setTimeout(resolve, 1000, 'late'))
    expect(await Promise.race([ended, late])).toBe('ended')
  })
})

describe.runIf(cluster)('Pool › begin', () => {
  it('begins a transaction on a pool without a connection (#751, #1219)', async () => {
    expect(await open(1).begin(tx => five(tx as unknown as Sql))).toEqual(rowsOfFive)
  })

  it('keeps other callers’ statements out of the transaction (#1189)', async () => {
    const sql = open(2)
    const backend = (on: Sql) => on<{ pid: number }[]>`select pg_backend_pid() as pid, pg_sleep(0.01)`
    await sql.begin(async tx => {
      const [own, ...others] = await Promise.all([tx as unknown as Sql, sql, sql, sql].map(backend))
      for (const other of others) expect(other[0]?.pid).not.toBe(own?.[0]?.pid)
    })
  })

  it('when the callback fails, rolls back and rethrows', async () => {
    const sql = open(1)
    const failing = sql.begin(async tx => {
      await tx`create table leftover ()`
      throw new Error('enough')
    })
    await expect(failing).rejects.toThrow('enough')
    expect(await sql`select to_regclass('leftover') as found`).toEqual([{ found: null }])
  })
})

describe.runIf(cluster)('Pool › a statement has to be prepared again', () => {
  it('stores its values unchanged after a schema change (#1197)', async () => {
    const sql = open(1)
    const value = { flag: true, doc: { a: [1] }, bytes: Buffer.from([0, 255]), day: '2026-11-20' }
    const insert = () => sql`
      insert into serialized (flag, doc, bytes, day)
      values (${value.flag}, ${sql.json(value.doc)}, ${value.bytes}, ${value.day}::date) returning *`
    await sql`create temp table serialized (flag boolean, doc jsonb, bytes bytea, day date)`
    expect(await insert()).toEqual([value])
    await sql`alter table serialized add column more integer`
    expect(await insert()).toEqual([{ ...value, more: null }])
  })

  it('returns its own rows to each of several concurrent statements', async () => {
    const sql = open(1)
    const echo = (word: string) => sql<{ word: string }[]>`select ${word}::text as word`
    await echo('first')
    await sql`deallocate all`
    const words = ['a', 'b', 'c', 'd']
    const rows = await Promise.all(words.map(echo))
    expect(rows.map(([row]) => row?.word)).toEqual(words)
  })

  it('when the database has lost a prepared statement, as behind a pooler, stops preparing statements', async () => {
    const sql = open(1)
    const prepared = () => sql<{ count: number }[]>`select count(*)::integer as count from pg_prepared_statements`
    await prepared()
    await sql`deallocate all`
    await prepared()
    expect(await prepared()).toEqual([{ count: 0 }])
  })
})

describe.runIf(cluster)('Pool › a connection is opened', () => {
  it('sends no query for array types, whose failure would end the process (#279, #1192, #1205)', async () => {
    const { hostname, port } = new URL(cluster ?? '')
    let sent = ''
    const sockets: Socket[] = []
    const recorder = createServer(socket => {
      const server = createConnection(Number(port), hostname)
      sockets.push(
        socket.on('error', () => {}),
        server.on('error', () => {}),
      )
      socket.on('data', chunk => {
        sent += chunk.toString('latin1')
      })
      socket.pipe(server).pipe(socket)
    })
    const url = new URL(`${cluster}/postgres`)
    url.host = new URL(await listen(recorder)).host
    const sql = open(1, url.href)
    await five(sql)
    await sql.end({ timeout: 1 })
    for (const socket of sockets) socket.destroy()
    recorder.close()
    expect(sent).toContain('generate_series')
    expect(sent).not.toContain('pg_type')
  })
})
