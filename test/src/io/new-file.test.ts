import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isTaken, openDraft, openOutFile, partOf } from '../../../src/io/new-file.ts'
import { useFolder } from '../../support/cli.ts'

const root = useFolder()
let folders = 0
const newFolder = () => {
  const folder = join(root.path, String(++folders))
  mkdirSync(folder)
  return folder
}

async function writeDraft(path: string, content: string): Promise<void> {
  const draft = await openDraft(partOf(path))
  try {
    await draft.file.writeFile(content)
    await draft.take(path)
  } finally {
    await draft.file.close()
    await draft.remove()
  }
}

describe('a draft', () => {
  it('has a temporary name until it is complete, is readable only by its owner, and can be written afterwards', async () => {
    const folder = newFolder()
    const draft = await openDraft(join(folder, 'a.part'))
    await draft.file.writeFile('one')
    expect(readdirSync(folder)).toEqual(['a.part'])
    await draft.take(join(folder, 'a'))
    await draft.file.writeFile(' two')
    await draft.file.close()
    expect(readdirSync(folder)).toEqual(['a'])
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('one two')
    expect(statSync(join(folder, 'a')).mode & 0o777).toBe(0o600)
  })

  it('never replaces an existing file; isTaken distinguishes this from other errors', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a'), 'mine')
    const taken = await writeDraft(join(folder, 'a'), 'new').catch((error: unknown) => error)
    expect(isTaken(taken)).toBe(true)
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('mine')
    expect(readdirSync(folder)).toEqual(['a'])
    const failed = await writeDraft(join(folder, 'none', 'a'), 'new').catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'ENOENT' })
    expect(isTaken(failed)).toBe(false)
  })
})

describe('openOutFile', () => {
  it('renames the file when it is committed, with text and bytes in order', async () => {
    const path = join(newFolder(), 'a')
    const file = await openOutFile(path)
    expect(file.isEmpty).toBe(true)
    await file.write('one ')
    await file.write(Buffer.from('two'))
    expect([file.isEmpty, readdirSync(join(path, '..')).length]).toEqual([false, 1])
    expect(readFileSync(file.part, 'utf8')).toBe('one two')
    await file.commit()
    expect([readdirSync(join(path, '..')), readFileSync(path, 'utf8')]).toEqual([['a'], 'one two'])
  })

  it('removes an abandoned file, or keeps it under its temporary name', async () => {
    for (const keep of [false, true]) {
      const path = join(newFolder(), 'a')
      const file = await openOutFile(path)
      await file.write('one')
      await file.abandon(keep)
      expect(readdirSync(join(path, '..'))).toEqual(keep ? [basename(file.part)] : [])
    }
  })

  it('throws a usage error for an existing path and for standard output, and an I/O error in a missing folder', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a'), '')
    for (const path of [join(folder, 'a'), '', '-'])
      await expect(openOutFile(path)).rejects.toMatchObject({ code: 'usage', exit: 2 })
    await expect(openOutFile(join(folder, 'none', 'a'))).rejects.toMatchObject({ code: 'io', exit: 1 })
  })
})
