import pMap from 'p-map'
import { type DatabaseFinding, OperatorError, type Problem } from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { isBackdated } from '../../src/evidence/dates.ts'
import { tryReadCheckpoint } from '../evidence/backdating.ts'
import { reading, type Work } from '../verify/records.ts'
import { TimestampError, verifyTimestamp } from './openssl.ts'
import { listTimestamps, minPosition, type TimestampRow } from './queries.ts'

const rowsPerPage = 100

const processes = 4

/**
 * Verifies that each timestamp is of its checkpoint and by a trusted authority, and that none is missing between two
 * others.
 */
export async function* verifyTimestamps(
  { sql, signal, inspected }: Work,
  accountId: string,
  caFile: string,
): AsyncGenerator<DatabaseFinding[]> {
  let before = 0
  for (let from = minPosition; ; ) {
    signal.throwIfAborted()
    const rows = await reading(() => listTimestamps(sql, accountId, from, rowsPerPage))
    const wrong = await pMap(rows, row => findProblem(row, { accountId, caFile, signal }), { concurrency: processes })
    const problems = [...findGaps(before, rows), ...wrong.filter(each => each !== null)]
    if (problems.length > 0)
      yield problems.map(([problem, detail]) => ({
        ...{ account_id: accountId, consent_id: null, version: null },
        ...{ problem, detail },
      }))
    inspected.timestamps += rows.length
    const last = rows.at(-1)
    if (!last || rows.length < rowsPerPage) return
    from = last.position + 1
    before = Math.max(before, last.position)
  }
}

type Found = [problem: Problem, detail: string]

function findGaps(before: number, rows: readonly TimestampRow[]): Found[] {
  const found: Found[] = []
  let last = before
  for (const { position, tree_size } of rows) {
    const missing = position - last - 1
    if (position < 1) found.push(['forged', `the timestamp of the checkpoint of ${tree_size} leaves has no place`])
    if (missing === 1) found.push(['lost', `timestamp ${position - 1} of the account is missing`])
    if (missing > 1) found.push(['lost', `timestamps ${last + 1} to ${position - 1} of the account are missing`])
    last = Math.max(last, position)
  }
  return found
}

async function findProblem(
  { tree_size, token, document }: TimestampRow,
  { accountId, caFile, signal }: { accountId: string; caFile: string; signal: AbortSignal },
): Promise<Found | null> {
  const what = `the timestamp of the checkpoint of ${tree_size} leaves`
  if (document === null) return ['lost', `${what}: there is no such checkpoint`]
  const subject = { digest: sha256(Buffer.from(document)) }
  const { problem, isForeign, time } = await verifyTimestamp(token, subject, { caFile, valid: 'then', signal }).catch(
    explainOpenssl,
  )
  if (problem !== null) return [isForeign ? 'forged' : 'changed', `${what} ${problem}`]
  const checkpoint = tryReadCheckpoint(document)?.checkpoint
  if (checkpoint?.account_id !== accountId || !time) return null // verifyLog reports it
  if (!isBackdated(time, new Date(checkpoint.created_at))) return null
  return ['forged', `${what} is of ${time.toISOString()}, before ${checkpoint.created_at}, when that was made`]
}

function explainOpenssl(error: Error): never {
  if (!(error instanceof TimestampError)) throw error
  throw new OperatorError(`a timestamp ${error.message}`, { code: 'unavailable', cause: error })
}
