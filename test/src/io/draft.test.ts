import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isTaken, openDraft, writeWhole } from '../../../src/io/draft.ts'
import { useFolder } from '../../support/cli.ts'

const root = useFolder()
let folders = 0
const fresh = () => {
  const folder = join(root.path, String(++folders))
  mkdirSync(folder)
  return folder
}

describe('a file that gets its name when it is whole', () => {
  it('has another until then, is for its owner alone, and can be written on after that', async () => {
    const folder = fresh()
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

  it('never takes one that something has, which can be told from other failures', async () => {
    const folder = fresh()
    writeFileSync(join(folder, 'a'), 'mine')
    const taken = await writeWhole(join(folder, 'a'), 'new').catch((error: unknown) => error)
    expect(isTaken(taken)).toBe(true)
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('mine')
    expect(readdirSync(folder)).toEqual(['a'])
    const failed = await writeWhole(join(folder, 'none', 'a'), 'new').catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'ENOENT' })
    expect(isTaken(failed)).toBe(false)
  })

  it('is one writer’s alone where many want the name at once', async () => {
    const path = join(fresh(), '1')
    const texts = Array.from({ length: 20 }, (_, index) => String(index).repeat(10_000))
    const outcomes = await Promise.allSettled(texts.map(text => writeWhole(path, text)))
    const won = texts.filter((_, index) => outcomes[index]?.status === 'fulfilled')
    expect(won).toEqual([readFileSync(path, 'utf8')])
    expect(readdirSync(join(path, '..'))).toEqual(['1'])
  })
})
