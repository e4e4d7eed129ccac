import type { Sql } from 'postgres'
import {
  type DatabaseFinding,
  type DatabaseOptions,
  type Inspected,
  type Inspection,
  OperatorError,
  type ServerHost,
  type TakenCheckpoints,
  type Verification,
} from '../../src/contract/index.ts'
import { describeBackdating } from '../../src/evidence/dates.ts'
import { keyIdOf } from '../../src/evidence/keys.ts'
import { readCheckpoint } from '../../src/evidence/signed.ts'
import { openShared, reportProgress } from '../admin.ts'
import { dbErrorCode, dbErrorKind } from '../db/errors.ts'
import { explainLoss, explainLossOf } from '../db/open.ts'
import { coverAccount, type Log } from '../evidence/log.ts'
import { findLastCheckpoint } from '../evidence/queries.ts'
import { openSigner, signingSettings } from '../evidence/signer.ts'
import { checkClock } from '../health/monitor.ts'
import { findCertificateProblem } from '../timestamps/certificates.ts'
import { requireOpenssl } from '../timestamps/openssl.ts'
import { analyzeFilled, recordVerification } from './queries.ts'
import { listAccounts, verifyAll } from './verify.ts'

export function verifyDatabase(
  options: DatabaseOptions,
  { account, kept, tsaCa, signal }: Inspection,
  host: ServerHost,
): Verification {
  const inspected = newCounts()
  async function* findings(): AsyncGenerator<readonly DatabaseFinding[]> {
    if (tsaCa !== undefined) await requireTimestampTools(tsaCa)
    const { sql, config, close } = await openShared(options, host, { mayBeNew: false, isUnlimited: true })
    const stopProgress = startReports(host, inspected)
    try {
      await analyzeFilled(sql)
      const anchor = config.signingKey && keyIdOf(config.signingKey)
      const scope = { account, kept: kept.map(readCheckpoint), records: true, anchor, tsaCa }
      let count = 0
      for await (const found of explainLossOf(config, verifyAll({ sql, signal, inspected }, scope))) {
        host.onWait?.(null)
        count += found.length
        yield found
      }
      if (account === undefined) await explainLoss(config, () => tryToRecord(sql, count))
    } finally {
      stopProgress()
      await close()
    }
  }
  return { findings: findings(), inspected }
}

/** Signs new entries only if the log matches the kept checkpoints, and verifies it again afterwards. */
export async function takeCheckpoints(
  options: DatabaseOptions,
  { account, kept, signal }: Inspection,
  host: ServerHost,
): Promise<TakenCheckpoints> {
  const { sql, config, close } = await openShared(options, host, { mayBeNew: false, isUnlimited: true })
  const inspected = newCounts()
  const stopProgress = startReports(host, inspected)
  try {
    return await explainLoss(config, async () => {
      await checkClock(sql)
      const signer = await openSigner(sql, config.signingKey, signingSettings(config))
      const scope = { account, kept: kept.map(readCheckpoint), records: false, anchor: signer.keyId }
      const before: DatabaseFinding[] = []
      for await (const found of verifyAll({ sql, signal, inspected }, scope)) before.push(...found)
      if (before.length > 0) return { checkpoints: [], findings: before }
      const { checkpoints, findings } = await coverEach({ sql, signer, signal }, account)
      for await (const found of verifyAll({ sql, signal, inspected: newCounts() }, scope)) findings.push(...found)
      return { checkpoints, findings }
    })
  } finally {
    stopProgress()
    await close()
  }
}

async function coverEach(log: Log & { readonly signal: AbortSignal }, only: string | undefined) {
  const { sql, signal } = log
  const findings: DatabaseFinding[] = []
  const checkpoints: string[] = []
  const onBackdated: Log['onBackdated'] = (account_id, entries) => {
    for (const { consent_id, version, ...entry } of entries) {
      const detail = `version ${version} of the record ${consent_id} ${describeBackdating(entry)}`
      findings.push({ account_id, consent_id, version, problem: 'forged', detail })
    }
  }
  for await (const accountId of listAccounts(sql, only)) {
    signal.throwIfAborted()
    try {
      for await (const _ of coverAccount({ ...log, onBackdated }, accountId)) signal.throwIfAborted()
    } catch (error) {
      if (signal.aborted || dbErrorKind(error) !== null) throw error
      const detail = `no checkpoint can be made: ${(error as Error).message}`
      findings.push({ account_id: accountId, consent_id: null, version: null, problem: 'changed', detail })
    }
    const last = await findLastCheckpoint(sql, accountId)
    if (last) checkpoints.push(last.document)
  }
  return { checkpoints, findings }
}

/** A standby, and a role that only reads, can be verified too. */
async function tryToRecord(sql: Sql, findings: number): Promise<void> {
  try {
    await recordVerification(sql, findings)
  } catch (error) {
    if (!/^(25006|42501)$/.test(dbErrorCode(error) ?? '')) throw error
  }
}

async function requireTimestampTools(tsaCa: string): Promise<void> {
  const problem = findCertificateProblem(tsaCa)
  if (problem) throw new OperatorError(problem, { hint: 'give the certificate of the authority or of its root' })
  await requireOpenssl()
}

function newCounts(): Inspected {
  return { accounts: 0, records: 0, entries: 0, administration: 0, checkpoints: 0, timestamps: 0 }
}

function startReports(host: ServerHost, inspected: Inspected): () => void {
  return reportProgress(
    host,
    () => `verifying: ${inspected.records} records and ${inspected.checkpoints} checkpoints so far`,
  )
}
