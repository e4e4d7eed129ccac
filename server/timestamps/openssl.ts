// Timestamps (RFC 3161) with `openssl ts` in separate processes.

import { type ExecFileException, execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OperatorError } from '../../src/contract/index.ts'

const timeoutMs = 5000

export type FailureReason = 'openssl' | 'unreachable' | 'status' | 'invalid'

/** The message completes "the timestamp …". */
export class TimestampError extends Error {
  override readonly name = 'TimestampError'
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string) {
    super(message)
    this.reason = reason
  }
}

interface Ended {
  readonly isDone: boolean
  readonly stdout: Buffer
  readonly stderr: string
}

function openssl(args: readonly string[], signal?: AbortSignal): Promise<Ended> {
  const options = { encoding: 'buffer', timeout: timeoutMs, killSignal: 'SIGKILL', signal } as const
  return new Promise((resolve, reject) => {
    execFile('openssl', args, options, (error: ExecFileException | null, stdout, stderr) => {
      if (error && typeof error.code !== 'number')
        reject(
          new TimestampError('openssl', `cannot be made or verified: openssl ${error.killed ? 'hangs' : error.code}`),
        )
      else resolve({ isDone: error === null, stdout, stderr: stderr.toString() })
    })
  })
}

/** @throws OperatorError if openssl is missing or creates no queries */
export async function requireOpenssl(): Promise<void> {
  const isThere = await createQuery(Buffer.alloc(32)).then(
    () => true,
    () => false,
  )
  if (isThere) return
  throw new OperatorError('timestamps need openssl, and `openssl ts -query` does not work', {
    hint: 'install openssl 1.1.1 or newer, where PATH finds it',
  })
}

/** Creates a query with a nonce that requests the certificate. @throws TimestampError */
export async function createQuery(digest: Buffer, signal?: AbortSignal): Promise<Buffer> {
  const { isDone, stdout } = await openssl(
    ['ts', '-query', '-digest', digest.toString('hex'), '-sha256', '-cert'],
    signal,
  )
  if (isDone && stdout.length > 0) return stdout
  throw new TimestampError('openssl', 'cannot be requested: openssl created no query')
}

/** What a timestamp must match: its query, or a SHA-256. */
export type Subject = { readonly query: Buffer } | { readonly digest: Buffer }

interface Verification {
  /** PEM file of the authority's trusted root certificates. */
  readonly caFile: string
  readonly valid: 'now' | 'then'
  readonly signal?: AbortSignal
}

export interface Verdict {
  readonly time: Date | null
  /** Completes "the timestamp …"; null if it is valid. */
  readonly problem: string | null
  /** True if the authority is not trusted. */
  readonly isForeign: boolean
}

/** @throws TimestampError if openssl does not work */
export async function verifyTimestamp(
  token: Buffer,
  subject: Subject,
  { caFile, valid, signal }: Verification,
): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'consentctl-timestamp-')).catch(notWritable)
  try {
    const [file, query] = [join(folder, 'token'), join(folder, 'query')]
    await writeFile(file, token)
    if ('query' in subject) await writeFile(query, subject.query)
    const time = readTime((await openssl(['ts', '-reply', '-in', file, '-text'], signal)).stdout.toString())
    if (!time) return { time, problem: 'is unreadable', isForeign: false }
    const about = 'query' in subject ? ['-queryfile', query] : ['-digest', subject.digest.toString('hex')]
    const at = valid === 'then' ? ['-attime', String(Math.floor(time.getTime() / 1000))] : []
    const args = ['ts', '-verify', ...about, '-in', file, '-CAfile', caFile, ...at]
    const { isDone, stderr } = await openssl(args, signal)
    return { time, problem: isDone ? null : explain(stderr), isForeign: isCertificateError(stderr) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function notWritable({ message }: Error): never {
  throw new TimestampError('openssl', `cannot be verified: ${message}`)
}

function readTime(text: string): Date | null {
  const [, day, time, ms = '', year] = /^Time stamp: (\w+ +\d+) ([\d:]+)(\.\d+)? (\d+) GMT$/m.exec(text) ?? []
  const parsed = new Date(`${day} ${year} ${time}${ms.slice(0, 4)} GMT`)
  return Number.isNaN(parsed.getTime()) ? null : parsed
}

const isCertificateError = (stderr: string) => /ts_verify_cert|signer certificate|Verify error/.test(stderr)

function explain(stderr: string): string {
  if (stderr.includes('imprint mismatch')) return 'is of something else'
  if (/nonce/.test(stderr)) return 'answers another query'
  const [, reason = ''] = /Verify error:(.*)/.exec(stderr) ?? []
  if (isCertificateError(stderr)) return `is not by a trusted authority${reason && `: ${reason.trim()}`}`
  return 'is not valid'
}
