import { createReadStream } from 'node:fs'
import { crc32 } from 'node:zlib'
import { CliError, dataError, exit } from '../errors/errors.ts'
import { longestLine, splitTogether } from '../io/input.ts'
import type { ProcessIdentity } from './process.ts'

/**
 * The append-only file of a job. A line is the CRC-32 of its JSON in eight hexadecimal digits, a space, and the JSON.
 * The first entry is the job's header. In later lines an array is an event, which begins with its kind, or a list of
 * events, and an object is a `Claim` or a `Close`.
 */
export interface Log {
  readonly path: string
  readonly ifDamaged: string
}

/**
 * A claim takes a job over. Of several claims after the same owner, the first in the file counts: appends are atomic
 * on a local file system (not on NFS), so all readers agree, and no lock file can be left behind.
 */
export interface Claim extends ProcessIdentity {
  readonly claim: string
  /** The replaced claim. */
  readonly after: string | null
  /**
   * The last readable line before the claim. Lines in between were cut off by a kill, or written by two processes at
   * once.
   */
  readonly read: number
}

export interface Close {
  readonly closed: string
}

/** @throws CliError invalid_data if the line would be too long to read again */
export function encode(entry: unknown): string {
  const json = JSON.stringify(entry)
  if (!fits(json)) throw dataError('a job cannot hold so long a line')
  return `${crc32(json).toString(16).padStart(8, '0')} ${json}\n`
}

/**
 * Encodes events on as few lines as possible, because a line each takes several times the CPU.
 *
 * @throws CliError invalid_data if an event would be too long to read again
 */
export function encodeEvents(events: readonly unknown[]): string {
  if (events.length <= 1) return events.map(encode).join('')
  if (fits(JSON.stringify(events))) return encode(events)
  const middle = Math.ceil(events.length / 2)
  return encodeEvents(events.slice(0, middle)) + encodeEvents(events.slice(middle))
}

function fits(json: string): boolean {
  return Buffer.byteLength(json) <= longestLine - 9
}

/** Most entries kept after an unreadable line until a claim accounts for it. */
const maxHeldEntries = 20_000

/**
 * Yields every entry in order. Skips an unreadable line only at the end of the file or if a later claim accounts for
 * it.
 *
 * @throws CliError io if the file is damaged elsewhere; busy if it is gone, because another process finished the job
 */
export async function* readEntries(log: Log): AsyncGenerator<unknown> {
  let unreadable = 0
  let held: unknown[] = []
  const add = (number: number, json: string | null) => {
    if (json === null) {
      unreadable ||= number
      return
    }
    const entry: unknown = JSON.parse(json)
    if (accountsFor(entry, unreadable)) unreadable = 0
    if (isSeveral(entry)) held.push(...entry)
    else held.push(entry)
    if (unreadable > 0 && held.length > maxHeldEntries) throw damaged(log, unreadable)
  }
  for await (const lines of linesOf(log)) {
    for (const { number, json } of lines) {
      add(number, json)
      if (unreadable > 0) continue
      yield* held
      held = []
    }
  }
  if (held.length > 0) throw damaged(log, unreadable)
}

function isSeveral(entry: unknown): entry is readonly unknown[] {
  return Array.isArray(entry) && Array.isArray(entry[0])
}

function accountsFor(entry: unknown, unreadable: number): boolean {
  return isClaim(entry) && entry.read < unreadable
}

interface Ownership {
  /** Null if closed. */
  readonly owner: Claim | null
  /** Last readable line. */
  readonly read: number
  /** First unreadable line after the owner's claim that no claim accounts for, or 0. */
  readonly unreadable: number
}

/** Ignores damage. */
export async function readOwnership(log: Log): Promise<Ownership> {
  let owner: Claim | null = null
  let [read, unreadable] = [0, 0]
  for await (const lines of linesOf(log)) {
    for (const { number, json } of lines) {
      if (json === null) unreadable ||= number
      else read = number
      if (!json?.startsWith('{')) continue
      const entry: unknown = JSON.parse(json)
      const next = nextOwner(owner, entry)
      if (next !== owner || accountsFor(entry, unreadable)) unreadable = 0
      owner = next
    }
  }
  return { owner, read, unreadable }
}

function nextOwner(owner: Claim | null, entry: unknown): Claim | null {
  if (isClaim(entry) && entry.after === (owner?.claim ?? null)) return entry
  return owner && (entry as Partial<Close>).closed === owner.claim ? null : owner
}

function isClaim(entry: unknown): entry is Claim {
  return typeof (entry as Partial<Claim> | null)?.claim === 'string'
}

async function* linesOf({ path }: Log): AsyncGenerator<{ number: number; json: string | null }[]> {
  for await (const lines of splitTogether(chunksOf(path), path))
    yield lines.map(({ number, bytes }) => ({ number, json: decode(bytes) }))
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? busy() : error
  }
}

function decode(bytes: Buffer): string | null {
  const checksum = crc32(bytes.subarray(9)).toString(16).padStart(8, '0')
  return bytes.toString('latin1', 0, 9) === `${checksum} ` ? bytes.toString('utf8', 9) : null
}

export function busy(owner = 'another consentctl', hint = 'wait for it to end, or end it'): CliError {
  return new CliError('busy', exit.temporary, `${owner} is working on the job`, { hint })
}

export function damaged({ path, ifDamaged }: Log, line: number): CliError {
  return new CliError('io', exit.failure, `the job file ${path} is damaged at line ${line}`, {
    hint: ifDamaged,
  })
}
