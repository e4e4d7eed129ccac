import { dataError } from '../../../../errors/errors.ts'
import { type Line, longestLine } from '../../../../io/input.ts'

const maxDepth = 32

const signs = { quote: 34, comma: 44, colon: 58, openList: 91, backslash: 92, closeList: 93, open: 123, close: 125 }

/**
 * Yields the elements of the list at `path`, numbered from 1, in constant memory and as they are written: a streaming
 * parser would lose repeated keys and digits, for which rows are refused. The JSON around the list is not fully checked.
 *
 * @throws CliError invalid_data if the document ends early, has no such list, or has an element over 1 MiB
 */
export async function* splitArray(
  chunks: AsyncIterable<Buffer>,
  path: readonly string[],
  name: string,
): AsyncGenerator<readonly Line[]> {
  const place = path.length > 0 ? ` at ${path.join('.')}` : ''
  const invalid = () => dataError(`${name} is not valid JSON`)
  /** Latest key of each object and list around the elements; null for a list. */
  const keys: (string | null)[] = []
  let [isText, isEscaped, isInside, isFound, isBegun] = [false, false, false, false, false]
  let [number, depth] = [1, 0]
  /** Start of an element, or of text outside the list. */
  let start = -1
  let rest: Buffer = Buffer.alloc(0)
  let text = ''

  const take = (chunk: Buffer, end: number): Buffer => {
    const taken = Buffer.concat([rest, chunk.subarray(start, end)])
    rest = Buffer.alloc(0)
    start = -1
    if (isInside && taken.length > longestLine) throw dataError(`element ${number} of ${name} is longer than 1 MiB`)
    return taken
  }
  const keep = (chunk: Buffer) => {
    if (start === -1) return
    rest = take(chunk, chunk.length)
    start = 0
    if (rest.length > longestLine) rest = Buffer.alloc(0) // no key
  }
  const readText = (byte: number, chunk: Buffer, at: number) => {
    if (isEscaped) isEscaped = false
    else if (byte === signs.backslash) isEscaped = true
    else if (byte === signs.quote) {
      isText = false
      if (!isInside) text = take(chunk, at).toString()
    }
  }
  const readElement = (byte: number, at: number) => {
    if (start === -1 && !isBlank(byte)) start = at
    if (byte === signs.quote) isText = true
    else if (byte === signs.open || byte === signs.openList) depth += 1
    else if (byte === signs.close || byte === signs.closeList) depth -= 1
  }
  const endElement = (byte: number, chunk: Buffer, at: number): Line | null => {
    const isLast = byte === signs.closeList
    if (start === -1 && !isLast) throw invalid()
    const line = start === -1 ? null : { number, bytes: take(chunk, at), end: 0 }
    number += 1
    isInside = !isLast
    if (isLast) keys.pop()
    return line
  }
  const open = (key: string | null) => {
    if (keys.length >= maxDepth) throw dataError(`${name} is nested too deeply`)
    if (key === null && keys.length === path.length && keys.every((each, index) => each === path[index])) {
      if (isFound) throw dataError(`${name} has two lists${place}`)
      isFound = true
      isInside = true
    }
    keys.push(key)
    isBegun = true
  }
  const close = (isList: boolean) => {
    const key = keys.pop()
    if (key === undefined || (key === null) !== isList) throw invalid()
  }
  const readOutside = (byte: number, at: number) => {
    if (isBegun && keys.length === 0 && !isBlank(byte)) throw invalid()
    if (byte === signs.open) open('')
    else if (byte === signs.openList) open(null)
    else if (byte === signs.close || byte === signs.closeList) close(byte === signs.closeList)
    else if (byte === signs.colon && typeof keys.at(-1) === 'string') keys[keys.length - 1] = parseKey(text, invalid)
    if (byte !== signs.quote) return
    isText = true
    start = at + 1
  }
  const readByte = (byte: number, chunk: Buffer, at: number): Line | null => {
    if (isText) readText(byte, chunk, at)
    else if (!isInside) readOutside(byte, at)
    else if (depth === 0 && (byte === signs.comma || byte === signs.closeList)) return endElement(byte, chunk, at)
    else readElement(byte, at)
    return null
  }

  for await (const chunk of chunks) {
    const elements: Line[] = []
    for (let at = 0; at < chunk.length; at += 1) {
      const line = readByte(chunk[at] as number, chunk, at)
      if (line) elements.push(line)
    }
    keep(chunk)
    if (elements.length > 0) yield elements
  }
  if (!isBegun) throw dataError(`${name} is not JSON`)
  if (keys.length > 0) throw dataError(`${name} ends in the middle of its JSON`, 'export it again')
  if (!isFound) throw dataError(`${name} has no list${place}`, 'name its place in the map: container.at')
}

function parseKey(text: string, invalid: () => Error): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    throw invalid()
  }
}

/** Returns true for white space, or a byte of a byte order mark. */
function isBlank(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13) || byte === 0xef || byte === 0xbb || byte === 0xbf
}
