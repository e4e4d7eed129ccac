import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { lockFolder } from '../../../server/db/lock.ts'
import { isLongRun } from '../../e2e/campaign.ts'

const source = fileURLToPath(new URL('../../../server/db/lock.ts', import.meta.url))
const built = mkdtempSync(join(tmpdir(), 'consentctl-lock-'))
let folder: string
let processes: ChildProcess[] = []

beforeAll(() => {
  buildSync({
    entryPoints: [source],
    outfile: join(built, 'lock.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
  })
})
afterAll(() => rmSync(built, { recursive: true, force: true }))

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'consentctl-lock-'))
})
afterEach(async () => {
  await Promise.all(processes.map(kill))
  processes = []
  rmSync(folder, { recursive: true, force: true })
})

describe('lockFolder', () => {
  it('locks a folder for one caller, returns null to others, and can be locked again after its release', async () => {
    const release = await lockFolder(folder)
    expect(release).toBeTypeOf('function')
    expect([await lockFolder(folder), await lockFolder(folder)]).toEqual([null, null])
    await release?.()
    const again = await lockFolder(folder)
    expect(again).toBeTypeOf('function')
    await again?.()
    expect(readdirSync(folder).length).toBeLessThanOrEqual(1)
  })

  it('returns null while another process holds the lock, and locks once that process was killed', async () => {
    const holder = await take()
    expect(holder.word).toBe('taken')
    expect(await lockFolder(folder)).toBeNull()
    await kill(holder.process)
    expect(readdirSync(folder)).not.toEqual([])
    const release = await lockFolder(folder)
    expect(release).toBeTypeOf('function')
    expect((await take()).word).toBe('refused')
    await release?.()
    expect(readdirSync(folder).length).toBeLessThanOrEqual(1)
  })

  it('locks once the process that holds the lock exits', async () => {
    const holder = await take()
    holder.process.kill('SIGTERM')
    await once(holder.process, 'exit')
    const release = await lockFolder(folder)
    expect(release).toBeTypeOf('function')
    await release?.()
  })
})

describe('lockFolder › concurrent callers', () => {
  it.each([
    ['free', 20, async () => {}],
    ['left by a killed process', isLongRun ? 20 : 5, async () => kill((await take()).process)],
  ])('the lock is granted to exactly one of 20 callers when it is %s', async (_name, rounds, prepare) => {
    for (let round = 0; round < rounds; round += 1) {
      await prepare()
      const takers = await Promise.all(Array.from({ length: 20 }, () => lockFolder(folder)))
      const winners = takers.filter(release => release !== null)
      expect(winners).toHaveLength(1)
      expect(await lockFolder(folder)).toBeNull()
      await winners[0]?.()
      expect(readdirSync(folder).length).toBeLessThanOrEqual(1)
    }
  })

  it('the lock is granted to exactly one of several processes after a killed one', async () => {
    for (let round = 0; round < (isLongRun ? 20 : 3); round += 1) {
      await kill((await take()).process)
      const takers = await Promise.all(Array.from({ length: 6 }, take))
      expect(takers.map(({ word }) => word).sort()).toEqual([...Array(5).fill('refused'), 'taken'])
      await Promise.all(takers.map(taker => kill(taker.process)))
    }
  })
})

/** A process that asks for the folder and stays, and what it was told. */
async function take(): Promise<{ process: ChildProcess; word: string }> {
  const code = `import { lockFolder } from ${JSON.stringify(join(built, 'lock.mjs'))}
    const release = await lockFolder(${JSON.stringify(folder)})
    process.stdout.write(release ? 'taken' : 'refused')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  processes.push(child)
  const [word] = await once(child.stdout, 'data')
  return { process: child, word: String(word) }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
