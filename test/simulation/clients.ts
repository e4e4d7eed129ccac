// The clients of a world, each a process with the product's own client, and what each of them knows for certain.

import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/connect.ts'
import { isCallError } from '../../src/client/errors.ts'
import type { Connection } from '../../src/client/request.ts'
import { runLineJob } from '../../src/commands/consents/bulk/run.ts'
import type { Context } from '../../src/context.ts'
import { consents } from '../../src/contract/index.ts'
import { exitOf } from '../../src/errors/explain.ts'
import { type Host, interruptedError, openIo } from '../../src/io/io.ts'
import type { LineResult } from '../../src/views/consent.ts'
import { Machine, place, requireRunning } from './disk.ts'
import type { Row } from './model.ts'
import { storm } from './network.ts'
import { current, type Process } from './scheduler.ts'
import type { World } from './world.ts'

const baseUrl = 'http://127.0.0.1'

export function connection(world: World, interruption = new AbortController().signal): Connection {
  return {
    baseUrl,
    key: { value: world.key, source: 'the world' },
    userAgent: 'simulation',
    proxy: null,
    ca: null,
    timeout: current().random.pick([null, 3000, 20_000]),
    maxWait: current().random.pick([1, 60]),
    pause: async (seconds, signal) => void (await delay(seconds * 1000, undefined, { signal })),
    interruption,
    trace: null,
  }
}

/** Runs work in a process of its own. `done` resolves for this one when it is over; never if the process is killed. */
export function spawn(name: string, work: () => Promise<void>): { process: Process; done: Promise<void> } {
  const scheduler = current()
  const { process: parent } = scheduler
  const process = scheduler.spawn(name)
  const done = new Promise<void>((resolve, reject) => {
    const end = () => void scheduler.after(0, 'ends', resolve, parent)
    scheduler.after(0, 'begins', () => void work().then(end, reject), process)
  })
  return { process, done }
}

/** True if the call certainly did nothing. */
function certainlyFailed(error: unknown): boolean {
  if (!isCallError(error)) throw error
  return !error.maybeDone
}

/** The possible contents of a record, as its only writer knows them. A change whose answer was lost may come at any later time. */
interface Known {
  readonly id: string
  readonly subject: string
  /** Of `accepted`; null is deleted. */
  now: Set<boolean | null>
  readonly late: Set<boolean | null>
}

/** Creates, changes, reads and deletes records of its own. */
export class Writer {
  readonly #world: World
  readonly #name: string
  readonly #known: Known[] = []
  /** Subjects of creates without an answer, and of those that failed for certain. */
  readonly #unknown: string[] = []
  readonly #failed: string[] = []
  #api!: Client
  #count = 0

  constructor(world: World, name: string) {
    this.#world = world
    this.#name = name
  }

  run(): Promise<void> {
    const { random } = current()
    const operations = random.int(1, 2)
    const lanes = random.int(1, 2)
    return spawn(this.#name, async () => {
      this.#api = createClient(async () => connection(this.#world))
      const lane = async () => {
        for (let count = 0; count < operations; count += 1) {
          await current().sleep(random.latency(0.1, 3000))
          await this.#act()
        }
      }
      await Promise.all(Array.from({ length: lanes }, lane))
      await this.#api.close()
    }).done
  }

  async #act(): Promise<void> {
    const { random } = current()
    const free = this.#known.splice(random.int(0, this.#known.length), 1)[0]
    if (!free || random.chance(0.5)) {
      if (free) this.#known.push(free)
      return await random.pick([() => this.#create(true), () => this.#create(false), () => this.#createRows()])()
    }
    await random.pick([() => this.#read(free), () => this.#update(free), () => this.#remove(free)])()
    this.#known.push(free)
  }

  #draft(): { site_id: string; subject_id: string; accepted: boolean } {
    this.#count += 1
    return { site_id: this.#world.siteId, subject_id: `${this.#name} ${this.#count}`, accepted: true }
  }

  async #create(isKeyed: boolean): Promise<void> {
    const body = this.#draft()
    // Another object than the contract's gets no key.
    const endpoint = isKeyed ? consents.create : { ...consents.create }
    current().trace(`creates ${body.subject_id}`)
    try {
      this.#learn(body.subject_id, await this.#api.call(endpoint, { body } as never))
    } catch (error) {
      const list = certainlyFailed(error) ? this.#failed : this.#unknown
      list.push(body.subject_id)
    }
  }

  async #createRows(): Promise<void> {
    if (this.#world.climate.isForeign) return await this.#create(true)
    const drafts = Array.from({ length: current().random.int(1, 5) }, () => this.#draft())
    const rows = drafts.map(draft => ({ ...draft, idempotency_key: draft.subject_id }))
    try {
      const results = await this.#api.createRows(rows)
      for (const [index, { id, error }] of results.entries()) {
        const subject = drafts[index]?.subject_id ?? ''
        if (error === null) this.#know(id, subject)
        else (error.maybeDone ? this.#unknown : this.#failed).push(subject)
      }
    } catch (error) {
      const list = certainlyFailed(error) ? this.#failed : this.#unknown
      list.push(...drafts.map(draft => draft.subject_id))
    }
  }

  #learn(subject: string, record: unknown): void {
    const { id, subject_id, accepted } = record as Row
    if (subject_id !== subject || accepted !== true)
      current().fail(`${subject} was answered with the record of ${subject_id}`)
    this.#know(id, subject)
  }

  #know(id: string, subject: string): void {
    const stored = this.#world.model.consents.get(id)?.versions[0]?.row
    if (stored?.subject_id !== subject) current().fail(`${subject} was told the id of ${stored?.subject_id}`)
    this.#known.push({ id, subject, now: new Set([true]), late: new Set() })
  }

  async #read(known: Known): Promise<void> {
    const before = new Set([...known.now, ...known.late])
    try {
      const { accepted } = (await this.#api.consents.get({ params: { id: known.id } })) as Row
      if (!before.has(accepted)) current().fail(`${known.subject} was read as ${accepted}`)
    } catch (error) {
      if (isNotFound(error) && !before.has(null)) current().fail(`${known.subject} was not found`)
      if (!isCallError(error)) throw error
    }
  }

  async #update(known: Known): Promise<void> {
    const accepted = current().random.chance(0.5)
    await this.#change(known, accepted, onLost =>
      this.#api.call(consents.update, { params: { id: known.id }, body: { accepted }, onLost }),
    )
  }

  async #remove(known: Known): Promise<void> {
    await this.#change(known, null, onLost => this.#api.call(consents.remove, { params: { id: known.id }, onLost }))
  }

  /** A change may be sent again, so its last error says nothing about the attempts before. */
  async #change(known: Known, wanted: boolean | null, send: (onLost: () => void) => Promise<unknown>): Promise<void> {
    let isLost = false
    const onLost = () => {
      isLost = true
    }
    const mayBeDeleted = known.now.has(null) || known.late.has(null)
    try {
      const row = (await send(onLost)) as Row | null // null for a removal that was done before, and cannot be read any more
      if (wanted === null ? row?.deleted_at === null : row?.accepted !== wanted)
        current().fail(`${known.subject} was answered unchanged`)
      known.now = new Set([wanted])
    } catch (error) {
      if (isNotFound(error) && !mayBeDeleted) current().fail(`${known.subject} was not found`)
      if (!certainlyFailed(error)) isLost = true
    }
    if (isLost) known.late.add(wanted)
  }

  /** When everything is over. */
  check(): void {
    const { model } = this.#world
    for (const { id, subject, now, late } of this.#known) {
      const row = model.latest(id)
      const state = row && (row.deleted_at === null ? row.accepted : null)
      if (state === undefined) current().fail(`${subject} was acknowledged and is lost`)
      else if (!now.has(state) && !late.has(state)) current().fail(`${subject} is ${state}, which nobody was told`)
    }
    const subjects = this.#world.countBySubject()
    for (const subject of this.#failed) if (subjects.has(subject)) current().fail(`${subject} failed and was created`)
    for (const [subject, count] of subjects) if (count > 1) current().fail(`${subject} was created ${count} times`)
  }
}

function isNotFound(error: unknown): boolean {
  return (error as { status?: number }).status === 404
}

/** Lists everything while others write. */
export class Reader {
  readonly #world: World
  readonly #name: string

  constructor(world: World, name: string) {
    this.#world = world
    this.#name = name
  }

  run(): Promise<void> {
    return spawn(this.#name, async () => {
      const api = createClient(async () => connection(this.#world))
      await current().sleep(current().random.latency(0.1, 6000))
      await this.#walk(api)
      await api.close()
    }).done
  }

  async #walk(api: Client): Promise<void> {
    const { random } = current()
    const startedAt = current().now
    const listed: string[] = []
    const readAhead = random.chance(0.8)
    let isWhole = false
    try {
      const extent = { limit: Number.POSITIVE_INFINITY, maxRequests: Number.POSITIVE_INFINITY, readAhead }
      for await (const { records } of api.pages({ site_id: this.#world.siteId }, extent)) {
        for (const record of records) this.#compare(record as Row)
        listed.push(...records.map(({ id }) => id))
        await current().sleep(random.latency(0.1, 200))
      }
      isWhole = true
    } catch (error) {
      if (!isCallError(error)) throw error
    }
    for (const [index, id] of listed.entries())
      if (index > 0 && id >= (listed[index - 1] as string))
        current().fail(`a list is out of order, or has a record twice`)
    if (!isWhole) return
    const found = new Set(listed)
    for (const [id, { committedAt, versions }] of this.#world.model.consents)
      if (committedAt < startedAt && versions.at(-1)?.row.deleted_at === null && !found.has(id))
        current().fail(`a list lacks the record of ${versions[0]?.row.subject_id}`)
  }

  #compare(record: Row): void {
    const versions = this.#world.model.consents.get(record.id)?.versions ?? []
    const isSo = versions.some(({ row }) => row.accepted === record.accepted && row.updated_at === record.updated_at)
    if (!isSo) current().fail(`a list has what was never in ${record.id}`)
  }
}

type Fate = 'none' | 'kill' | 'power' | 'signal'

/** How a run of an import ended. */
interface Run {
  readonly exit: number | null
  readonly rows: readonly LineResult[]
  readonly error: Error | null
}

/** Imports a file, is killed, interrupted or loses its power, and resumes. */
export class Importer {
  readonly #world: World
  readonly #name: string
  readonly #machine: Machine
  readonly #lines: number
  readonly #subject: (line: number) => string
  /** Of every run: ids by line. */
  readonly #created = new Map<number, string>()
  #last: Run = { exit: null, rows: [], error: null }
  #stderr = ''

  constructor(world: World, name: string) {
    this.#world = world
    this.#name = name
    this.#machine = new Machine(name)
    this.#lines = current().random.int(1, 6)
    this.#subject = line => `${name} line ${line}`
    const lines = Array.from({ length: this.#lines }, (_, index) => `{"subject_id":"${this.#subject(index + 1)}"}\n`)
    this.#machine.write('/records.ndjson', Buffer.from(lines.join('')))
  }

  async run(): Promise<void> {
    const scheduler = current()
    const { random } = scheduler
    let resume = false
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await scheduler.sleep(random.latency(1, 4000), 'the user')
      const isLast = attempt === 3
      if (isLast) while (!storm.isOver) await scheduler.sleep(500, 'the user waits')
      const run = await this.#runOnce(resume, isLast)
      if (run.error && this.#isNothingToResume(run.error)) {
        if (this.#hasJob()) scheduler.fail('a job that was written cannot be found')
        if (this.#wasSent()) return
        resume = false
        continue
      }
      this.#last = run
      if (run.exit === 0) return
      resume = true
    }
  }

  /** Sometimes somebody else resumes the same job at the same time. Only one of them may work on it. */
  async #runOnce(resume: boolean, isLast: boolean): Promise<Run> {
    const { random } = current()
    const fate = isLast ? 'none' : random.pick<Fate>(['none', 'kill', 'power', 'power', 'signal'])
    const hasRival = resume && !isLast && fate !== 'power' && random.chance(0.2)
    const rival = hasRival ? this.#start(true, 'none') : null
    const [run, other] = await Promise.all([this.#start(resume, fate), rival])
    const isBusy = (run.error as { code?: string } | null)?.code === 'busy'
    return other && (isBusy || run.exit === null) ? other : run
  }

  #isNothingToResume({ message }: Error): boolean {
    return /^no job to resume/.test(message)
  }

  #hasJob(): boolean {
    const path = '/state/jobs'
    return (
      this.#machine.isFolder(path) && [...this.#machine.folder(path).names.keys()].some(name => name.endsWith('.job'))
    )
  }

  #wasSent(): boolean {
    return [...this.#world.countBySubject().keys()].some(subject => subject.startsWith(this.#name))
  }

  /** Runs the command once. Resolves also if its process is killed. */
  #start(resume: boolean, fate: Fate): Promise<Run> {
    const scheduler = current()
    const { random, process: world } = scheduler
    const rows: LineResult[] = []
    const interruption = new AbortController()
    this.#machine.faulty = !storm.isOver && random.chance(0.1) ? 0.02 : 0
    return new Promise((resolve, reject) => {
      const end = (run: Omit<Run, 'rows'>) => void scheduler.after(0, 'ends', () => resolve({ ...run, rows }), world)
      const { process, done } = spawn(this.#name, async () => {
        place(process.pid, this.#machine)
        scheduler.trace(`imports${resume ? ' again' : ''}`)
        try {
          const output = runLineJob(this.#context(interruption.signal), this.#options(resume))
          for await (const page of output.pages) {
            for (const row of page) this.#report(row)
            rows.push(...page)
            await scheduler.sleep(random.latency(0.01, 20))
          }
          end({ exit: output.exit?.() ?? 0, error: null })
        } catch (error) {
          end({ exit: exitOf(error), error: error as Error })
        }
        scheduler.trace('the import ends')
        this.#machine.processes.delete(process.pid)
      })
      done.catch(reject)
      if (fate === 'none') return
      const ms = random.latency(1, random.pick([100, 3000, 30_000]))
      scheduler.after(
        ms,
        fate,
        () => {
          if (!this.#machine.processes.has(process.pid)) return
          if (fate === 'signal')
            return void scheduler.after(0, 'signal', () => interruption.abort(interruptedError()), process)
          process.kill()
          this.#machine.processes.delete(process.pid)
          if (fate === 'power') this.#machine.cutPower()
          end({ exit: null, error: null })
        },
        world,
      )
    })
  }

  #report({ line, result, id }: LineResult): void {
    const scheduler = current()
    const subject = this.#subject(line)
    if (result === 'created') {
      const stored = this.#world.model.consents.get(id ?? '')?.versions[0]?.row.subject_id
      if (stored !== subject) scheduler.fail(`${subject} was reported with the id of ${stored}`)
      this.#created.set(line, id ?? '')
    }
    const isStored = this.#world.countBySubject().has(subject)
    if (result === 'failed' && isStored) scheduler.fail(`${subject} is reported as failed and is stored`)
  }

  #options(resume: boolean): Parameters<typeof runLineJob>[1] {
    const { random } = current()
    return {
      file: resume ? undefined : '/records.ndjson',
      resume: resume ? 'last' : undefined,
      site: this.#world.siteId,
      concurrency: random.int(1, 4),
      maxErrors: random.chance(0.2) ? random.int(1, 3) : undefined,
      ignoreQuota: true,
      batch: random.chance(0.7),
    }
  }

  /** The parts of a context that an import uses. */
  #context(interruption: AbortSignal): Context {
    const stdout = new PassThrough().resume()
    const host = {
      argv: ['node', 'consentctl', 'create'],
      env: {},
      platform: 'linux',
      version: 'v20',
      pid: current().process.pid,
      stdin: new PassThrough(),
      stdout,
      stderr: new PassThrough().on('data', text => this.#hear(String(text))),
      on: () => {},
      off: () => {},
      kill: (pid: number) => requireRunning(pid),
    } as unknown as Host
    const io = openIo(host, () => 'never')
    const warn = (line: string) => io.err.write(`${line}\n`)
    const address = { value: baseUrl, source: 'the world' }
    const settings = {
      stateFolder: '/state',
      profile: { value: 'default', source: 'default' },
      baseUrl: address,
      site: null,
      apiKey: { source: 'the world', atHand: this.#world.key, read: async () => address },
      keyIsFor: null,
      allowHttp: [],
    }
    const api = createClient(async () => connection(this.#world, interruption))
    return {
      host,
      io,
      globals: {},
      settings,
      api,
      interruption,
      say: warn,
      warn,
      useJsonMessages: () => {},
    } as unknown as Context
  }

  #hear(text: string): void {
    this.#stderr += text
    current().trace(`says ${text.trim()}`)
  }

  /** When everything is over. */
  check(): void {
    const scheduler = current()
    const { exit, rows, error } = this.#last
    const subjects = this.#world.countBySubject()
    for (const [line, id] of this.#created)
      if (!this.#world.model.consents.has(id)) scheduler.fail(`${this.#subject(line)} was reported and is lost`)
    if (error && !/busy|ENOSPC|working on the job|no space/.test(`${error.message}`))
      scheduler.fail(`an import failed: ${error.message}`)
    if (exit !== 0) return
    const done = new Set(rows.filter(({ result }) => result === 'created').map(({ line }) => line))
    for (let line = 1; line <= this.#lines; line += 1) {
      const subject = this.#subject(line)
      if (!done.has(line)) scheduler.fail(`${subject} was not reported although the import was done`)
      if (!subjects.has(subject)) scheduler.fail(`${subject} is missing although the import was done`)
    }
  }
}
