/** The longest line of an export, in bytes: far over any row, far under what would fill the memory. */
const longestLine = 4 * 1024 * 1024

export interface Line {
  /** From 1. */
  readonly number: number
  /** With the line's end, where it has one. */
  readonly bytes: Buffer
}

/** The lines of a stream, every byte of it in one of them. Throws a RangeError at one that is too long, for it may never end. */
export async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let number = 0
  let rest: Buffer[] = []
  let length = 0
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let start = 0
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      const piece = bytes.subarray(start, end + 1)
      yield { number: ++number, bytes: rest.length > 0 ? Buffer.concat([...rest, piece]) : piece }
      rest = []
      length = 0
      start = end + 1
    }
    if (start < bytes.length) rest.push(bytes.subarray(start))
    length += bytes.length - start
    if (length > longestLine) throw new RangeError(`line ${number + 1} is longer than any row`)
  }
  if (length > 0) yield { number: number + 1, bytes: Buffer.concat(rest) }
}
