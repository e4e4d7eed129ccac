// In place of the server's modules of queries: each sends the name of a statement and its arguments to the simulated database,
// through the same pool and driver.
import type { Sql } from 'postgres'
import type { ListFilters } from '../../../server/consents/rows.ts'
import type { Reach } from '../../../server/db/reach.ts'
import { current } from '../scheduler.ts'
import { decode, encode } from '../values.ts'

type Rows = Record<string, unknown>[]

/** Checks that the rows are those of this statement: its number is sent back with each. */
async function execute(sql: Sql, name: string, args: unknown[]): Promise<Rows> {
  const number = current().nextNumber()
  const rows = await sql<{ number: string; value: string }[]>`
    select number, value from ${sql.unsafe(name)}(${number}, ${encode(args)})`
  const values = rows.map(row => {
    if (row?.number !== number) current().fail(`${name} got the rows of another statement`)
    return row ? (decode(row.value) as Record<string, unknown>) : undefined
  })
  const [end] = values.splice(-1)
  if (end?.['rows'] !== values.length) current().fail(`${name} got ${values.length} rows of ${end?.['rows']}`)
  return values as Rows
}

const all =
  (name: string) =>
  (sql: Sql, ...args: unknown[]) =>
    execute(sql, name, args)
const first =
  (name: string) =>
  async (sql: Sql, ...args: unknown[]) =>
    (await execute(sql, name, args))[0]

export const findKey = first('findKey')
export const recordKeyUse = first('recordKeyUse')
export const findSessionUser = async () => undefined

export const takeLease = first('takeLease')
export const settleLease = first('settleLease')
export const findUsage = first('findUsage')
export async function findLimit(sql: Sql, ...args: unknown[]) {
  return (await execute(sql, 'findLimit', args))[0]?.['monthly_quota']
}

export const findHeld = all('findHeld')
export const insertConsents = all('insertConsents')
export const findFirstAnswers = all('findFirstAnswers')
export const findConsentsJson = all('findConsentsJson')
export const findConsent = first('findConsent')
export const updateConsent = first('updateConsent')
export const placeLeaves = first('placeLeaves')
export const listEventRows = all('listEventRows')
export async function findNewestPosition(sql: Sql, ...args: unknown[]) {
  return (await execute(sql, 'findNewestPosition', args))[0]?.['position'] ?? null
}
export const findPage = (sql: Sql, reach: Reach, filters: ListFilters, limit: number) =>
  execute(sql, 'findPage', [reach, filters, limit])

export async function findPolicyVersions(sql: Sql, accountId: string, siteIds: readonly string[]) {
  const rows = await execute(sql, 'findPolicyVersions', [accountId, siteIds])
  return new Map(rows.map(({ id, policy_version }) => [id, policy_version]))
}

function unused(): never {
  throw new Error('no schedule uses this statement')
}

export const insertReads = async () => {}
export const countConsents = unused
export const countExpiring = unused
export const findCircumstances = unused
export const findEvents = unused
export const findNewestAnswers = unused
export const findExpiring = unused
export const findFirstLeaf = unused
export const findPublications = unused
export const findUnshown = unused
export const findActorNames = unused
export const findAddress = unused
export const findDeletedState = unused
export const findHistory = unused
export const findOldestKey = unused
export const findImports = unused
export const insertImports = unused
export const findPositionBefore = unused
export const findLastCheckpoint = unused
export const findRoot = unused
export const listUncoveredAccounts = unused
export const insertCheckpoint = unused
export const listLeaves = unused
export const readLastCheckpoint = unused
export const deleteKeys = unused
export const deleteRecords = unused
