import { createReadStream } from 'node:fs'
import { crc32 } from 'node:zlib'
import type * as z from 'zod'
import { CliError, dataError, exit } from '../errors/errors.ts'
import { longestLine, splitLines } from '../io/input.ts'
import { type Holder, readHolder } from './holder.ts'

/**
 * The line below which a run tells what it came to know itself; above it is what earlier runs came to know. A run that
 * ended of itself, and was not killed, has it once more as its last.
 */
export const mark = ['r'] as const

/** A journal to read, and what its reader is told to do where it is damaged. */
export interface Log {
  readonly path: string
  readonly ifDamaged: string
}

/**
 * An entry as a line of a journal: the CRC-32 of its JSON in eight digits, a space, the JSON. Throws a data error for what
 * no journal could be read with again.
 */
export function encode(entry: unknown): string {
  const text = JSON.stringify(entry)
  if (Buffer.byteLength(text) > longestLine - 9) throw dataError('a journal cannot hold a line so long')
  return `${checksum(text)} ${text}\n`
}

/** The first entry, and who wrote it. Throws a CliError where the file is no journal of that kind. */
export async function readHeader<Header extends { readonly pid: number }>(
  log: Log,
  schema: z.ZodType<Header>,
): Promise<{ header: Header; holder: Holder | null }> {
  for await (const entry of entries(log)) {
    const { data } = schema.safeParse(entry)
    if (data) return { header: data, holder: readHolder(entry, data.pid) }
    break
  }
  throw corrupt(log, 1)
}

/** The entries from the header on, in two parts: what earlier runs came to know, or what the last one did. */
export async function* events(log: Log, part: 'before' | 'since'): AsyncGenerator<unknown> {
  let [isHeader, isBegun] = [true, false]
  for await (const entry of entries(log)) {
    if (isMark(entry) && part === 'before') return
    if (!isHeader && !isMark(entry) && isBegun === (part === 'since')) yield entry
    isHeader = false
    isBegun ||= isMark(entry)
  }
}

/** Whether the last run has ended of itself. */
export async function isEnded(log: Log): Promise<boolean> {
  let [marks, isLast] = [0, false]
  for await (const entry of entries(log)) {
    isLast = isMark(entry)
    if (isLast) marks += 1
  }
  return marks > 1 && isLast
}

function isMark(entry: unknown): boolean {
  return Array.isArray(entry) && entry.length === 1 && entry[0] === mark[0]
}

/** All entries. What cannot be read at the very end was being written when the process was killed. */
async function* entries(log: Log): AsyncGenerator<unknown> {
  let bad = 0
  for await (const { number, bytes } of splitLines(chunksOf(log.path), log.path)) {
    const text = Buffer.from(bytes).toString()
    const isWhole = text.slice(0, 9) === `${checksum(text.slice(9))} `
    if (isWhole && bad > 0) throw corrupt(log, bad)
    if (isWhole) yield JSON.parse(text.slice(9))
    else bad ||= number
  }
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? busy() : error
  }
}

/** A run has the next one's journal in place of its own as soon as that begins. */
export function busy(who = 'another consentctl', hint = 'wait for its end, or end it'): CliError {
  return new CliError('busy', exit.temporary, `${who} works on the job`, { hint })
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}

function corrupt({ path, ifDamaged }: Log, line: number): CliError {
  return new CliError('io', exit.failure, `the journal ${path} is damaged at line ${line}`, {
    hint: ifDamaged,
  })
}
