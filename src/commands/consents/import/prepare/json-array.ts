import { type CliError, dataError } from '../../../../errors/errors.ts'
import { type Line, longestLine } from '../../../../io/input.ts'

interface Frame {
  readonly isArray: boolean
  key: string | null
  isKeyNext: boolean
}

const maxDepth = 32
const longestKey = 1024

const bytes = { quote: 34, comma: 44, openList: 91, backslash: 92, closeList: 93, open: 123, close: 125 } as const

/**
 * Yields the elements of the list at `path`, numbered from 1, unparsed, in constant memory. The JSON around the list is
 * not fully checked.
 *
 * @throws CliError invalid_data if the document ends early, has no such list, or has an element over 1 MiB
 */
export async function* splitArray(
  chunks: AsyncIterable<Buffer>,
  path: readonly string[],
  name: string,
): AsyncGenerator<readonly Line[]> {
  const outside = findList(path, name)
  const inside = splitElements(name)
  let isInside = false
  for await (const chunk of chunks) {
    const elements: Line[] = []
    for (let at = 0; at < chunk.length; ) {
      const read = isInside ? inside.read(chunk, at, elements) : outside.read(chunk, at)
      at = read.next
      if (read.isBoundary) isInside = !isInside
    }
    inside.keep(chunk)
    if (elements.length > 0) yield elements
  }
  if (isInside) throw endsEarly(name)
  outside.end()
}

interface Read {
  readonly next: number
  /** The list begins or ends before `next`. */
  readonly isBoundary: boolean
}

function findList(path: readonly string[], name: string) {
  const stack: Frame[] = []
  const text = stringScanner()
  let [isFound, isBegun, isDone] = [false, false, false]
  let key: number[] | null = null
  const isThere = () =>
    stack.length === path.length && stack.every((frame, index) => !frame.isArray && frame.key === path[index])
  const open = (isArray: boolean) => {
    if (stack.length >= maxDepth) throw dataError(`${name} is nested too deeply`)
    stack.push({ isArray, key: null, isKeyNext: !isArray })
    isBegun = true
  }
  const close = (isArray: boolean) => {
    if (stack.pop()?.isArray !== isArray) throw invalid(name)
    isDone = stack.length === 0
  }
  const readString = (byte: number) => {
    const isOpen = text.read(byte)
    if (isOpen && key && key.length < longestKey) key.push(byte)
    if (isOpen || !key) return
    const frame = stack.at(-1) as Frame
    frame.key = parseKey(key, name)
    frame.isKeyNext = false
    key = null
  }
  const readByte = (byte: number): boolean => {
    if (isDone && !isBlank(byte)) throw invalid(name)
    const frame = stack.at(-1)
    switch (byte) {
      case bytes.quote:
        text.open()
        key = frame?.isKeyNext ? [] : null
        return false
      case bytes.comma:
        if (frame) frame.isKeyNext = !frame.isArray
        return false
      case bytes.open:
      case bytes.openList: {
        const isList = byte === bytes.openList && isThere()
        open(byte === bytes.openList)
        return isList
      }
      case bytes.close:
      case bytes.closeList:
        close(byte === bytes.closeList)
        return false
      default:
        return false
    }
  }
  return {
    read: (chunk: Buffer, from: number): Read => {
      for (let at = from; at < chunk.length; at += 1) {
        const byte = chunk[at] as number
        if (text.isOpen()) readString(byte)
        else if (readByte(byte)) {
          if (isFound) throw dataError(`${name} has two lists${placeOf(path)}`)
          isFound = true
          return { next: at + 1, isBoundary: true }
        }
      }
      return { next: chunk.length, isBoundary: false }
    },
    end: () => {
      if (!isBegun) throw dataError(`${name} is not JSON`)
      if (!isDone) throw endsEarly(name)
      if (!isFound) throw dataError(`${name} has no list${placeOf(path)}`, 'name its place in the map: container.at')
    },
  }
}

function splitElements(name: string) {
  const text = stringScanner()
  let [depth, number] = [0, 1]
  let start = -1
  let rest: Buffer[] = []
  let restBytes = 0
  const take = (chunk: Buffer, end: number): Line => {
    const last = chunk.subarray(start, end)
    const line = { number, bytes: rest.length > 0 ? Buffer.concat([...rest, last]) : last, end: 0 }
    if (line.bytes.length > longestLine) throw tooLong(number, name)
    number += 1
    rest = []
    restBytes = 0
    start = -1
    return line
  }
  const endElement = (chunk: Buffer, at: number, elements: Line[]) => {
    if (start !== -1) elements.push(take(chunk, at))
    else if (chunk[at] === bytes.comma) throw invalid(name)
  }
  const readByte = (byte: number, at: number) => {
    if (start === -1 && !isBlank(byte)) start = at
    if (byte === bytes.quote) text.open()
    else if (byte === bytes.open || byte === bytes.openList) depth += 1
    else if (byte === bytes.close || byte === bytes.closeList) depth -= 1
  }
  return {
    read: (chunk: Buffer, from: number, elements: Line[]): Read => {
      for (let at = from; at < chunk.length; at += 1) {
        const byte = chunk[at] as number
        if (text.isOpen()) text.read(byte)
        else if (depth > 0 || (byte !== bytes.comma && byte !== bytes.closeList)) readByte(byte, at)
        else {
          endElement(chunk, at, elements)
          if (byte === bytes.closeList) return { next: at, isBoundary: true }
        }
      }
      return { next: chunk.length, isBoundary: false }
    },
    keep: (chunk: Buffer) => {
      if (start === -1) return
      const part = chunk.subarray(start)
      restBytes += part.length
      if (restBytes > longestLine) throw tooLong(number, name)
      rest.push(part)
      start = 0
    },
  }
}

function stringScanner() {
  let [isOpen, isEscaped] = [false, false]
  return {
    isOpen: () => isOpen,
    open: () => {
      isOpen = true
    },
    read: (byte: number): boolean => {
      if (isEscaped) isEscaped = false
      else if (byte === bytes.backslash) isEscaped = true
      else if (byte === bytes.quote) isOpen = false
      return isOpen
    },
  }
}

function parseKey(key: readonly number[], name: string): string {
  try {
    return JSON.parse(`"${Buffer.from(key).toString()}"`) as string
  } catch {
    throw invalid(name)
  }
}

/** Or a byte order mark. */
function isBlank(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13) || byte === 0xef || byte === 0xbb || byte === 0xbf
}

function placeOf(path: readonly string[]): string {
  return path.length > 0 ? ` at ${path.join('.')}` : ''
}

function endsEarly(name: string): CliError {
  return dataError(`${name} ends in the middle of its JSON`, 'export it again')
}

function invalid(name: string): CliError {
  return dataError(`${name} is not valid JSON`)
}

function tooLong(number: number, name: string): CliError {
  return dataError(`element ${number} of ${name} is longer than 1 MiB`)
}
