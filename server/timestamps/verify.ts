import pMap from 'p-map'
import { OperatorError } from '../../src/contract/index.ts'
import { sha256 } from '../../src/evidence/bytes.ts'
import { isBackdated } from '../../src/evidence/dates.ts'
import { tryReadCheckpoint } from '../evidence/backdating.ts'
import { type Found, pages, reading, type Work } from '../verify/work.ts'
import { TimestampError, verifyTimestamp } from './openssl.ts'
import { listTimestamps, minPosition, type TimestampRow } from './queries.ts'

const rowsPerPage = 100

const processes = 4

/** Also that none is missing between two others. */
export async function* verifyTimestamps(
  { sql, signal, inspected }: Work,
  accountId: string,
  caFile: string,
): AsyncGenerator<readonly Found[]> {
  let before = 0
  const read = (last: TimestampRow | undefined) =>
    reading(() => listTimestamps(sql, accountId, last ? last.position + 1 : minPosition, rowsPerPage))
  for await (const rows of pages(rowsPerPage, read)) {
    signal.throwIfAborted()
    const wrong = await pMap(rows, row => verifyRow(row, { accountId, caFile, signal }), { concurrency: processes })
    yield [...findGaps(before, rows), ...wrong.flat()]
    inspected.timestamps += rows.length
    before = Math.max(before, rows.at(-1)?.position ?? 0)
  }
}

function findGaps(before: number, rows: readonly TimestampRow[]): Found[] {
  const found: Found[] = []
  let last = before
  for (const { position, tree_size } of rows) {
    const missing = position - last - 1
    const lost =
      missing === 1
        ? `timestamp ${last + 1} of the account is`
        : `timestamps ${last + 1} to ${position - 1} of the account are`
    if (position < 1)
      found.push({ problem: 'forged', detail: `the timestamp of the checkpoint of ${tree_size} leaves has no place` })
    if (missing > 0) found.push({ problem: 'lost', detail: `${lost} missing` })
    last = Math.max(last, position)
  }
  return found
}

async function verifyRow(
  { tree_size, token, document }: TimestampRow,
  { accountId, caFile, signal }: { accountId: string; caFile: string; signal: AbortSignal },
): Promise<Found[]> {
  const what = `the timestamp of the checkpoint of ${tree_size} leaves`
  if (document === null) return [{ problem: 'lost', detail: `${what}: there is no such checkpoint` }]
  const subject = { digest: sha256(Buffer.from(document)) }
  const { problem, isForeign, time } = await verifyTimestamp(token, subject, { caFile, valid: 'then', signal }).catch(
    explainOpenssl,
  )
  if (problem !== null) return [{ problem: isForeign ? 'forged' : 'changed', detail: `${what} ${problem}` }]
  const checkpoint = tryReadCheckpoint(document)?.checkpoint
  if (checkpoint?.account_id !== accountId || !time) return [] // verifyLog reports it
  if (!isBackdated(time, new Date(checkpoint.created_at))) return []
  const detail = `${what} is of ${time.toISOString()}, before ${checkpoint.created_at}, when that was made`
  return [{ problem: 'forged', detail }]
}

function explainOpenssl(error: Error): never {
  if (!(error instanceof TimestampError)) throw error
  throw new OperatorError(`a timestamp ${error.message}`, { code: 'unavailable', cause: error })
}
