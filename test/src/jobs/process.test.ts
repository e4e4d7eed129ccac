import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { identify, isRunning, statusFromPs } from '../../../src/jobs/process.ts'

const hasPs = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(process.pid)]).status === 0

describe('isRunning', () => {
  it('returns true for a running process, and false for a later one with the same pid', async () => {
    const identity = await identify(process.pid)
    expect(await isRunning(identity, process)).toBe(true)
    if (process.platform === 'win32') return
    expect(identity.started).not.toBe(null)
    expect(await isRunning({ ...identity, started: 'another time' }, process)).toBe(false)
  })

  it('returns false for an ended process', async () => {
    const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'])
    const identity = await identify(child.pid ?? 0)
    child.stdin.end()
    await once(child, 'exit')
    expect(await isRunning(identity, process)).toBe(false)
  })

  it.skipIf(process.platform !== 'linux')('returns false for a zombie', async () => {
    // The shell starts a process and becomes one that never waits for it.
    const parent = spawn('sh', ['-c', 'sleep 0.05 & echo $!; exec sleep 60'])
    try {
      const [printed] = (await once(parent.stdout, 'data')) as [Buffer]
      const identity = await identify(Number(String(printed)))
      await expect.poll(() => statusFromPs(identity.pid), { timeout: 5000 }).toMatchObject({ isZombie: true })
      expect(() => process.kill(identity.pid, 0)).not.toThrow()
      expect(await isRunning(identity, process)).toBe(false)
    } finally {
      parent.kill('SIGKILL')
    }
  })
})

describe.skipIf(!hasPs)('statusFromPs', () => {
  it('is the same each time, and differs between processes', async () => {
    const [first, second] = [await statusFromPs(process.pid), await statusFromPs(process.pid)]
    expect(first).toMatchObject({ started: expect.stringMatching(/\d\d:\d\d:\d\d \d{4}$/), isZombie: false })
    expect(second).toEqual(first)
    expect((await statusFromPs(1))?.started).not.toBe(first?.started)
  })

  it('rejects for an ended process', async () => {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    await expect(statusFromPs(child.pid ?? 0)).rejects.toThrow()
  })
})
