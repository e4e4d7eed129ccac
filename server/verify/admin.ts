import type {
  DatabaseFinding,
  DatabaseOptions,
  Inspected,
  Inspection,
  ServerHost,
  TakenCheckpoints,
  Verification,
} from '../../src/contract/index.ts'
import { readCheckpoint } from '../../src/evidence/signed.ts'
import { openShared, tellProgress } from '../admin.ts'
import { dbErrorKind } from '../db/errors.ts'
import { coverAccount, type Log } from '../evidence/log.ts'
import { findLastCheckpoint } from '../evidence/queries.ts'
import { openSigner } from '../evidence/signer.ts'
import { accountsOf, verifyAll } from './verify.ts'

/** Verifies a database while its findings are read. */
export function verifyDatabase(
  options: DatabaseOptions,
  { account, kept, signal }: Inspection,
  host: ServerHost,
): Verification {
  const inspected = nothing()
  async function* findings(): AsyncGenerator<readonly DatabaseFinding[]> {
    const { sql, close } = await openShared(options, host, { mayBeNew: false })
    const quiet = tellVerified(host, inspected)
    try {
      const scope = { account, kept: kept.map(readCheckpoint), records: true }
      for await (const found of verifyAll({ sql, signal, inspected }, scope)) {
        host.onWait?.(null) // the spinner must not stand in what is printed
        yield found
      }
    } finally {
      quiet()
      await close()
    }
  }
  return { findings: findings(), inspected }
}

/**
 * Makes checkpoints of what is new, where the log agrees with those that were kept: what does not is not signed. Then all of
 * it must agree with the new ones too.
 */
export async function takeCheckpoints(
  options: DatabaseOptions,
  { account, kept, signal }: Inspection,
  host: ServerHost,
): Promise<TakenCheckpoints> {
  const { sql, config, close } = await openShared(options, host, { mayBeNew: false })
  const inspected = nothing()
  const quiet = tellVerified(host, inspected)
  try {
    const signer = await openSigner(sql, config.signingKey)
    const scope = { account, kept: kept.map(readCheckpoint), records: false }
    const before: DatabaseFinding[] = []
    for await (const found of verifyAll({ sql, signal, inspected }, scope)) before.push(...found)
    if (before.length > 0) return { checkpoints: [], findings: before }
    const { checkpoints, findings } = await coverEach({ sql, signer, signal }, account)
    for await (const found of verifyAll({ sql, signal, inspected: nothing() }, scope)) findings.push(...found)
    return { checkpoints, findings }
  } finally {
    quiet()
    await close()
  }
}

/** Takes what is new into the log of each account; the last checkpoints, and the accounts whose logs cannot go on. */
async function coverEach(log: Log & { readonly signal: AbortSignal }, only: string | undefined) {
  const { sql, signal } = log
  const findings: DatabaseFinding[] = []
  const checkpoints: string[] = []
  for await (const accountId of accountsOf(sql, only)) {
    signal.throwIfAborted()
    try {
      for await (const _ of coverAccount(log, accountId)) signal.throwIfAborted()
    } catch (error) {
      if (signal.aborted || dbErrorKind(error) !== null) throw error
      findings.push(stopped(accountId, error as Error))
    }
    const last = await findLastCheckpoint(sql, accountId)
    if (last) checkpoints.push(last.document)
  }
  return { checkpoints, findings }
}

/** An account whose log cannot go on. */
function stopped(accountId: string, { message }: Error): DatabaseFinding {
  const detail = `no checkpoint can be made: ${message}`
  return { account_id: accountId, consent_id: null, version: null, problem: 'changed', detail }
}

function nothing(): Inspected {
  return { accounts: 0, records: 0, entries: 0, checkpoints: 0 }
}

function tellVerified(host: ServerHost, inspected: Inspected): () => void {
  return tellProgress(
    host,
    () => `verifying: ${inspected.records} records and ${inspected.checkpoints} checkpoints so far`,
  )
}
