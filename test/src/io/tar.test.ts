import { createTar } from 'nanotar'
import { describe, expect, it } from 'vitest'
import { readTar } from '../../../src/io/tar.ts'

const text = (content: string) => new TextEncoder().encode(content)
const archive = (...names: string[]) => Buffer.from(createTar(names.map(name => ({ name, data: text(`of ${name}`) }))))

/** Changes the first header, and its sum with it. */
function changed(change: (header: Buffer) => unknown, bytes = archive('case/a')): Buffer {
  change(bytes)
  bytes.fill(' ', 148, 156)
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8)}\0`, 148)
  return bytes
}

describe('readTar', () => {
  it('returns files, but not folders, by name', () => {
    const folder = { name: './case/' }
    const files = ['./case/a', './case/keys/b'].map(name => ({ name, data: text(name) }))
    const read = readTar(Buffer.from(createTar([folder, ...files, { name: 'case/empty', data: text('') }])))
    expect([...read].map(([name, bytes]) => [name, String(bytes)])).toEqual([
      ['case/a', './case/a'],
      ['case/keys/b', './case/keys/b'],
      ['case/empty', ''],
    ])
    expect(readTar(Buffer.of())).toEqual(new Map())
  })

  it.each<[what: string, bytes: () => Buffer, problem: RegExp]>([
    ['a name that leads out of it', () => archive('case/../../a'), /leads out of it/],
    ['a name that leads up and in again', () => archive('../case/a'), /leads out of it/],
    ['an absolute name', () => archive('/case/a'), /leads out of it/],
    ['a name of Windows', () => archive('case\\a'), /leads out of it/],
    ['a file twice', () => archive('case/a', './case/a'), /twice/],
    ['a link', () => changed(header => header.write('2', 156)), /in different ways/],
    ['an extended header', () => changed(header => header.write('x', 156)), /in different ways/],
    ['a long name of GNU', () => changed(header => header.write('L', 156)), /in different ways/],
    ['a prefix before its name', () => changed(header => header.write('other', 345)), /in different ways/],
    ['a folder with bytes', () => changed(header => header.write('5', 156)), /in different ways/],
    ['a size in base 256', () => changed(header => header.writeUInt8(128, 124)), /in different ways/],
    ['no size', () => changed(header => header.fill(0, 124, 136)), /in different ways/],
    ['a size beyond its end', () => changed(header => header.write('77777777777', 124)), /cut off/],
    [
      'a changed header',
      () => Buffer.from(archive('case/a').toString('latin1').replace('case/a', 'case/b'), 'latin1'),
      /was changed/,
    ],
    ['a half header', () => archive('case/a', 'case/b').subarray(0, 1300), /cut off/],
    [
      'a second archive after its end',
      () => Buffer.concat([archive('case/a'), archive('case/b')]),
      /has data after its end/,
    ],
    ['other bytes', () => Buffer.from('not an archive'.repeat(100)), /was changed/],
  ])('rejects %s', (_, bytes, problem) => {
    expect(() => readTar(bytes())).toThrow(problem)
  })
})
