import { dataError } from '../../../../errors/errors.ts'
import { type Line, longestLine } from '../../../../io/input.ts'

/** An object or a list around the elements. */
interface Frame {
  readonly isArray: boolean
  key: string | null
}

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
  const stack: Frame[] = []
  let [isText, isEscaped, isInside, isFound, isBegun] = [false, false, false, false, false]
  let [number, depth] = [1, 0]
  /** Of an element, or of a text outside of the list. */
  let start = -1
  let rest: Buffer[] = []
  let text = ''

  const take = (chunk: Buffer, end: number): Buffer => {
    const last = chunk.subarray(start, end)
    const taken = rest.length > 0 ? Buffer.concat([...rest, last]) : last
    rest = []
    start = -1
    return taken
  }
  const keep = (chunk: Buffer) => {
    if (start === -1) return
    rest.push(chunk.subarray(start))
    start = 0
    if (rest.reduce((sum, { length }) => sum + length, 0) <= longestLine) return
    if (isInside) throw tooLong(number, name)
    rest = [] // no key
  }
  const isAtList = () =>
    stack.length === path.length && stack.every(({ isArray, key }, index) => !isArray && key === path[index])

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
    if (byte === signs.closeList) {
      isInside = false
      stack.pop()
    } else if (start === -1) throw invalid(name)
    if (start === -1) return null
    const line = { number, bytes: take(chunk, at), end: 0 }
    if (line.bytes.length > longestLine) throw tooLong(number, name)
    number += 1
    return line
  }
  const open = (isArray: boolean) => {
    if (stack.length >= maxDepth) throw dataError(`${name} is nested too deeply`)
    if (isArray && isAtList()) {
      if (isFound) throw dataError(`${name} has two lists${place}`)
      isFound = true
      isInside = true
    }
    stack.push({ isArray, key: null })
    isBegun = true
  }
  const close = (isArray: boolean) => {
    if (stack.pop()?.isArray !== isArray) throw invalid(name)
  }
  const readOutside = (byte: number, at: number) => {
    if (isBegun && stack.length === 0 && !isBlank(byte)) throw invalid(name)
    const frame = stack.at(-1)
    if (byte === signs.colon && frame) frame.key = parseKey(text, name)
    else if (byte === signs.open || byte === signs.openList) open(byte === signs.openList)
    else if (byte === signs.close || byte === signs.closeList) close(byte === signs.closeList)
    if (byte !== signs.quote) return
    isText = true
    start = at + 1
  }
  const requireEnd = () => {
    if (!isBegun) throw dataError(`${name} is not JSON`)
    if (stack.length > 0) throw dataError(`${name} ends in the middle of its JSON`, 'export it again')
    if (!isFound) throw dataError(`${name} has no list${place}`, 'name its place in the map: container.at')
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
  requireEnd()
}

function parseKey(text: string, name: string): string {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    throw invalid(name)
  }
}

/** Or a byte order mark. */
function isBlank(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13) || byte === 0xef || byte === 0xbb || byte === 0xbf
}

const invalid = (name: string) => dataError(`${name} is not valid JSON`)

const tooLong = (number: number, name: string) => dataError(`element ${number} of ${name} is longer than 1 MiB`)
