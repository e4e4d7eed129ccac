import { createHash } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { schemaVersion } from '../../../server/db/migrate.ts'
import { signerOf } from '../../../server/evidence/signer.ts'
import { tableNames, tables } from '../../../server/transfer/format.ts'
import { newSigningKey } from '../../../src/evidence/keys.ts'
import { onCitus, skippedOnCitus, useDatabase } from '../../support/database.ts'
import { someByteChanges } from '../../support/documented-commands.ts'
import { startNode, type TestAccount, useService } from '../../support/service.ts'
import { newImporter } from '../consents/imports.ts'
import { purgeVerified } from '../purge/purge.ts'
import { contentOf, countAll, emptyAll, exportText, importBytes, removeImport } from './moved.ts'

const severalMoments = skippedOnCitus('that an export is of one moment, which its shards have not in common')
const service = useService()
const target = useDatabase()
let account: TestAccount
let text: string
beforeAll(async () => {
  account = await service.newAccount({ password: 'a password', monthlyQuota: 9_007_199_254_740_991 })
  await fill()
  text = await exportText(service.sql)
})
beforeEach(() => emptyAll(target.sql))

const nasty = 'a\u2028b\u0001\\"\t\r\n{"end":1}\uFEFF\u{10FFFF}e\u0301 \uFDFA'

async function fill() {
  const { sql } = service
  const { key, siteId, accountId } = account
  const create = (fields: object, headers = {}) =>
    service.call('POST', '/api/v1/consents', { key, headers, body: { site_id: siteId, ...fields } })
  const bodies = [
    {
      subject_id: nasty,
      consent_id: `${nasty}2`,
      preferences: { [nasty]: [nasty, null, 0.1, {}] },
    },
    { subject_id: ' ', user_agent: nasty, ip_address: '2001:db8::1', accepted: true },
    { preferences: { number: 9_007_199_254_740_991, text: '\\x00', nothing: null } },
  ]
  for (const [index, body] of bodies.entries())
    expect(await create(body, { 'idempotency-key': `k${index}` }).then(({ text, status }) => [status, text])).toEqual([
      201,
      expect.anything(),
    ])
  const { body } = await create({ subject_id: 'gone' })
  await service.call('DELETE', `/api/v1/consents/${body.id}`, { key })
  await sql`
    update consents set preferences = '{"a": 1.10, "b": 12345678901234567890.000000001, "c": 1e-40, "d": 1e400}'
    where account_id = ${accountId} and id = ${body.id}`
  const request = { ticket: nasty, kind: 'erasure', subject_ids: [nasty], received_on: '2026-01-31' }
  const entered = await service.call('POST', '/api/v1/requests', { key, body: request })
  await service.call('PATCH', `/api/v1/requests/${entered.body.id}`, { key, body: { outcome: 'done' } })
  await sql`
    insert into usage (account_id, month, used, held_until)
    values (${accountId}, '1999-12-01', 9223372036854775807, '2026-05-01T00:00:00.001+14:00')`
  for (let count = 0; count < 1200; count += 1)
    await sql`insert into secrets (name, value) values (${`s${count}`}, ${Buffer.of(count & 255, 0, 255)})`
}

describe('an export', () => {
  it('contains every table of the schema, ordered by primary key and after the tables that it references', async () => {
    const { sql } = service
    const keys = await sql<{ name: string; key: string }[]>`
      select c.relname as name,
        (select string_agg(attname, ', ' order by place) from pg_index i, unnest(i.indkey) with ordinality k (num, place)
          join pg_attribute a on a.attnum = k.num
          where i.indrelid = c.oid and i.indisprimary and a.attrelid = c.oid) as key
      from pg_class c where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations'`
    expect([...tableNames].sort()).toEqual(keys.map(({ name }) => name).sort())
    const orders = Object.fromEntries(keys.map(({ name, key }) => [name, key]))
    for (const name of tableNames) {
      const { strings } = tables[name](sql) as unknown as { strings: string[] }
      expect(`${name}: ${strings.join('').replaceAll(' collate "C"', '')}`).toBe(`${name}: ${orders[name]}`)
    }
    const references = await sql<{ table: string; of: string }[]>`
      select confrelid::regclass::text as of, conrelid::regclass::text as table from pg_constraint
      where contype = 'f' and connamespace = 'public'::regnamespace`
    expect(references.length).toBeGreaterThan(0)
    const place = (name: string) => (tableNames as string[]).indexOf(name)
    expect(references.filter(({ of, table }) => place(of) >= place(table))).toEqual([])
  })

  it('has one line of JSON per row, then the counts and the SHA-256 of everything before', () => {
    const lines = text.split('\n')
    expect(lines.pop()).toBe('')
    const { end } = JSON.parse(lines.pop() ?? '')
    const before = text.slice(0, text.lastIndexOf('{"end":{'))
    expect(end.sha256).toBe(createHash('sha256').update(before).digest('hex'))
    for (const name of tableNames) {
      const rows = lines.filter(line => Object.keys(JSON.parse(line))[0] === name)
      expect(`${name} ${rows.length}`).toBe(`${name} ${end.rows[name]}`)
    }
    expect(end.rows).toMatchObject({ consents: 4, consent_history: 5, secrets: expect.any(Number) })
  })

  it.skipIf(process.env['TEST_ENGINE'] !== 'postgres' || severalMoments)(
    'has the state of the moment at which it starts, despite concurrent writes',
    async () => {
      const body = { site_id: account.siteId }
      await service.quota.settle()
      const before = await exportText(service.sql)
      let made = 0
      const during = await exportText(service.sql, async () => {
        made += 1
        expect((await service.call('POST', '/api/v1/consents', { key: account.key, body })).status).toBe(201)
        await service.sql`insert into secrets (name, value) values (${`zz${made}`}, '')`
      })
      expect(made).toBeGreaterThan(10)
      expect(contentOf(during)).toBe(contentOf(before))
      expect(await exportText(service.sql)).toContain(`"zz${made}"`)
    },
  )

  it('without secrets, has nothing that signs in or signs, and its import says so', async () => {
    const { sql } = service
    const [whole, reduced] = [await exportText(sql), await exportText(sql, undefined, true)]
    const found = await sql<{ secret: string }[]>`
      select password_hash as secret from users union all select encode(key_hash, 'hex') from api_keys
      union all select encode(token_hash, 'hex') from site_tokens
      union all select encode(value, 'hex') from secrets where length(value) = 32`
    expect(found.length).toBeGreaterThan(4)
    // The administrators' log keeps digests of keys and tokens, which are leaves of the account's log.
    const others = reduced.split('\n').filter(line => !line.startsWith('{"account_entries"'))
    for (const { secret } of found) {
      expect(whole).toContain(secret)
      expect(others.filter(line => line.includes(secret))).toEqual([])
    }
    const done = await importBytes(target.sql, Buffer.from(reduced))
    expect(done).toMatchObject({ withoutSecrets: true })
    const rowsOf = (from: string, table: string) => from.split('\n').filter(line => line.startsWith(`{"${table}"`))
    await removeImport(target.sql)
    const again = await exportText(target.sql)
    for (const table of ['consents', 'consent_history', 'log_entries', 'account_entries', 'subject_requests', 'logins'])
      expect(rowsOf(again, table), table).toEqual(rowsOf(whole, table))
    const names = (rows: readonly string[]) => rows.map(row => JSON.parse(row).api_keys.name)
    expect(names(rowsOf(again, 'api_keys'))).toEqual(names(rowsOf(whole, 'api_keys')))
    const node = await startNode(target.sql, { signer: signerOf(newSigningKey()) })
    try {
      expect((await node.call('GET', '/api/v1/consents', { key: account.key })).status).toBe(401)
    } finally {
      await node.app.close()
    }
  })

  it('is identical byte for byte after an import, with any values', async () => {
    const done = await importBytes(target.sql, Buffer.from(text))
    expect(done).toMatchObject({ records: 4, rows: text.split('\n').length - 3 })
    await removeImport(target.sql)
    const again = await exportText(target.sql)
    expect(contentOf(again)).toBe(contentOf(text))
    expect(again).toContain('1.10, "b": 12345678901234567890.000000001')
    expect(again).toContain('"used":9223372036854775807')
    expect(again).toContain('2026-04-30T10:00:00.001+00:00')
  })
})

describe('an import', () => {
  const refusedWith = async (bytes: Uint8Array) => {
    const answer = await importBytes(target.sql, bytes)
    expect(answer).toMatchObject({ name: 'OperatorError', code: 'invalid' })
    expect(await countAll(target.sql)).toBe(0)
    return (answer as Error).message
  }

  it('reads chunks of any length', async () => {
    const small = await exportText(target.sql)
    for (const piece of [1, 2, 7, 1_000_000]) {
      expect(await importBytes(target.sql, Buffer.from(small), piece)).toEqual({ rows: 0, records: 0 })
    }
    expect(await importBytes(target.sql, Buffer.from(text), 3)).toMatchObject({ records: 4 })
  })

  it('rejects a file that is truncated anywhere', async () => {
    const bytes = Buffer.from(text)
    const lines = [...bytes.keys()].filter(at => bytes[at] === 10).map(at => at + 1)
    const edges = [lines[0], lines[1], lines[700], lines.at(-3), lines.at(-2)].map(Number)
    for (const at of [1, ...edges, ...edges.map(edge => edge + 5), bytes.length - 1])
      expect(await refusedWith(bytes.subarray(0, at))).toContain('is cut off')
    expect(await refusedWith(Buffer.alloc(0))).toContain('is empty')
  })

  it('rejects a file with one changed byte, and quotes nothing from it', async () => {
    const lines = text.split('\n').filter(line => !/^\{"secrets":\{"name":"s\d/.test(line))
    const bytes = Buffer.from(await resealed(`${lines.slice(0, -2).join('\n')}\n`))
    expect(await importBytes(target.sql, bytes)).toMatchObject({ records: 4 })
    await emptyAll(target.sql)
    const step = onCitus() ? 120 : 12 // there an import takes ten times as long, and the file is read alike
    const changes = someByteChanges(bytes).filter((_, index) => index % step === 0)
    for (const { at, byte } of changes) {
      const changed = Buffer.from(bytes)
      changed[at] = byte
      expect(await refusedWith(changed)).not.toMatch(/example\.com|scrypt/)
    }
  })

  it('rejects two concatenated files, another format, schema or columns, and anything else', async () => {
    const header = text.slice(0, text.indexOf('\n'))
    const rest = text.slice(header.length)
    const refused = (other: string) => refusedWith(Buffer.from(other))
    expect(await refused(text + text)).toContain('continues after its end')
    expect(await refused(header.replace('"consentctl_export":1', '"consentctl_export":2') + rest)).toContain('format 2')
    expect(await refused(header.replace(schemaVersion, '9000_next') + rest)).toContain('schema is 9000_next')
    expect(await refused(header.replace('"session_version"', '"another"') + rest)).toContain('table users')
    expect(await refused(header.replace('"usage":', '"other":') + rest)).toContain('table other')
    expect(await refused('{"id":"1"}\n')).toContain('not an export')
    expect(await refused(`${'x'.repeat(17_000_000)}`)).toContain('longer than any row')
  })

  it('rejects rows with missing references, and duplicate rows', async () => {
    const lines = text.split('\n').slice(0, -2)
    const without = lines.filter(line => !line.startsWith('{"sites":'))
    expect(await refusedWith(Buffer.from(await resealed(`${without.join('\n')}\n`)))).toMatch(/SQLSTATE (23503|XX000)/)
    const row = lines.findIndex(line => line.startsWith('{"users":'))
    const twice = lines.toSpliced(row, 0, lines[row] ?? '')
    expect(await refusedWith(Buffer.from(await resealed(`${twice.join('\n')}\n`)))).toMatch(/SQLSTATE (23505|XX000)/)
  })

  it('keeps the origins of records, including erased ones, and importing them again creates no record', async () => {
    const importer = await newImporter(service)
    const rows = [importer.row('stays'), importer.row('gone')]
    const [, gone] = await importer.sendAll(rows)
    await importer.remove(gone?.consent.id ?? '')
    await purgeVerified(service.sql, 0) // which names a record of `fill`
    expect(await importBytes(target.sql, Buffer.from(await exportText(service.sql)))).not.toBeInstanceOf(Error)
    const moved = await startNode(target.sql)
    const again = await importer.sendAll(rows, moved)
    await moved.app.close()
    expect(again.map(({ status, replayed }) => [status, replayed])).toEqual([
      [201, true],
      [409, undefined],
    ])
  })

  it('rejects a database that is not empty, without changing it', async () => {
    for (const fill of [
      target.sql`insert into secrets (name, value) values ('cursors', '\\x00')`,
      target.sql`insert into accounts (account_id, plan, created_at) values (${account.accountId}, 'free', now())`,
    ]) {
      await fill
      expect(await importBytes(target.sql, Buffer.from(text))).toMatchObject({ code: 'conflict' })
      expect(await countAll(target.sql)).toBe(1)
      await emptyAll(target.sql)
    }
  })
})

/** An export of these lines with an end that fits them, whatever they are. */
async function resealed(before: string): Promise<string> {
  const rows = Object.fromEntries(
    tableNames.map(name => [name, before.split('\n').filter(line => line.startsWith(`{"${name}":`)).length]),
  )
  const sha256 = createHash('sha256').update(before).digest('hex')
  return `${before}${JSON.stringify({ end: { rows, sha256 } })}\n`
}
