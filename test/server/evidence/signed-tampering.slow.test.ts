import { randomBytes } from 'node:crypto'
import type { Sql } from 'postgres'
import { beforeAll, expect, it } from 'vitest'
import { coverAll } from '../../../server/evidence/log.ts'
import { openSigner } from '../../../server/evidence/signer.ts'
import { verifyDocument } from '../../../src/evidence/document.ts'
import { readKeySet } from '../../../src/evidence/key-chain.ts'
import { allowNulls, columnsOf, otherValue } from '../../e2e/tampering/columns.ts'
import { type Chance, chanceOf } from '../../e2e/tampering/random.ts'
import { mediaBytes, useService } from '../../support/service.ts'
import { type Importer, newImporter } from '../consents/imports.ts'
import { purgeNow } from '../purge/purge.ts'

const seed = process.env['CONSENTCTL_TEST_SEED'] ?? randomBytes(4).toString('hex')
const edits = Number(process.env['CONSENTCTL_TEST_SIGNED_EDITS'] ?? 30)

const service = useService()
let owner: Importer
let keys: ReturnType<typeof readKeySet>
const live: string[] = []
const deleted: string[] = []
const purged: string[] = []

const tables = [
  ...['consents', 'consents', 'consent_history', 'consent_history', 'consent_history', 'log_entries', 'origins'],
  ...['checkpoints', 'account_entries', 'notices', 'notice_texts', 'key_statements'],
]

beforeAll(async () => {
  process.stderr.write(`CONSENTCTL_TEST_SEED=${seed}\n`)
  owner = await newImporter(service)
  const headers = await service.signIn(owner)
  const path = `/api/v1/sites/${owner.siteId}/notices/2`
  await service.call('PUT', path, { headers, body: { controller: 'Example', purposes: [{ key: 'a', title: 'A' }] } })
  await service.call('PUT', `${path}/texts/de`, { headers, body: mediaBytes('Text', 'text/plain') })
  await service.call('POST', `${path}/publish`, { headers, body: {} })
  const draft = {
    subject_id: 'maria',
    policy_version: 2,
    notice_locale: 'de',
    user_agent: 'Firefox',
    preferences: { a: 1 },
  }
  const change = { given_at: '2022-01-01T00:00:00Z', accepted: false, preferences: {} }
  const make = async () => {
    const { id } = await owner.create(draft)
    await owner.update(id, { accepted: true, preferences: { b: [1.5] } })
    return [id, await owner.importOne({ changes: [change], policy_version: 2 })]
  }
  purged.push(...(await make()))
  for (const id of purged) await owner.remove(id)
  await purgeNow(service.sql)
  await cover()
  live.push(...(await make()))
  deleted.push(...(await make()))
  for (const id of deleted) await owner.remove(id)
  await cover()
  keys = readKeySet((await service.call('GET', '/.well-known/consent-keys.json')).text)
  await allowNulls(service.sql)
})

const cover = async () => coverAll({ sql: service.sql, signer: await openSigner(service.sql, null) })

/** What the service signs of every record, without what differs each time. Null where it refuses. */
async function signed(): Promise<unknown[]> {
  const receipts = []
  for (const id of [...live, ...deleted]) {
    const { status, text } = await owner.receipt(id)
    receipts.push(status === 200 ? await claimsOf(text) : null)
  }
  const { body } = await service.call('POST', '/api/v1/subjects/purged', {
    key: owner.key,
    body: { ids: [...purged, ...deleted, ...live] },
  })
  const { records = [] } = JSON.parse(body.certificate ?? '{}')
  return [
    ...receipts,
    ...[...purged, ...deleted, ...live].map(id => records.find((record: { id: string }) => record.id === id) ?? null),
  ]
}

async function claimsOf(text: string): Promise<unknown> {
  const {
    receipt_id: _,
    issued_at: __,
    inclusion,
    key_id: ___,
    signature: ____,
    '@context': _____,
    ...claims
  } = JSON.parse(text)
  const kept = { byId: keys, sourceOf: () => 'kept', none: '' }
  const { result, detail } = await verifyDocument(Buffer.from(text), { findKeys: async () => kept })
  return { ...claims, isIncluded: inclusion !== null, result, ...(result !== 'valid' && { detail }) }
}

/** Changes any value of any row, exchanges it with that of another row, or removes the row. Returns how to undo it. */
async function edit(sql: Sql, chance: Chance): Promise<{ readonly what: string; undo(): Promise<unknown> } | null> {
  const table = chance.one(tables)
  const rows = await sql<
    { place: string; row: string }[]
  >`select ctid::text as place, to_jsonb(t)::text as row from ${sql(table)} t order by 2`
  if (rows.length === 0) return null
  const [one, other] = [chance.one(rows), chance.one(rows)]
  const column = chance.one(await columnsOf(sql, table))
  const [before, donor] = [JSON.parse(one.row), JSON.parse(other.row)]
  const kind = chance.below(10)
  const value = kind < 3 ? donor[column.name] : otherValue(chance, column, toText(before[column.name]))
  if (column.name === 'leaf_index' && value === null) return null // it is then like an entry that no checkpoint covers yet
  const where = sql`where ctid = ${one.place}::tid`
  const rowsAfter = await asSuperuser(sql, async tx =>
    kind === 9
      ? await tx`delete from ${tx(table)} ${where} returning null as place`
      : await tx`
          update ${tx(table)} set ${tx(column.name)} = (jsonb_populate_record(null::${tx(table)}, ${JSON.stringify({ [column.name]: toJson(column.type, value) })}::text::jsonb)).${tx(column.name)}
          ${where} returning ctid::text as place`,
  ).catch(() => null)
  if (!rowsAfter?.[0]) return null
  const place = rowsAfter[0]['place']
  const undo = () =>
    asSuperuser(sql, async tx => {
      if (place !== null) await tx`delete from ${tx(table)} where ctid = ${place}::tid`
      return await tx`insert into ${tx(table)} select * from jsonb_populate_record(null::${tx(table)}, ${one.row}::text::jsonb)`
    })
  const what =
    kind === 9 ? 'deleted' : `${column.name}: ${JSON.stringify(before[column.name])} became ${JSON.stringify(value)}`
  return { what: `${table} ${one.row.slice(0, 200)}: ${what}`, undo }
}

const toText = (value: unknown) => (value === null ? null : typeof value === 'string' ? value : JSON.stringify(value))
const toJson = (type: string, value: unknown) =>
  type === 'jsonb' && typeof value === 'string' ? JSON.parse(value) : value

function asSuperuser<T>(sql: Sql, work: (tx: Sql) => Promise<T>): Promise<T> {
  return sql.begin(async tx => {
    await tx`set local session_replication_role = replica`
    return await work(tx as unknown as Sql)
  }) as Promise<T>
}

function differences(one: unknown, other: unknown): object {
  const known = new Map(Object.entries(other ?? {}).map(([name, value]) => [name, JSON.stringify(value)]))
  return Object.fromEntries(
    Object.entries(one ?? {}).filter(([name, value]) => JSON.stringify(value) !== known.get(name)),
  )
}

it(`the service signs nothing that an edit of the database made false (${edits} edits)`, {
  timeout: 600_000,
}, async () => {
  const chance = chanceOf(seed)
  const truth = await signed()
  expect(truth.filter(claims => claims === null)).toHaveLength(live.length + 2 * deleted.length)
  expect(JSON.stringify(truth)).not.toContain('not_valid')
  let [done, refused] = [0, 0]
  const wrong: unknown[] = []
  while (done < edits) {
    const made = await edit(service.sql, chance)
    if (!made) continue
    done += 1
    const said = await signed()
    refused += said.filter((claims, index) => claims === null && truth[index] !== null).length
    for (const [index, claims] of said.entries())
      if (claims !== null && JSON.stringify(claims) !== JSON.stringify(truth[index]))
        wrong.push({ what: made.what, said: differences(claims, truth[index]) })
    await made.undo()
  }
  process.stderr.write(`${done} edits, ${refused} documents refused\n`)
  expect(wrong).toEqual([])
  expect(await signed()).toEqual(truth)
})
