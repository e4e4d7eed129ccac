import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'
import { isLongRun } from '../../e2e/campaign.ts'
import { findPrograms } from '../../support/postgres.ts'
import { type TestNode, useService } from '../../support/service.ts'
import { type Importer, newImporter } from '../consents/imports.ts'
import { inTurns } from '../consents/records.ts'
import { brokenChains, purgeNow } from './purge.ts'

const service = useService()

const subjects = isLongRun ? 1000 : 100
/** Subjects of which there is an imported record, too. */
const imported = 20

/** Of a subject, each in another place; an address has its own, which survives being truncated. */
interface Canaries {
  readonly subject: string
  /** The last part of the subject, in lower case. */
  readonly near: string
  readonly label: string
  readonly agent: string
  readonly name: string
  readonly value: string
  readonly later: string
  readonly key: string
  readonly network: string
  readonly locale: string
  readonly origin: string
  readonly evidence: string
  readonly told: string
  readonly relation: string
  readonly reference: string
  readonly note: string
}

function newCanaries(): Canaries {
  const canary = () => `canary${randomBytes(9).toString('hex')}`
  const [one, two, three] = [1, 2, 3].map(() => `1${randomBytes(2).toString('hex').slice(1)}`)
  return {
    subject: canary(),
    near: canary(),
    label: canary(),
    agent: canary(),
    name: canary(),
    value: canary(),
    later: canary(),
    key: canary(),
    network: `${one}:${two}:${three}:`,
    locale: `de-${randomBytes(4).toString('hex')}`, // a variant of a language
    origin: canary(),
    evidence: canary(),
    told: canary(),
    relation: canary(),
    reference: canary(),
    note: canary(),
  }
}

/** An identifier whose near form alone has the canary of that. */
const subjectOf = ({ subject, near }: Canaries) => `${subject}${near.toUpperCase()}`

/** A record with every canary that a create has, changed once, and deleted. */
async function eraseOne(node: TestNode, { key, siteId }: Importer, canaries: Canaries): Promise<void> {
  const { label, agent, name, value, later, network, locale } = canaries
  const body = {
    site_id: siteId,
    subject_id: subjectOf(canaries),
    consent_id: label,
    user_agent: agent,
    ip_address: `${network}:1`,
    notice_locale: locale,
    preferences: { [name]: value },
    circumstances: { given_by: 'guardian', relation: canaries.relation, note: canaries.note },
  }
  const headers = { 'idempotency-key': canaries.key }
  const { id } = (await node.call('POST', '/api/v1/consents', { key, body, headers })).body
  const change = { body: { preferences: { [later]: [later] }, circumstances: { reference: canaries.reference } }, key }
  expect((await node.call('PUT', `/api/v1/consents/${id}`, change)).status).toBe(200)
  expect((await node.call('DELETE', `/api/v1/consents/${id}`, { key })).status).toBe(200)
}

/** Imported records of the subjects, deleted. */
async function eraseImported({ row, remove, sendAll }: Importer, all: readonly Canaries[]): Promise<void> {
  const rows = all.map(canaries => {
    const { origin, evidence, told } = canaries
    const fields = { origin: { system: 'elsewhere', id: origin, evidence }, preferences: { [told]: told } }
    return { ...row(origin, fields), subject_id: subjectOf(canaries) }
  })
  for (const { consent } of await sendAll(rows)) expect((await remove(consent.id)).status).toBe(200)
}

/** Every row of every table and of the planner's statistics as text. */
async function everyRow(): Promise<string> {
  const tables = await service.sql<{ schema: string; name: string }[]>`
    select nspname as schema, relname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relkind = 'r' and (nspname = 'public' or relname like 'pg_statistic%')`
  expect(tables.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['consents', 'consent_history', 'pg_statistic']),
  )
  const rows = await Promise.all(
    tables.map(
      ({ schema, name }) => service.sql<{ row: string }[]>`
        select t::text as row from ${service.sql(schema)}.${service.sql(name)} t`,
    ),
  )
  return rows
    .flat()
    .map(({ row }) => row)
    .join('\n')
}

/** Every byte of the database's files, catalogues too, without its write-ahead log, once they are rewritten. */
async function everyFile(): Promise<string> {
  await service.sql`vacuum full`
  await service.sql`checkpoint`
  const [row] = await service.sql`select oid::text from pg_database where datname = current_database()`
  const texts: string[] = []
  for (const folder of [`base/${row?.['oid']}`, 'global', 'pg_stat', 'pg_logical']) {
    const files = await service.sql<{ bytes: Buffer | null }[]>`
      select case when (pg_stat_file(path)).isdir then null else pg_read_binary_file(path) end as bytes
      from (select ${folder} || '/' || name as path from pg_ls_dir(${folder}) as names (name)) as paths`
    texts.push(...files.flatMap(({ bytes }) => (bytes ? [bytes.toString('latin1')] : [])))
  }
  return texts.join('\n')
}

/** The values of canaries in files, which have addresses as bytes. Looked for all at once: there is much to read. */
function leftInFiles(text: string, canaries: readonly Canaries[]): string[] {
  const all = new Set(canaries.flatMap(each => Object.values(each)))
  const found = (text.match(/canary[0-9a-f]{18}/g) ?? []).filter(value => all.has(value))
  const networks = new RegExp(canaries.map(({ network }) => bytePattern(network.replaceAll(':', ''))).join('|'), 'g')
  const locales = new RegExp(canaries.map(({ locale }) => locale).join('|'), 'g')
  return [...found, ...(text.match(networks) ?? []), ...(text.match(locales) ?? [])]
}

/** A pattern for bytes, given in hexadecimal. */
function bytePattern(hex: string): string {
  return hex.replace(/../g, '\\x$&')
}

/** What pg_dump writes of this database; nothing where no pg_dump is beside the server's programs. */
async function dumped(): Promise<string> {
  const programs = process.env['TEST_ENGINE'] === 'postgres' ? findPrograms() : null
  const program = programs && join(dirname(realpathSync(join(programs, 'initdb'))), 'pg_dump')
  if (!program || !existsSync(program)) return ''
  const [row] = await service.sql<{ name: string }[]>`select current_database() as name`
  const url = `${inject('clusterUrl')}/${row?.name}`
  const { stdout } = await promisify(execFile)(program, [url], { maxBuffer: 2 ** 30 })
  expect(stdout).toContain('COPY public.consents ')
  return stdout
}

/** A text as it is, in hexadecimal, and in base64 wherever in its three bytes it begins. */
function formsOf(text: string): string[] {
  const shifted = [0, 1, 2].map(shift => {
    const base64 = Buffer.from('\0'.repeat(shift) + text).toString('base64')
    return base64.slice(shift === 0 ? 0 : 4, -4)
  })
  return [text, Buffer.from(text).toString('hex'), ...shifted]
}

const leftIn = (text: string, canaries: readonly Canaries[]) =>
  canaries.flatMap(each => Object.entries(each).filter(([, value]) => formsOf(value).some(form => text.includes(form))))

it(`a purge leaves no personal data of ${subjects} subjects in any table, catalogue or file, and every chain verifies`, async () => {
  const raw = await service.addNode({ config: { ipStorage: 'raw' } })
  const owner = await newImporter(service)
  const [alive, ...gone] = Array.from({ length: subjects + 1 }, newCanaries)
  await inTurns(gone, 8, canaries => eraseOne(Math.random() < 0.5 ? raw : service, owner, canaries))
  await eraseImported(owner, gone.slice(0, imported))
  await owner.create({ subject_id: alive?.subject })
  const { key: _, ...stored } = newCanaries() // of a key there is never more than a hash
  const places = Object.keys(stored).sort()
  await service.sql`analyze`
  for (const text of [await everyRow(), await dumped()].filter(Boolean))
    expect([...new Set(leftIn(text, gone).map(([place]) => place))].sort()).toEqual(places)

  expect(await purgeNow(service.sql)).toEqual(new Map([[owner.accountId, subjects + imported]]))
  for (const text of [await everyRow(), await dumped()].filter(Boolean)) {
    expect(leftIn(text, gone)).toEqual([])
    expect(text).toContain(alive?.subject)
  }
  const files = await everyFile()
  expect(leftInFiles(files, gone)).toEqual([])
  expect(files).toContain(alive?.subject)
  expect(await brokenChains(service.sql, owner.accountId)).toEqual([])
})
