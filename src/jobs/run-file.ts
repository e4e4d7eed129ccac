import { createReadStream } from 'node:fs'
import { CliError, dataError, exit } from '../errors/errors.ts'
import { longestLine, splitTogether } from '../io/input.ts'
import type { ProcessIdentity } from './process.ts'

/**
 * One run of a job, which only its owner writes. The first line is the `Head`. Each later line is what one flush wrote:
 * an array of entries. A kill or a power cut can damage the last line alone, because the next is written after the flush.
 * `{"ended":true}` ends the file of a run that let the job go.
 */
export interface RunFile {
  readonly path: string
  readonly number: number
  readonly ifDamaged: string
}

export interface Head {
  readonly owner: ProcessIdentity
  readonly header: unknown
}

export const ended = '{"ended":true}\n'

/** @throws CliError invalid_data if the entry would be too long to read again */
export function encode(entry: unknown): string {
  const json = JSON.stringify(entry)
  if (Buffer.byteLength(json) > longestLine - 2) throw dataError('the line is too long for a job')
  return json
}

/** Leaves room for three bytes per character. */
const maxCharacters = longestLine / 3 - 10

/** Joins encoded entries into as few lines as can be read again. */
export function* toLines(entries: readonly string[]): Generator<string> {
  let line = ''
  for (const json of entries) {
    if (line !== '' && line.length + json.length > maxCharacters) {
      yield `[${line}]\n`
      line = ''
    }
    line += line === '' ? json : `,${json}`
  }
  if (line !== '') yield `[${line}]\n`
}

/** @throws CliError io if the file is damaged before its last line; busy if it is gone */
export async function* readEntries<Entry>(file: RunFile): AsyncGenerator<Entry> {
  for await (const value of valuesIn(file)) if (Array.isArray(value)) yield* value
}

/** @throws CliError io if the file does not begin with a head */
export async function readHead(file: RunFile): Promise<Head> {
  for await (const value of valuesIn(file)) {
    if (typeof (value as Partial<Head> | null)?.owner === 'object') return value as Head
    break
  }
  throw damaged(file, 1)
}

export async function isEnded(file: RunFile): Promise<boolean> {
  for await (const value of valuesIn(file)) if ((value as { ended?: unknown } | null)?.ended === true) return true
  return false
}

async function* valuesIn(file: RunFile): AsyncGenerator<unknown> {
  let unreadable = 0
  for await (const lines of splitTogether(chunksOf(file.path), file.path)) {
    for (const { number, bytes } of lines) {
      if (unreadable > 0) throw damaged(file, unreadable)
      const value = parse(bytes)
      if (value === undefined) unreadable = number
      else yield value
    }
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return undefined
  }
}

async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? busy() : error
  }
}

export function busy(owner = 'another consentctl', hint = 'wait for it to end, or end it'): CliError {
  return new CliError('busy', exit.temporary, `${owner} is working on the job`, { hint })
}

export function damaged({ path, ifDamaged }: RunFile, line: number): CliError {
  return new CliError('io', exit.failure, `the job file ${path} is damaged at line ${line}`, {
    hint: ifDamaged,
  })
}
