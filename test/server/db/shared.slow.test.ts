import { mkdtempSync, openAsBlob, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { connect, socketName } from '../../../server/db/connect.ts'
import { type EmbeddedDatabase, SharedPGlite, serveOnSocket } from '../../../server/db/pglite.ts'
import * as wire from './wire.ts'

const folder = mkdtempSync(join(tmpdir(), 'consentctl-shared-'))
const path = join(folder, socketName)
let database: EmbeddedDatabase
let clients: Sql[] = []
let raw: wire.RawClient

const client = () => {
  const sql = connect({ target: { folder }, max: 1 })
  clients.push(sql)
  return sql
}

describe('SharedPGlite', () => {
  beforeAll(async () => {
    const db = new SharedPGlite({ loadDataDir: await openAsBlob(inject('embeddedTemplate')) })
    await db.waitReady
    database = await serveOnSocket(db, folder)
  })
  afterAll(async () => {
    await database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  beforeEach(async () => {
    raw = await wire.RawClient.open(path)
  })
  afterEach(async () => {
    raw.die()
    await Promise.all(clients.map(sql => sql.end({ timeout: 1 })))
    clients = []
  })

  it('returns its own rows to each client, even when messages are longer than a read', async () => {
    const sizes = [10, 70_000, 200_000, 1_000_000]
    await Promise.all(
      Array.from({ length: 12 }, async (_, number) => {
        const sql = client()
        for (let round = 0; round < 8; round += 1) {
          const text = `${number}-${round}-`.padEnd(sizes[(number + round) % sizes.length] ?? 0, String(number))
          const rows = await sql`select ${number}::int as number, ${round}::int as round, ${text}::text as text`
          expect(rows).toEqual([{ number, round, text }])
        }
      }),
    )
  })

  it('returns its own rows to each client in a transaction, which others see only after its commit', async () => {
    const setup = client()
    await setup`create table marks (client int, step int)`
    await Promise.all(
      Array.from({ length: 6 }, (_, number) =>
        client().begin(async tx => {
          for (let step = 0; step < 5; step += 1) {
            await tx`insert into marks values (${number}, ${step})`
            await delay(1)
          }
          const others = await tx`select client from marks group by client having count(*) <> 5`
          expect(others).toEqual([])
        }),
      ),
    )
    expect(await setup`select count(*)::int as count from marks`).toEqual([{ count: 30 }])
    await setup`drop table marks`
  })

  it('keeps the portal of a client that pauses between Bind and Execute', async () => {
    const sql = client()
    await sql`select 1`
    raw.send(wire.parse("select 'mine' as whose"), wire.bind)
    await delay(50)
    const other = sql`select ${'theirs'}::text as whose`.execute()
    await delay(50)
    raw.send(wire.execute, wire.sync)
    expect(await raw.ready()).toContain('mine')
    expect(await other).toEqual([{ whose: 'theirs' }])
  })

  it('does not interleave a slow message sequence with those of other clients', async () => {
    let going = true
    const busy = Array.from({ length: 4 }, async (_, number) => {
      const sql = client()
      while (going) expect(await sql`select ${number}::int as n`).toEqual([{ n: number }])
    })
    for (let round = 0; round < 5; round += 1) {
      await raw.sendSlowly(wire.parse(`select 'round ${round}'`), wire.bind, wire.describe, wire.execute, wire.sync)
      expect(await raw.ready()).toContain(`round ${round}`)
    }
    going = false
    await Promise.all(busy)
  })

  const failing = [wire.parse('select 1 from nowhere'), wire.bind, wire.execute]

  it.each<[string, Buffer[]]>([
    ['after Parse', [wire.parse("select 'left'")]],
    ['after Bind', [wire.parse("select 'left'"), wire.bind]],
    ['after a write without Sync', [wire.parse('create table ghost ()'), wire.bind, wire.execute]],
    ['after Flush', [wire.parse("select 'left'"), wire.flush]],
    ['after an error without Sync', failing],
    ['in a transaction', [wire.query('begin; create table ghost ()')]],
    ['in a transaction that failed', [wire.query('begin'), wire.query('select 1 from nowhere')]],
    ['in a transaction of the extended protocol', [wire.parse('begin'), wire.bind, wire.execute, wire.sync]],
    ['in the middle of a message', [wire.parse('select 1').subarray(0, 9)]],
    ['after Bind and Terminate', [wire.parse("select 'left'"), wire.bind, wire.terminate]],
    [
      'after a write without Sync and Terminate',
      [wire.parse('create table ghost ()'), wire.bind, wire.execute, wire.terminate],
    ],
    ['after an error and Terminate', [...failing, wire.terminate]],
    ['in a transaction and Terminate', [wire.query('begin; create table ghost ()'), wire.terminate]],
    ['after a function call', [wire.message('F', [0, 0, 0, 1, 0, 0, 0, 0, 0, 0])]],
  ])('serves the other clients when one disconnects %s', async (_name, messages) => {
    for (const pause of [0, 30]) {
      await client()`drop table if exists ghost`
      const dying = await wire.RawClient.open(path)
      dying.send(...messages)
      const waiting = client()`select 'well' as state`.execute()
      await delay(pause)
      dying.die()
      expect(await within(waiting)).toEqual([{ state: 'well' }])
      expect(await within(client()`select to_regclass('ghost') as ghost, 'well' as state`)).toEqual([
        { ghost: null, state: 'well' },
      ])
    }
  })

  it('serves the other clients after an error and after a function call of a connected client', async () => {
    raw.send(...failing, wire.sync)
    expect(await raw.ready()).toContain('nowhere')
    expect(await within(client()`select 1 as one`)).toEqual([{ one: 1 }])
    raw.send(wire.message('F', [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
    await raw.ready()
    expect(await within(client()`select 2 as two`)).toEqual([{ two: 2 }])
  })

  it('responds to a client whose messages arrive during the failed sequence of another', async () => {
    const sql = client()
    await sql`select 1`
    raw.send(...failing)
    const other = sql`select ${'heard'}::text as word`.execute()
    await delay(50)
    raw.send(wire.execute, wire.sync)
    expect(await raw.ready()).toContain('nowhere')
    expect(await within(other)).toEqual([{ word: 'heard' }])
  })

  it('responds to every query while others fail', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, number) => {
        const sql = client()
        return Promise.all(
          Array.from({ length: 10 }, async (_, round) => {
            if ((number + round) % 3) return expect(await sql`select ${round}::int as n`).toEqual([{ n: round }])
            await expect(sql`select ${round}::int / 0`).rejects.toMatchObject({ code: '22012' })
          }),
        )
      }),
    )
    expect(results.map(({ status }) => status)).toEqual(Array(8).fill('fulfilled'))
  })
})

/** Fails a query that is not answered in time, before the test itself times out. */
function within<T>(work: PromiseLike<T>, milliseconds = 3000): Promise<T> {
  const late = delay(milliseconds, undefined, { ref: false }).then(() => {
    throw new Error('no answer came')
  })
  return Promise.race([work, late])
}
