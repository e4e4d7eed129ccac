import type { Sql } from 'postgres'
import { type DatabaseFinding, OperatorError } from '../../src/contract/index.ts'
import { idOf } from '../../src/evidence/bytes.ts'
import type { SignedCheckpoint } from '../../src/evidence/signed.ts'
import { readKeys } from '../evidence/signer.ts'
import { verifyLog } from './log.ts'
import { findNextAccount } from './queries.ts'
import { reading, verifyRecords, type Work } from './records.ts'

export interface Scope {
  readonly account: string | undefined
  /** Checkpoints of any account that were kept elsewhere. */
  readonly kept: readonly SignedCheckpoint[]
  /** False to verify the logs alone. */
  readonly records: boolean
}

/** Verifies account by account, in constant memory. Yields the findings. */
export async function* verifyAll(
  work: Work,
  { account, kept, records }: Scope,
): AsyncGenerator<readonly DatabaseFinding[]> {
  const { keys, unreadable } = await reading(() => readKeys(work.sql))
  if (records && account === undefined && unreadable.length > 0) yield unreadable.map(keyFinding)
  const remaining = keptByAccount(kept, account)
  for await (const accountId of listAccounts(work.sql, account)) {
    work.inspected.accounts += 1
    if (records) yield* verifyRecords(work, accountId)
    yield* verifyLog(work, { accountId, keys, kept: remaining.get(accountId) ?? [] })
    remaining.delete(accountId)
  }
  for (const [accountId, [first]] of remaining) {
    const size = first?.checkpoint.tree_size
    const detail = `the checkpoint of ${size} leaves that was kept is of an account that is not there`
    yield [{ account_id: accountId, consent_id: null, version: null, problem: 'lost', detail }]
  }
  if (account !== undefined && work.inspected.accounts === 0 && remaining.size === 0) {
    throw new OperatorError(`there is no account ${account}`, { code: 'not_found' })
  }
}

function keyFinding(keyId: string): DatabaseFinding {
  const detail = `the published key ${keyId} is not the key of that name`
  return { account_id: null, consent_id: null, version: null, problem: 'changed', detail }
}

/** Yields the accounts in any table, or `only` that one if it exists. */
export async function* listAccounts(sql: Sql, only: string | undefined): AsyncGenerator<string> {
  let after: string | null = only === undefined ? null : idBefore(only)
  for (;;) {
    const account: string | undefined = await reading(() => findNextAccount(sql, after))
    if (account === undefined || (only !== undefined && account !== only)) return
    yield account
    after = account
  }
}

/** Returns the id just below; null below the first. */
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
