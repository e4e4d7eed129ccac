import { readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type GroupCommit, groupCommit } from '../../../src/jobs/group-commit.ts'
import { useFolder } from '../../support/cli.ts'

const folder = useFolder()
let file: FileHandle
let commit: GroupCommit
/** The content of the file at each flush that has ended. */
let flushed: string[]
/** Resolves when flushes may end. */
let disk: Promise<void>

beforeEach(async () => {
  const path = join(folder.path, 'log')
  file = await open(path, 'w')
  flushed = []
  disk = Promise.resolve()
  const flush = file.datasync.bind(file)
  vi.spyOn(file, 'datasync').mockImplementation(async () => {
    const content = readFileSync(path, 'utf8')
    await disk
    await flush()
    flushed.push(content)
  })
  commit = groupCommit(async text => {
    await file.appendFile(text)
    await file.datasync()
  })
})

afterEach(() => file.close())

describe('group commit › append', () => {
  it('resolves when the text is flushed to the disk, and not before', async () => {
    let release = () => {}
    disk = new Promise(resolve => {
      release = resolve
    })
    let isDone = false
    const appended = commit.append('a').then(() => {
      isDone = true
    })
    await vi.waitFor(() => expect(file.datasync).toHaveBeenCalledOnce())
    for (let turn = 0; turn < 10; turn += 1) await yieldToEventLoop()
    expect(isDone).toBe(false)
    release()
    await appended
    expect(flushed).toEqual(['a'])
  })

  it('when several texts are given in one turn, flushes them once, with what was to be appended soon', async () => {
    commit.appendSoon('a')
    await Promise.all([commit.append('b'), commit.append('c')])
    expect(flushed).toEqual(['abc'])
    await commit.append('d')
    expect(flushed).toEqual(['abc', 'abcd'])
  })

  it('when a flush fails, rejects this text and every later one', async () => {
    vi.mocked(file.datasync).mockRejectedValueOnce(new Error('EIO'))
    await expect(commit.append('a')).rejects.toThrow('EIO')
    await expect(commit.append('b')).rejects.toThrow('EIO')
  })
})
