import { createReadStream } from 'node:fs'
import { crc32 } from 'node:zlib'
import * as z from 'zod'
import { CliError } from '../../errors/errors.ts'
import { exit } from '../../errors/exit.ts'
import { splitLines } from '../../io/input.ts'

/** What a job is about. No key and nothing of the records is in a journal. */
export const Header = z.object({
  version: z.literal(1),
  job: z.string(),
  /** The file's absolute path, the SHA-256 of its bytes, and how many lines it has. */
  file: z.string(),
  sha256: z.string(),
  lines: z.number(),
  format: z.enum(['ndjson', 'csv']),
  unguard: z.boolean(),
  profile: z.string(),
  base_url: z.string(),
  site: z.string().optional(),
  created_at: z.string(),
  /** The process that works on it. */
  pid: z.number(),
})
export type Header = z.output<typeof Header>

/**
 * What a journal tells of lines of the file, by their numbers: s, a line is about to be sent, at an instant in
 * milliseconds since 1970; d, its record is made and has this id; f, it failed with this code; u, its answer was lost.
 * r: a run begins here; what is above it is all that earlier runs came to know, by line.
 */
export type Event =
  | readonly ['s', line: number, at: number]
  | readonly ['d', line: number, id: string]
  | readonly ['f', line: number, code: string]
  | readonly ['u', line: number]
  | readonly ['r']

/** An entry as a line of the journal, with a checksum. */
export function encode(entry: Header | Event): string {
  const text = JSON.stringify(entry)
  return `${checksum(text)} ${text}\n`
}

/** Throws a CliError where the file is no journal. */
export async function readHeader(path: string): Promise<Header> {
  for await (const entry of entries(path)) {
    const header = Header.safeParse(entry)
    if (header.success) return header.data
    break
  }
  throw corrupt(path, 1)
}

/** What a journal tells, from its header on. */
export async function* events(path: string): AsyncGenerator<Event> {
  let isHeader = true
  for await (const entry of entries(path)) {
    if (!isHeader) yield entry as Event
    isHeader = false
  }
}

/** The entries of a journal. What cannot be read at its very end was being written when the process was killed. */
async function* entries(path: string): AsyncGenerator<unknown> {
  let bad = 0
  for await (const { number, bytes } of splitLines(chunksOf(path), path)) {
    const text = Buffer.from(bytes).toString()
    const isWhole = text.slice(0, 8) === checksum(text.slice(9))
    if (isWhole && bad > 0) throw corrupt(path, bad)
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

function corrupt(path: string, line: number): CliError {
  return new CliError('io', exit.failure, `the journal ${path} is damaged at line ${line}`, {
    hint: 'consentctl list shows which records were made',
  })
}
