// Power cuts of a real file system: the data folder is on ext4 in a file behind a loop device, the process is stopped at a
// random instant, and a copy of the file is what the disk has. Killing a process shows none of this, because the system
// still has what was written and not flushed.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { connect } from '../../server/db/connect.ts'
import { binary, runBinary, useFolder } from '../support/cli.ts'
import { freePort } from '../support/postgres.ts'
import { memoryFolder } from '../support/run-folder.ts'
import { newAccount } from '../support/service.ts'
import { isLongRun, randomFrom } from './campaign.ts'
import { newLedger, type Target, write } from './ledger.ts'
import { findContradictions } from './ledger-check.ts'

const cuts = Number(process.env['CONSENTCTL_TEST_CUTS'] || (isLongRun ? 60 : 2))
/** Each image loses power this many times, first within the first start of its database. */
const cutsPerImage = Math.min(cuts, 4)
const clients = 8

/** Parameters of ext4 that change what of the unflushed a cut leaves, and in which order. */
const mountOptions = ['data=ordered', 'data=ordered,commit=1', 'data=writeback,commit=300,noauto_da_alloc']
const keepsNothingUnflushed = 'data=writeback,commit=300,noauto_da_alloc'

const missing = [
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...(existsSync('/dev/loop-control') ? [] : ['loop devices']),
  ...['/usr/sbin/mkfs.ext4', '/usr/bin/unshare'].filter(program => !existsSync(program)),
]
if (missing.length > 0)
  process.stderr.write(`\n*** SKIPPED: power cuts of ext4. Missing: ${missing.join(', ')}. ***\n\n`)

describe.skipIf(missing.length > 0)('power cut of a disk with the embedded database', () => {
  const folder = useFolder()
  let machine: Machine
  beforeEach(async () => {
    machine = await Machine.make(folder.path)
  })
  afterEach(() => machine.end())

  const images = Array.from({ length: Math.ceil(cuts / cutsPerImage) }, (_, image) => ({ image: image + 1 }))
  it.each(images)(
    `image $image › after each of ${cutsPerImage} cuts, opens again and has lost no acknowledged write`,
    { timeout: 300_000 },
    async () => {
      const ledger = newLedger()
      const random = randomFrom(ledger.seed)
      let target: Target | undefined
      let isOver = false
      let writing: Promise<void> | undefined
      const serve = async () => {
        const sql = await machine.served()
        target ??= await newTarget(machine, sql)
        writing ??= write(target, ledger, { clients }, () => isOver)
      }
      const acknowledged = () => {
        const steps = [...ledger.histories.values()].flatMap(own => own.steps)
        return steps.filter(({ outcome }) => outcome === 'ok').length
      }
      const moments: string[] = []
      for (let cut = 0; cut < cutsPerImage; cut += 1) {
        const options = mountOptions[Math.floor(random() * mountOptions.length)] as string
        // Every second cut may come while the database starts, the others come while it is written to.
        const isEarly = cut % 2 === 0
        const ms = Math.round(random() * (isEarly ? 4000 : isLongRun && random() < 0.5 ? 15_000 : 2000))
        machine.start(options)
        const serving = serve().catch(error => {
          if (machine.isOn) throw error
        })
        if (!isEarly) await serving
        await delay(ms)
        await machine.cutPower()
        await serving
        moments.push(`${ms} ms of ${isEarly ? 'starting' : 'serving'} (${options})`)
      }
      machine.start('data=ordered')
      await serve()
      await vi.waitFor(() => expect(acknowledged()).toBeGreaterThan(clients), 20_000)
      isOver = true
      await writing
      process.stderr.write(`power cuts after ${moments.join(', ')}; ${acknowledged()} writes acknowledged\n`)
      expect(await findContradictions(target as Target, machine.sql, ledger)).toEqual([])
      const { code, stdout, stderr } = await runBinary(['admin', 'verify', '--data-dir', machine.data])
      expect(code, stdout + stderr).toBe(0)
    },
  )

  it('control › without flushes, acknowledged writes are lost', async () => {
    const ledger = newLedger()
    const preload = join(memoryFolder(), 'no-flush.mjs') // the test's folder is hidden by the mount
    writeFileSync(
      preload,
      `import fs from 'node:fs'
       import { syncBuiltinESMExports } from 'node:module'
       fs.fsyncSync = fs.fdatasyncSync = () => {}
       syncBuiltinESMExports()`,
    )
    machine.start(keepsNothingUnflushed, { NODE_OPTIONS: `--import ${preload}` })
    const target = await newTarget(machine, await machine.served())
    let isOver = false
    const writing = write(target, ledger, { clients }, () => isOver)
    const created = () => ledger.requests.filter(({ status }) => status === 201)
    await vi.waitFor(() => expect(created().length).toBeGreaterThan(clients), 20_000)
    await machine.cutPower()
    isOver = true
    await writing
    machine.start('data=ordered')
    const sql = await machine.served()
    expect(await sql`select from consents`).toHaveLength(0)
  })
})

const disks = [
  { state: 'full', size: '16M', prepare: '', says: /cannot be opened: the disk is full\n.*make room on the disk/ },
  {
    state: 'read-only',
    size: '1M',
    prepare: 'mkdir -m 700 "$2/data" && mount -o remount,ro "$2" &&',
    says: /cannot be used: its file system is read-only\n.*--data-dir/,
  },
]
describe.skipIf(missing.length > 0).each(disks)('a disk that is $state', ({ size, prepare, says }) => {
  const folder = useFolder()

  it('exits at start with code 2 and an error that explains the cause and the fix', async () => {
    const script = `mount -t tmpfs -o "size=$1" none "$2" && ${prepare} exec "$3" "$4" serve --data-dir "$2/data"`
    const arguments_ = ['-m', 'sh', '-c', script, 'sh', size, folder.path, process.execPath, binary]
    const child = spawn('unshare', arguments_, { env: { PATH: process.env['PATH'], HOME: folder.path } })
    let stderr = ''
    child.stderr.on('data', chunk => {
      stderr += String(chunk)
    })
    expect(await once(child, 'close')).toEqual([2, null])
    expect(stderr).toMatch(says)
  })
})

async function newTarget({ url }: Machine, sql: Sql): Promise<Target> {
  const { accountId, key, siteId } = await newAccount(sql)
  return { url, accountId, key, siteId }
}

/**
 * A disk image and the server that runs on it. The file system is mounted in a mount namespace of the server's own, which
 * unmounts it and frees the loop device when the server ends, however it ends.
 */
class Machine {
  readonly url: string
  readonly #image: string
  readonly #mountPoint: string
  readonly #port: number
  #child: ChildProcess | undefined
  #output = ''
  #sql: Sql | undefined

  private constructor(folder: string, port: number) {
    this.#image = join(mkdtempSync(join(memoryFolder(), 'image-')), 'ext4')
    this.#mountPoint = folder
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
  }

  static async make(folder: string): Promise<Machine> {
    const machine = new Machine(folder, await freePort())
    execFileSync('truncate', ['-s', '320M', machine.#image])
    execFileSync('/usr/sbin/mkfs.ext4', ['-q', '-F', '-m', '0', machine.#image])
    return machine
  }

  /** The data folder, as other processes see it. */
  get data(): string {
    return `/proc/${this.#child?.pid}/root${this.#mountPoint}/data`
  }

  get sql(): Sql {
    return this.#sql as Sql
  }

  get isOn(): boolean {
    return this.#child !== undefined
  }

  start(options: string, env = {}): void {
    const script = 'mount -o "loop,$1" "$2" "$3" && shift 3 && exec "$@"'
    const serve = [
      process.execPath,
      binary,
      'serve',
      '--data-dir',
      `${this.#mountPoint}/data`,
      '--port',
      `${this.#port}`,
    ]
    const child = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', options, this.#image, this.#mountPoint, ...serve], {
      env: { PATH: process.env['PATH'], HOME: this.#mountPoint, LOG_LEVEL: 'silent', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#output = ''
    child.stderr.on('data', chunk => {
      this.#output += String(chunk)
    })
    this.#child = child
  }

  /** Resolves when the server serves; rejects when it ends before. */
  async served(): Promise<Sql> {
    let isServing = false
    for await (const line of createInterface({ input: this.#child?.stdout as NodeJS.ReadableStream })) {
      isServing = /serving on/.test(line)
      if (isServing) break
    }
    if (!isServing) throw new Error(`the server did not start: ${this.#output}`)
    this.#child?.stdout?.resume()
    this.#sql = connect({ target: { folder: this.data }, max: 1 })
    return this.#sql
  }

  /** Stops the server, takes what the disk has at that moment for the disk, and throws the server and its memory away. */
  async cutPower(): Promise<void> {
    const child = this.#child as ChildProcess
    child.kill('SIGSTOP')
    const threads = `/proc/${child.pid}/task`
    const isStopped = () =>
      readdirSync(threads).every(id => readFileSync(`${threads}/${id}/stat`, 'latin1').split(') ')[1]?.startsWith('T'))
    while (!isStopped()) await delay(1)
    const copy = `${this.#image}.copy`
    do execFileSync('cp', ['--sparse=always', this.#image, copy])
    while (!isSame(this.#image, copy)) // the system has written meanwhile: the copy is of no single moment
    renameSync(copy, this.#image) // what the system still writes goes to the file that had this name
    await this.end()
  }

  async end(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    child?.kill('SIGKILL')
    if (child?.exitCode === null && child.signalCode === null) await once(child, 'exit')
    await this.#sql?.end({ timeout: 0 })
    this.#sql = undefined
  }
}

function isSame(one: string, other: string): boolean {
  try {
    execFileSync('cmp', ['-s', one, other])
    return true
  } catch {
    return false
  }
}
