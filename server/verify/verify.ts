import type { Sql } from 'postgres'
import { type DatabaseFinding, OperatorError } from '../../src/contract/index.ts'
import { idOf } from '../../src/evidence/bytes.ts'
import type { SignedCheckpoint } from '../../src/evidence/signed.ts'
import { dbErrorKind } from '../db/errors.ts'
import { readKeysToVerify } from '../evidence/signer.ts'
import { verifyTimestamps } from '../timestamps/verify.ts'
import { verifyAdministration } from './administration.ts'
import { verifyLog } from './log.ts'
import { findNextAccount } from './queries.ts'
import { reading, verifyRecords, type Work } from './records.ts'

export interface Scope {
  readonly account: string | undefined
  readonly kept: readonly SignedCheckpoint[]
  /** False to verify only the logs. */
  readonly records: boolean
  /** Key to which all must chain; null for the newest kept checkpoint's, else the database's. */
  readonly anchor?: string | null
  /** PEM file. Default: timestamps are not verified. */
  readonly tsaCa?: string | undefined
}

export async function* verifyAll(
  work: Work,
  { account, kept, records, anchor = null, tsaCa }: Scope,
): AsyncGenerator<readonly DatabaseFinding[]> {
  const trusted = anchor ?? findNewest(kept)?.checkpoint.key_id ?? null
  const keys = await reading(() => readKeysToVerify(work.sql, trusted))
  const wrong = findWrongKeys(keys)
  if (records && account === undefined && wrong.length > 0) yield wrong
  const remaining = keptByAccount(kept, account)
  for await (const accountId of listAccounts(work.sql, account)) {
    work.inspected.accounts += 1
    const log = { accountId, keys, kept: remaining.get(accountId) ?? [], withTimes: records }
    if (records) yield* reportErrors(work, accountId, 'records', verifyRecords(work, accountId))
    if (records) yield* reportErrors(work, accountId, 'settings', verifyAdministration(work, accountId))
    if (tsaCa !== undefined)
      yield* reportErrors(work, accountId, 'timestamps', verifyTimestamps(work, accountId, tsaCa))
    yield* reportErrors(work, accountId, 'log', verifyLog(work, log))
    remaining.delete(accountId)
  }
  for (const [accountId, [first]] of remaining) {
    const size = first?.checkpoint.tree_size
    const detail = `the account of the kept checkpoint of ${size} leaves is missing`
    yield [{ account_id: accountId, consent_id: null, version: null, problem: 'lost', detail }]
  }
  if (account !== undefined && work.inspected.accounts === 0 && remaining.size === 0) {
    throw new OperatorError(`there is no account ${account}`, { code: 'not_found' })
  }
}

/** An error caused by stored values becomes a finding, so that the rest is verified too. */
async function* reportErrors(
  { signal }: Work,
  account_id: string,
  what: string,
  verification: AsyncGenerator<readonly DatabaseFinding[]>,
): AsyncGenerator<readonly DatabaseFinding[]> {
  try {
    yield* verification
  } catch (error) {
    if (signal.aborted || error instanceof OperatorError || dbErrorKind(error) !== null) throw error
    const detail = `the ${what} cannot be read to the end: ${(error as Error).message}`
    yield [{ account_id, consent_id: null, version: null, problem: 'changed', detail }]
  }
}

function findWrongKeys({ foreign }: Awaited<ReturnType<typeof readKeysToVerify>>): DatabaseFinding[] {
  return foreign.map(position => ({
    ...{ account_id: null, consent_id: null, version: null, problem: 'forged' },
    detail: `document ${position} of the log of keys has no valid signature`,
  }))
}

function findNewest(kept: readonly SignedCheckpoint[]): SignedCheckpoint | undefined {
  return kept.toSorted((one, other) => (one.checkpoint.created_at < other.checkpoint.created_at ? 1 : -1))[0]
}

export async function* listAccounts(sql: Sql, only: string | undefined): AsyncGenerator<string> {
  let after: string | null = only === undefined ? null : idBefore(only)
  for (;;) {
    const account: string | undefined = await reading(() => findNextAccount(sql, after))
    if (account === undefined || (only !== undefined && account !== only)) return
    yield account
    after = account
  }
}

function idBefore(id: string): string | null {
  const number = BigInt(`0x${id.replaceAll('-', '')}`)
  if (number === 0n) return null
  return idOf((number - 1n).toString(16).padStart(32, '0'))
}

function keptByAccount(kept: readonly SignedCheckpoint[], only: string | undefined): Map<string, SignedCheckpoint[]> {
  const accounts = new Map<string, SignedCheckpoint[]>()
  for (const signed of kept) {
    const { account_id } = signed.checkpoint
    if (only !== undefined && account_id !== only) continue
    const list = accounts.get(account_id)
    if (list) list.push(signed)
    else accounts.set(account_id, [signed])
  }
  return accounts
}
