import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { skippedOnCitus } from '../../support/database.ts'
import { type ServiceResponse, type TestAccount, useService } from '../../support/service.ts'

const service = useService()
const hasNoTriggers = skippedOnCitus('errors of the database that a trigger makes')
const root = '/api/v1/consents'
let account: TestAccount

/** A trigger that fails a given number of times on every write of a record; what a sequence counts is not undone. */
beforeAll(async () => {
  const { sql } = service
  account = await service.newAccount()
  await sql`create sequence trouble_tries`
  await sql`create table trouble (code text, times integer, message text)`
  await sql`insert into trouble values ('', 0, '')`
  await sql`
    create function make_trouble() returns trigger language plpgsql as $$
    declare trouble record;
    begin
      select * into trouble from public.trouble;
      if nextval('trouble_tries') <= trouble.times then
        raise exception using errcode = trouble.code, message = trouble.message, detail = 'with a row';
      end if;
      return new;
    end $$`
  if (hasNoTriggers) return
  await sql`create trigger trouble before insert on consent_history for each row execute function make_trouble()`
})
afterAll(async () => {
  if (!hasNoTriggers) await service.sql`drop trigger trouble on consent_history`
})

/** The writes that there are, and what the driver's error does to each. */
const writes = {
  POST: () => service.call('POST', root, { key: account.key, body: { site_id: account.siteId } }),
  'POST with a key': () =>
    service.call('POST', root, {
      key: account.key,
      body: { site_id: account.siteId },
      headers: { 'idempotency-key': crypto.randomUUID() },
    }),
  PUT: id => service.call('PUT', `${root}/${id}`, { key: account.key, body: { accepted: true } }),
  DELETE: id => service.call('DELETE', `${root}/${id}`, { key: account.key }),
} satisfies Record<string, (id: string) => Promise<ServiceResponse>>

type Write = keyof typeof writes

const all = Object.keys(writes) as Write[]
/** Writes that may be done twice. */
const repeatable: Write[] = ['POST with a key', 'DELETE']

/** What a Citus coordinator passes on when the connection to a worker ends in the middle of a statement. */
const lostWorker = 'XX000 server closed the connection unexpectedly'

/** An error's code (and message, if that tells), how often it happens, the writes it happens to, and the response after that many attempts; 200 is success. */
const rows: [code: string, times: number, writes: Write[], status: number, tries: number][] = [
  ...['40001', '40P01'].flatMap((code): typeof rows => [
    [code, 1, all, 200, 2],
    [code, 3, all, 200, 4],
    [code, 4, all, 503, 4],
  ]),
  ...['57P01', '57P02', '57P05'].flatMap((code): typeof rows => [
    [code, 1, repeatable, 200, 2],
    [code, 2, repeatable, 503, 2],
    [code, 1, ['POST', 'PUT'], 503, 1],
  ]),
  [lostWorker, 1, repeatable, 200, 2],
  [lostWorker, 2, repeatable, 503, 2],
  [lostWorker, 1, ['POST', 'PUT'], 503, 1],
  ['25006', 1, all, 200, 2],
  ['25006', 2, all, 503, 2],
  ['0A000', 1, all, 200, 2],
  ['26000', 1, all, 200, 2], // the driver tells it for whatever befalls what it has prepared anew
  ['0A000', 2, all, 500, 2],
  ...['57P03', '53300', '08006', '28P01', '3D000', '53100', '58030', '55P03', '57014'].map(
    (code): (typeof rows)[number] => [code, 1, all, 503, 1],
  ),
  // Validation refuses what PostgreSQL cannot store, so that 22 and 54 are errors of a statement or a plan, not of a request.
  ...['22003', '22P02', '22P05', '22021', '54000', '42P01', '42501', 'XX000', 'P0001', '23514'].map(
    (code): (typeof rows)[number] => [code, 1, all, 500, 1],
  ),
  ['23505', 1, ['POST', 'POST with a key'], 409, 1],
  ['23503', 1, all, 404, 1],
]

const cases = rows.flatMap(([code, times, some, status, tries]) =>
  some.map(write => ({ code, times, write, status, tries })),
)

describe.skipIf(hasNoTriggers)('database errors › status', () => {
  let id: string

  beforeEach(async () => {
    await trouble('', 0)
    id = (await writes.POST()).body.id
  })

  it.each(cases)(
    'responds $status after $tries attempts when a $write fails $times times with $code',
    async ({ code, times, write, status, tries }) => {
      await trouble(code, times)
      const answer = await writes[write](id)
      expect(answer.status).toBe(status === 200 && write.startsWith('POST') ? 201 : status)
      expect(await triesMade()).toBe(tries)
      if (status === 503) expect(answer.headers['retry-after']).toBe('1')
      if (status >= 300) expect(answer.text).not.toMatch(/trouble|row/)
    },
  )
})

describe.skipIf(hasNoTriggers)('database errors › retried write', () => {
  it('is stored once', async () => {
    await trouble('40001', 3)
    const { body } = await writes.POST()
    await trouble('40P01', 1)
    await writes.PUT(body.id)
    const { body: history } = await service.call('GET', `${root}/${body.id}/history`, { key: account.key })
    expect(history.data.map(({ action }: { action: string }) => action)).toEqual(['created', 'updated'])
  })
})

describe('database errors › schema change', () => {
  it('does not break prepared statements or change what is stored or returned', async () => {
    await trouble('', 0)
    const body = { site_id: account.siteId, accepted: true, preferences: { analytics: true, level: 3 } }
    const write = async () => {
      const { status, body: made } = await service.call('POST', root, { key: account.key, body })
      const url = `${root}/${made.id}`
      const changed = await service.call('PUT', url, { key: account.key, body: { preferences: { a: [1] } } })
      const read = await service.call('GET', url, { key: account.key })
      expect([status, changed.status, read.status]).toEqual([201, 200, 200])
      expect(made).toMatchObject({ accepted: true, preferences: body.preferences })
      expect(read.body).toEqual(changed.body)
      expect(read.body).toMatchObject({ accepted: true, preferences: { a: [1] } })
    }
    const many = () => Promise.all(Array.from({ length: 30 }, write))
    await many()
    await service.sql`alter table consents alter column user_agent type varchar`
    await many()
    await service.sql`alter table consents alter column user_agent type text`
    await many()
    // What a pooler does between two transactions, and what somebody may do who shares the embedded database.
    await Promise.all(Array.from({ length: 10 }, () => service.sql`deallocate all`))
    await many()
  })
})

async function trouble(text: string, times: number): Promise<void> {
  const [code, message] = [text.slice(0, 5), text.slice(6) || 'trouble']
  await service.sql`update trouble set code = ${code}, times = ${times}, message = ${message}`
  await service.sql`alter sequence trouble_tries restart`
}

async function triesMade(): Promise<number> {
  const [row] = await service.sql`select last_value::int as tries from trouble_tries`
  return row?.['tries']
}
