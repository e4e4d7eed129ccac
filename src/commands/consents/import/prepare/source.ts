import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, createGunzip } from 'node:zlib'
import type { Entry, ZipFile } from 'yauzl'
import { CliError, dataError, usageError } from '../../../../errors/errors.ts'
import { hashed, readUnchanged, unreadable } from '../../../../io/input.ts'

export interface Part {
  /** `export.csv`, or `export.zip/consents.csv`. */
  readonly name: string
  readonly chunks: AsyncIterable<Buffer>
}

export interface Source {
  readonly name: string
  readonly bytes: number
  /** Hexadecimal SHA-256 of the file as stored. */
  readonly sha256: string
  /** Read each ZIP entry before the next. `*` in `entries` matches any text. */
  parts(entries: readonly string[] | undefined): AsyncGenerator<Part>
  close(): Promise<void>
}

/** Limits decompression bombs: unpacked size, as a multiple of the file's, above a minimum. */
const maxRatio = 250
const minUnpackedBytes = 16 * 1024 * 1024

/** @throws UsageError for an unreadable path */
export async function openSource(path: string, signal: AbortSignal): Promise<Source> {
  const handle = await open(path).catch(error => {
    throw unreadable(path, error)
  })
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw usageError(`${path} is not a file`, 'save it as a regular file: it is read twice')
    const read = await readUnchanged(handle, path)
    const hash = createHash('sha256')
    for await (const _ of hashed(read(), hash)) signal.throwIfAborted()
    const budget = { left: Math.max(minUnpackedBytes, maxRatio * stat.size) }
    return {
      name: path,
      bytes: stat.size,
      sha256: hash.digest('hex'),
      parts: async function* (entries) {
        const start = (await handle.read(Buffer.alloc(4), 0, 4, 0)).buffer
        if (!isZip(start)) return yield { name: path, chunks: unpacked(read(), path, budget) }
        yield* zipParts(await openZip(handle, path), path, entries, budget)
        for await (const _ of read()) break // throws if the file has changed
      },
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

interface Budget {
  left: number
}

async function* bounded(chunks: AsyncIterable<Buffer>, name: string, budget: Budget): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    budget.left -= chunk.length
    if (budget.left < 0)
      throw dataError(`${name} unpacks to over ${maxRatio} times its size`, 'if that is expected, unpack it yourself')
    yield chunk
  }
}

async function* unpacked(chunks: AsyncGenerator<Buffer>, name: string, budget: Budget): AsyncGenerator<Buffer> {
  const { value: first } = await chunks.next()
  if (!first) return
  const all = prepend(first, chunks)
  if (first[0] !== 0x1f || first[1] !== 0x8b) return yield* all
  let packed = 0
  const gunzip = createGunzip()
  const counted = async function* () {
    for await (const chunk of all) {
      packed += chunk.length
      yield chunk
    }
  }
  const fed = pipeline(Readable.from(counted(), { objectMode: true }), gunzip)
  fed.catch(() => {}) // thrown by the loop below
  try {
    yield* bounded(gunzip as AsyncIterable<Buffer>, name, budget)
  } catch (error) {
    throw isOfZlib(error) ? dataError(`${name} is damaged: ${(error as Error).message}`) : error
  } finally {
    gunzip.destroy()
  }
  // Node ignores data after the last member, even a damaged member.
  if (gunzip.bytesWritten < packed) throw dataError(`${name} is damaged: other data follows its gzip data`)
}

async function* prepend(first: Buffer, chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield first
    yield* chunks
  } finally {
    await chunks.return(undefined)
  }
}

function isOfZlib(error: unknown): boolean {
  return /^Z_/.test(String((error as NodeJS.ErrnoException).code))
}

function isZip(start: Buffer): boolean {
  return ['PK\x03\x04', 'PK\x05\x06'].includes(start.toString('latin1'))
}

/** Closing the ZIP would close the file's handle. */
async function* zipParts(
  zip: ZipFile,
  path: string,
  entries: readonly string[] | undefined,
  budget: Budget,
): AsyncGenerator<Part> {
  let parts = 0
  try {
    for await (const entry of zip.eachEntry()) {
      if (!isWanted(entry.fileName, entries)) continue
      parts += 1
      yield* entryParts(zip, entry, path, entries, budget)
    }
  } catch (error) {
    throw error instanceof CliError ? error : damaged(path, error)
  }
  if (parts === 0) throw dataError(`${path} has no ${entries ? `entry ${entries.join(' or ')}` : 'file in it'}`)
}

async function* entryParts(
  zip: ZipFile,
  entry: Entry,
  path: string,
  entries: readonly string[] | undefined,
  budget: Budget,
): AsyncGenerator<Part> {
  const name = `${path}/${entry.fileName}`
  if (!entry.canDecodeFileData()) throw dataError(`${name} is encrypted, or uses an unknown compression`)
  const stream = await zip.openReadStreamPromise(entry)
  const chunks = checked(bounded(stream, name, budget), entry, name)
  if (isNested(name)) yield* nestedParts(chunks, name, entries, budget)
  else yield { name, chunks: unpacked(chunks, name, budget) }
}

function isNested(name: string): boolean {
  return /\.zip$/i.test(name)
}

/** Reads into memory, because a ZIP's directory is at its end. */
const maxNestedBytes = 8 * 1024 * 1024

async function* nestedParts(
  chunks: AsyncIterable<Buffer>,
  name: string,
  entries: readonly string[] | undefined,
  budget: Budget,
): AsyncGenerator<Part> {
  if (name.split(/\.zip\//i).length > 2) throw dataError(`${name} is nested too deeply`, 'unpack it yourself')
  const held: Buffer[] = []
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    if (length > maxNestedBytes) throw dataError(`${name} is a ZIP of over 8 MiB in a ZIP`, 'unpack it yourself')
    held.push(chunk)
  }
  const { fromBufferPromise } = await import('yauzl')
  const zip = await fromBufferPromise(Buffer.concat(held)).catch(error => {
    throw damaged(name, error)
  })
  yield* zipParts(zip, name, entries, budget)
}

/** Opens by descriptor, because another file may have the path by now. */
async function openZip({ fd }: FileHandle, path: string): Promise<ZipFile> {
  const { fromFdPromise } = await import('yauzl')
  return await fromFdPromise(fd, { autoClose: false }).catch(error => {
    throw damaged(path, error)
  })
}

/** yauzl compares only sizes, not the CRC-32. */
async function* checked(chunks: AsyncIterable<Buffer>, entry: Entry, name: string): AsyncGenerator<Buffer> {
  let sum = 0
  for await (const chunk of chunks) {
    sum = crc32(chunk, sum)
    yield chunk
  }
  if (sum !== entry.crc32) throw dataError(`${name} is damaged: its checksum is wrong`)
}

function damaged(path: string, error: unknown): CliError {
  return dataError(`${path} is not a readable ZIP file: ${(error as Error).message}`)
}

/** Always includes nested ZIPs, never folders. */
function isWanted(entry: string, patterns: readonly string[] | undefined): boolean {
  if (entry.endsWith('/') || entry.startsWith('__MACOSX/')) return false
  return !patterns || isNested(entry) || patterns.some(pattern => toRegExp(pattern).test(entry))
}

function toRegExp(pattern: string): RegExp {
  const parts = pattern.split('*').map(part => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 'is')
}
