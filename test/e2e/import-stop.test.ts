import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { commandLine, start, startProgram, useFolder } from '../support/cli.ts'
import { countsOf, linesOf, siteId, useImportInstance } from './import-instance.ts'
import { useTinyDisk } from './tiny-disk.ts'

const records = useImportInstance()
const folder = useFolder()
const labels = Array.from({ length: 300 }, (_, index) => `line-${index + 1}`)
const once = countsOf(labels)
const file = () => join(folder.path, 'records.ndjson')
const state = () => join(folder.path, 'state')

const env = (more: Record<string, string> = {}) => ({
  HOME: folder.path,
  CONSENTCTL_BASE_URL: records.url,
  CONSENTCTL_API_KEY: 'sk-x',
  CONSENTCTL_STATE_DIR: state(),
  ...more,
})

const create = ['create', '-q', '--site', siteId]

beforeEach(() => {
  records.made.clear()
  Object.assign(records, { wait: 0, loss: 0, honours: true, refuses: false })
  rmSync(state(), { recursive: true, force: true })
  writeFileSync(file(), linesOf(labels))
})

async function untilMade(count: number): Promise<void> {
  while (records.made.size < count) await delay(2)
}

describe('create --file', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'at %s finishes the requests in flight and prints the resume command, which creates the rest',
    async (signal, code) => {
      records.wait = 20
      const { child, ended } = start([...create, '--file', file()], env())
      await untilMade(40)
      child.kill(signal)
      const stopped = await ended
      expect(stopped.code).toBe(code)
      expect(stopped.stdout.split('\n').filter(Boolean).sort()).toEqual(
        [...records.made.keys()].map(label => `id-${label}`).sort(),
      )
      const command = /to resume: consentctl (create --resume .*)/.exec(stopped.stderr)?.[1] ?? ''
      records.wait = 0
      const resumed = await start(command.split(' '), env()).ended
      expect(resumed).toMatchObject({ code: 0, stdout: labels.map(label => `id-${label}\n`).join('') })
      expect(records.made).toEqual(once)
    },
  )

  it('at the second SIGINT, exits immediately and loses nothing', async () => {
    records.wait = 3000
    const { child, ended, stderr } = start([...create, '--file', file()], env())
    while (readdirJobs().length === 0) await delay(5)
    await delay(200)
    child.kill('SIGINT')
    while (!stderr().includes('to resume')) await delay(5)
    const at = Date.now()
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ signal: 'SIGINT' })
    expect(Date.now() - at).toBeLessThan(1500)
    records.wait = 0
    expect(await start(['create', '-q', '--resume', 'last'], env()).ended).toMatchObject({ code: 0 })
    expect(records.made).toEqual(once)
  })

  it('when it is interrupted while reading stdin, finishes the requests in flight and says that the run cannot be resumed', async () => {
    records.wait = 30
    const { child, ended } = start([...create, '--file', '-'], env())
    child.stdin.write(linesOf(labels)) // without an end: the command waits for more
    await untilMade(40)
    child.kill('SIGINT')
    const { code, stdout, stderr } = await ended
    expect(code).toBe(130)
    expect(stdout.trimEnd().split('\n').sort()).toEqual([...records.made.keys()].map(label => `id-${label}`).sort())
    expect(stderr).toMatch(/^interrupted: finishing the requests in flight; this cannot be resumed$/m)
  })

  it('when the reader of its results exits, creates every record', async () => {
    records.wait = 2
    const { child, ended } = start([...create, '--file', file()], env())
    await untilMade(20)
    child.stdout?.destroy()
    expect(await ended).toMatchObject({ code: 0, stderr: '' })
    expect(records.made).toEqual(once)
  })

  it('when stdout is on a full disk, exits with an error and can be resumed', async () => {
    const command = ['create', '--site', siteId, '--file', file(), '-o', 'ndjson']
    const shell = ['-c', '"$@" >/dev/full', 'sh', ...commandLine(command)]
    const ran = await startProgram('sh', shell, env()).ended
    expect(ran.code).toBe(1)
    expect(ran.stderr).toContain('ENOSPC')
    expect(ran.stderr).toContain('to resume: consentctl create')
    expect(await start(['create', '-q', '--resume', 'last'], env()).ended).toMatchObject({ code: 0 })
    expect(records.made).toEqual(once)
  })
})

function readdirJobs(): string[] {
  try {
    return readdirSync(join(state(), 'jobs'))
  } catch {
    return []
  }
}

const tiny = useTinyDisk()

describe.skipIf(!tiny)('create --file on a full disk', () => {
  const { place, filler, leave } = tiny ?? { place: '', filler: '', leave: () => {} }
  beforeEach(() => rmSync(filler, { force: true }))

  it('when its job cannot be written, stops, reports what was created, and creates nothing twice', async () => {
    // More than may be in flight: the job must record results of some before it sends the last, which takes over 4 KiB.
    const many = Array.from({ length: 6000 }, (_, index) => `line-${index + 1}`)
    writeFileSync(file(), linesOf(many))
    leave(0)
    const small = env({ CONSENTCTL_STATE_DIR: join(place, 'state') })
    const ran = await start([...create, '--file', file()], small).ended
    expect(ran.code).toBe(8)
    expect(ran.stderr).toContain('cannot write the job: ENOSPC')
    expect(ran.stdout.split('\n').filter(Boolean).sort()).toEqual(
      [...records.made.keys()].map(label => `id-${label}`).sort(),
    )
    expect(records.made.size).toBeLessThan(many.length)
    rmSync(filler)
    expect(await start(['create', '-q', '--resume', 'last'], small).ended).toMatchObject({ code: 0 })
    expect(records.made).toEqual(countsOf(many))
  })

  it('when --failed-out cannot be written, stops and can be resumed', async () => {
    leave(0)
    records.refuses = true
    const failedOut = join(place, 'failed')
    const ran = await start([...create, '--file', file(), '--failed-out', failedOut], env()).ended
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toContain('failed cannot be written: ENOSPC')
    expect(readdirSync(place).filter(name => name.startsWith('failed'))).toEqual([])
    records.refuses = false
    expect(await start(['create', '-q', '--resume', 'last'], env()).ended).toMatchObject({ code: 0 })
    expect(records.made).toEqual(once)
  })
})
