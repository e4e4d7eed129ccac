import { createReadStream } from 'node:fs'
import { crc32 } from 'node:zlib'
import type * as z from 'zod'
import { CliError } from '../errors/errors.ts'
import { exit } from '../errors/exit.ts'
import { splitLines } from '../io/input.ts'

/** The line below which a run tells what it came to know itself; above it is what earlier runs came to know. */
export const runBegins = ['r'] as const

/** A journal to read, and what its reader is told to do where it is damaged. */
export interface Log {
  readonly path: string
  readonly ifDamaged: string
}

/** An entry as a line of a journal: the CRC-32 of its JSON in eight digits, a space, the JSON. */
export function encode(entry: unknown): string {
  const text = JSON.stringify(entry)
  return `${checksum(text)} ${text}\n`
}

/** The first entry. Throws a CliError where the file is no journal of that kind. */
export async function readHeader<Header>(log: Log, schema: z.ZodType<Header>): Promise<Header> {
  for await (const entry of entries(log)) {
    const header = schema.safeParse(entry)
    if (header.success) return header.data
    break
  }
  throw corrupt(log, 1)
}

/** The entries from the header on, in two parts: what earlier runs came to know, or what the last one did. */
export async function* events(log: Log, part: 'before' | 'since'): AsyncGenerator<unknown> {
  let [isHeader, isBegun] = [true, false]
  for await (const entry of entries(log)) {
    const isMark = !isBegun && Array.isArray(entry) && entry.length === 1 && entry[0] === runBegins[0]
    if (isMark && part === 'before') return
    if (!isHeader && !isMark && isBegun === (part === 'since')) yield entry
    isHeader = false
    isBegun ||= isMark
  }
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
export function busy(who = 'another consentctl'): CliError {
  return new CliError('busy', exit.temporary, `${who} works on the job`, {
    hint: 'wait for its end, or end it',
  })
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}

function corrupt({ path, ifDamaged }: Log, line: number): CliError {
  return new CliError('io', exit.failure, `the journal ${path} is damaged at line ${line}`, {
    hint: ifDamaged,
  })
}
