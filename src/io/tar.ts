const block = 512

/**
 * Reads POSIX.1-1988 ustar and GNU archives, without a leading `./`. Rejects what tar programs read differently:
 * extended headers, links, `..`, repeated names, anything after the end.
 * @throws SyntaxError with a message that completes "the archive …"
 */
export function readTar(bytes: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  let at = 0
  while (at < bytes.length && !isZero(bytes.subarray(at, at + block))) {
    const { name, isFolder, size } = readHeader(bytes.subarray(at, at + block))
    at += block
    if (at + size > bytes.length) throw cutOff()
    if (!isFolder) {
      if (files.has(name)) throw new SyntaxError(`has ${name} twice`)
      files.set(name, bytes.subarray(at, at + size))
    }
    at += Math.ceil(size / block) * block
  }
  if (!isZero(bytes.subarray(at))) throw new SyntaxError('has data after its end')
  return files
}

interface Header {
  readonly name: string
  readonly isFolder: boolean
  readonly size: number
}

function readHeader(header: Buffer): Header {
  if (header.length < block) throw cutOff()
  const sum = header.reduce((total, byte, index) => total + (index >= 148 && index < 156 ? 32 : byte), 0)
  if (readOctal(header, 148, 8) !== sum || header.toString('latin1', 257, 262) !== 'ustar')
    throw new SyntaxError('is not a tar archive, or was changed')
  const end = header.subarray(0, 100).indexOf(0)
  const path = header.toString('utf8', 0, end === -1 ? 100 : end)
  const type = header.toString('latin1', 156, 157)
  const isFolder = type === '5'
  const size = readOctal(header, 124, 12)
  const isPlain = ['0', '\0', '5'].includes(type) && isZero(header.subarray(345)) && !(isFolder && size > 0)
  if (!isPlain || Number.isNaN(size))
    throw new SyntaxError(`has ${path} in a form that programs read in different ways: verify the unpacked folder`)
  const name = path.replace(/^(\.\/)+/, '').replace(isFolder ? /\/$/ : /$^/, '')
  const isInside = name.split('/').every(part => !['', '.', '..'].includes(part)) || (isFolder && name === '')
  if (!isInside || name.includes('\\')) throw new SyntaxError(`has ${path}, which leads out of it`)
  return { name, isFolder, size }
}

function readOctal(header: Buffer, start: number, length: number): number {
  const digits = /^ *([0-7]+)[ \0]*$/.exec(header.toString('latin1', start, start + length))?.[1]
  return digits === undefined ? Number.NaN : Number.parseInt(digits, 8)
}

function isZero(bytes: Buffer): boolean {
  return bytes.every(byte => byte === 0)
}

function cutOff(): SyntaxError {
  return new SyntaxError('was cut off')
}
