import { join } from 'node:path'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decode, rawOf, readLines, readText, splitLines } from '../../../src/io/input.ts'
import type { Io } from '../../../src/io/io.ts'
import { useFolder } from '../../support/cli.ts'

const folder = useFolder()

/** Standard input that arrives in these pieces. */
const arriving = (chunks: Iterable<Uint8Array>) => ({ stdin: Readable.from(chunks) }) as unknown as Io

async function linesOf(io: Io, source = '-'): Promise<[number, string][]> {
  const lines: [number, string][] = []
  for await (const { number, bytes } of readLines(io, source)) lines.push([number, Buffer.from(bytes).toString()])
  return lines
}

it('splitLines yields the same lines for any chunks', async () => {
  const unit = fc.constantFrom('a', '同', '👍', '\n', '\r\n', '\n\n', ' ')
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit, maxLength: 40, size: 'max' }),
      fc.integer({ min: 1, max: 7 }),
      async (text, size) => {
        const bytes = Buffer.from(text)
        const count = Math.ceil(bytes.length / size)
        const chunks = Array.from({ length: count }, (_, index) => bytes.subarray(index * size, (index + 1) * size))
        const expected = text
          .split('\n')
          .map((line, index): [number, string] => [index + 1, line.replace(/\r$/, '')])
          .filter(([, line]) => line !== '')
        expect(await linesOf(arriving(chunks))).toEqual(expected)
      },
    ),
  )
})

it('splitLines with quoted does not split a line within quotation marks, for any chunks', async () => {
  const text = 'a,b\r\n"1\n\n""2\r\n",x\n\n"y"\n"open\nto the end'
  const expected = [
    [1, 'a,b\r\n'],
    [2, '"1\n\n""2\r\n",x\n'],
    [7, '"y"\n'],
    [8, '"open\nto the end'],
  ]
  for (let size = 1; size <= text.length; size += 1) {
    const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    const lines: [number, string][] = []
    const stream = Readable.from(chunks.map(chunk => Buffer.from(chunk)))
    for await (const line of splitLines(stream, 'x', { quoted: true }))
      lines.push([line.number, Buffer.from(rawOf(line)).toString()])
    expect(lines).toEqual(expected)
  }
})

it('splitLines yields a line as soon as its terminator arrives', async () => {
  let asked = 0
  function* endless() {
    for (;;) {
      asked += 1
      yield Buffer.from(`line ${asked}\n`)
    }
  }
  for await (const { number } of readLines(arriving(endless()), '-')) if (number === 3) break
  expect(asked).toBeLessThan(100)
})

it('splitLines throws at a line over 1 MiB, with its number, without buffering more of it', async () => {
  let sent = 0
  function* endless() {
    yield Buffer.from('first\n')
    for (;;) {
      sent += 65_536
      yield Buffer.alloc(65_536, 'x')
    }
  }
  const error = expect.objectContaining({
    exit: 5,
    message: expect.stringContaining('line 2 of standard input'),
  })
  await expect(linesOf(arriving(endless()))).rejects.toEqual(error)
  expect(sent).toBeLessThan(4 * 1024 * 1024)
})

it('splitLines yields a line of exactly 1 MiB', async () => {
  const line = 'x'.repeat(1024 * 1024)
  expect(await linesOf(arriving([Buffer.from(`${line}\n`), Buffer.from('y')]))).toEqual([
    [1, line],
    [2, 'y'],
  ])
})

it('readLines throws a usage error that names a missing file or a folder', async () => {
  const file = join(folder.path, 'none')
  const named = (name: string) => expect.objectContaining({ exit: 2, message: expect.stringContaining(name) })
  await expect(linesOf(arriving([]), file)).rejects.toEqual(named(file))
  await expect(readText(arriving([]), folder.path)).rejects.toEqual(named(folder.path))
})

it('readText throws at 1 MiB without reading the rest', async () => {
  function* endless() {
    for (;;) yield Buffer.alloc(65_536, 'x')
  }
  await expect(readText(arriving(endless()), '-')).rejects.toEqual(expect.objectContaining({ exit: 5 }))
})

it('readText joins a character that is split between chunks', async () => {
  const bytes = Buffer.from('{"a":"👍同"}')
  expect(await readText(arriving([...bytes].map(byte => Uint8Array.of(byte))), '-')).toBe('{"a":"👍同"}')
})

it.each([
  ['overlong', [0xc0, 0xaf]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
  ['cut short', [0xe5, 0x90]],
  ['Latin-1', [0x7a, 0x6f, 0xeb]],
  ['UTF-16', [0xff, 0xfe, 0x61, 0x00]],
])('decode throws for bytes that are not UTF-8 (%s), and never yields U+FFFD', (_, bytes) => {
  expect(() => decode(Uint8Array.from(bytes), 'line 7')).toThrow('line 7 is not valid UTF-8')
})
