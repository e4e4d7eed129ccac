import type { Sql } from 'postgres'
import { type DatabaseFinding, OperatorError } from '../../src/contract/index.ts'
import type { SignedCheckpoint } from '../../src/evidence/signed.ts'
import { dbErrorKind } from '../db/errors.ts'
import { readKeysToVerify } from '../evidence/signer.ts'
import { verifyTimestamps } from '../timestamps/verify.ts'
import { verifyAdministration } from './administration.ts'
import { verifyLog } from './log.ts'
import { findNextAccount } from './queries.ts'
import { verifyRecords } from './records.ts'
import { type Found, reading, type Work } from './work.ts'

export interface Scope {
  readonly account: string | undefined
  readonly kept: readonly SignedCheckpoint[]
  /** False to verify only the logs. */
  readonly records: boolean
  /** Key to which all keys must chain; null for that of the newest kept checkpoint, else the database's. */
  readonly anchor?: string | null
  /** PEM file. Default: timestamps are not verified. */
  readonly tsaCa?: string | undefined
}

export async function* verifyAll(
  work: Work,
  { account, kept, records, anchor = null, tsaCa }: Scope,
): AsyncGenerator<readonly DatabaseFinding[]> {
  const newest = kept.toSorted((one, other) => (one.checkpoint.created_at < other.checkpoint.created_at ? 1 : -1))[0]
  const keys = await reading(() => readKeysToVerify(work.sql, anchor ?? newest?.checkpoint.key_id ?? null))
  if (records && account === undefined && keys.foreign.length > 0)
    yield keys.foreign.map(position => toFinding(null, forgedKey(position)))
  const remaining = keptByAccount(kept, account)
  for await (const accountId of listAccounts(work.sql, account)) {
    work.inspected.accounts += 1
    const log = { accountId, keys, kept: remaining.get(accountId) ?? [], withTimes: records }
    remaining.delete(accountId)
    if (records) yield* findIn(work, accountId, 'records', verifyRecords(work, accountId))
    if (records) yield* findIn(work, accountId, 'settings', verifyAdministration(work, accountId))
    if (tsaCa !== undefined) yield* findIn(work, accountId, 'timestamps', verifyTimestamps(work, accountId, tsaCa))
    yield* findIn(work, accountId, 'log', verifyLog(work, log))
  }
  for (const [accountId, [first]] of remaining) {
    const detail = `the account of the kept checkpoint of ${first?.checkpoint.tree_size} leaves is missing`
    yield [toFinding(accountId, { problem: 'lost', detail })]
  }
  if (account !== undefined && work.inspected.accounts === 0 && remaining.size === 0) {
    throw new OperatorError(`there is no account ${account}`, { code: 'not_found' })
  }
}

/** An error caused by stored values becomes a finding, so that the rest is verified too. */
async function* findIn(
  { signal }: Work,
  accountId: string,
  what: string,
  check: AsyncGenerator<readonly Found[]>,
): AsyncGenerator<readonly DatabaseFinding[]> {
  try {
    for await (const found of check) if (found.length > 0) yield found.map(one => toFinding(accountId, one))
  } catch (error) {
    if (signal.aborted || error instanceof OperatorError || dbErrorKind(error) !== null) throw error
    const detail = `the ${what} cannot be read to the end: ${(error as Error).message}`
    yield [toFinding(accountId, { problem: 'changed', detail })]
  }
}

function keptByAccount(kept: readonly SignedCheckpoint[], only: string | undefined): Map<string, SignedCheckpoint[]> {
  const accounts = new Map<string, SignedCheckpoint[]>()
  for (const signed of kept) {
    const { account_id } = signed.checkpoint
    if (only !== undefined && account_id !== only) continue
    accounts.set(account_id, accounts.get(account_id) ?? [])
    accounts.get(account_id)?.push(signed)
  }
  return accounts
}

function toFinding(account_id: string | null, found: Found): DatabaseFinding {
  return { account_id, consent_id: null, version: null, ...found }
}

function forgedKey(position: number): Found {
  return { problem: 'forged', detail: `document ${position} of the log of keys has no valid signature` }
}

export async function* listAccounts(sql: Sql, only: string | undefined): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const account: string | undefined = await reading(() => findNextAccount(sql, after, only))
    if (account === undefined) return
    yield account
    if (only !== undefined) return
    after = account
  }
}
