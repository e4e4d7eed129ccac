import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { build } from 'esbuild'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { HeldJob, JobKind, Jobs, Run } from '../../../src/jobs/jobs.ts'
import { identify } from '../../../src/jobs/process.ts'
import { isLongRun } from '../../e2e/campaign.ts'
import { useFolder } from '../../support/cli.ts'
import { type Counted, countingJobs, type Header } from './counting.ts'

const root = useFolder()
let folders = 0
const newFolder = () => join(root.path, String(++folders))

type CountingJobs = Jobs<Header, Counted>

/** Jobs that a test leaves as a killed process would are closed after it. */
const held: HeldJob<Header, Counted>[] = []
afterEach(() => Promise.all(held.splice(0).map(job => job.close(false))))

function openJobs(...args: Parameters<typeof countingJobs>): CountingJobs {
  const jobs = countingJobs(...args)
  const kept = async (job: Promise<HeldJob<Header, Counted>>) => {
    held.push(await job)
    return await job
  }
  return { ...jobs, create: (...given) => kept(jobs.create(...given)), resume: job => kept(jobs.resume(job)) }
}

function fresh() {
  const folder = newFolder()
  return { folder, jobs: openJobs(folder) }
}

const newJob = (jobs: CountingJobs) => jobs.create({ job: randomUUID(), note: 'hello' })

/** A job with these events that was closed unfinished. */
async function stoppedJob(jobs: CountingJobs, ...numbers: number[]): Promise<string> {
  const job = await newJob(jobs)
  await Promise.all(numbers.map(number => job.append(['n', number])))
  await job.close(false)
  return job.header.job
}

const pathOf = (folder: string, job: string, run = 1) => join(folder, `${job}.job${run > 1 ? `.${run}` : ''}`)

const makeOld = (path: string) => utimesSync(path, 1, 1)

async function numbersIn(runs: readonly Run<Counted>[] | Promise<readonly Run<Counted>[]>): Promise<number[]> {
  const numbers: number[] = []
  for (const run of await runs) for await (const [, number] of run()) numbers.push(number)
  return numbers
}

/** The code of the error that a promise rejects with; null if it resolves. */
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    error => error.code as string,
  )

describe('the input of a job', () => {
  const input = (folder: string, content = 'rows') => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'rows'), content, { mode: 0o600 })
    return join(folder, 'rows')
  }

  it('is copied into the job, and removed with it', async () => {
    const { folder, jobs } = fresh()
    const job = randomUUID()
    const stopped = await jobs.create({ job, note: '' }, input(folder))
    await stopped.close(false)
    expect(readFileSync(jobs.inputOf(job), 'utf8')).toBe('rows')
    expect(readdirSync(folder).sort()).toEqual([`${job}.input`, `${job}.job`])
    await (await jobs.resume(job)).close(true)
    expect(readdirSync(folder)).toEqual([])
  })

  it('when another process removed it before the job was created, creates no job', async () => {
    const folder = newFolder()
    const job = randomUUID()
    const suspended = {
      get pid() {
        rmSync(join(folder, `${job}.input`), { force: true })
        return process.pid
      },
      kill: process.kill,
    }
    expect(await codeOf(countingJobs(folder, suspended).create({ job, note: '' }, input(folder)))).toBe('busy')
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('find', () => {
  it('returns a job by id, and with "last" the most recently written one', async () => {
    const { folder, jobs } = fresh()
    const first = await stoppedJob(jobs, 1, 2)
    const second = await stoppedJob(jobs, 3)
    makeOld(pathOf(folder, first))
    expect(await jobs.find(first)).toBe(first)
    expect(await jobs.find('last')).toBe(second)
    expect(await jobs.list()).toEqual([second, first])
  })

  it('with "last", skips jobs of another profile or instance, and names the newest if there are no others', async () => {
    const folder = newFolder()
    const here = await stoppedJob(openJobs(folder), 1)
    const there = await stoppedJob(openJobs(folder), 2)
    makeOld(pathOf(folder, here))
    const commandOf = ({ job }: Header) => `count on with ${job}`
    const jobs = openJobs(folder, process, header => (header.job === here ? null : commandOf(header)))
    expect(await jobs.find('last')).toBe(here)
    expect(await jobs.find(there)).toBe(there)
    const nowhere = openJobs(folder, process, commandOf)
    const hint = expect.stringContaining(commandOf({ job: there, note: '' }))
    await expect(nowhere.find('last')).rejects.toMatchObject({ exit: 2, hint })
  })

  it('with "last", returns a damaged job, which may belong to any profile', async () => {
    const folder = newFolder()
    const job = await stoppedJob(openJobs(folder), 1)
    writeFileSync(pathOf(folder, job), '')
    const jobs = openJobs(folder, process, () => 'count elsewhere')
    expect(await jobs.find('last')).toBe(job)
  })

  it('rejects an unknown job, a path, and a job of another kind with a usage error', async () => {
    const folder = newFolder()
    const job = await stoppedJob(openJobs(join(folder, 'jobs')), 1)
    const others = openJobs(join(folder, 'erasures'))
    for (const wanted of ['last', job, `../jobs/${job}`])
      await expect(others.find(wanted)).rejects.toMatchObject({
        exit: 2,
        message: expect.stringContaining('to resume'),
      })
  })

  it('ignores files that are not jobs', async () => {
    const { folder, jobs } = fresh()
    const job = await stoppedJob(jobs, 1)
    for (const name of [`${job}.job.part`, `${job}.x`, 'notes', '.job']) writeFileSync(join(folder, name), '')
    expect(await jobs.find('last')).toBe(job)
    expect(await jobs.list()).toEqual([job])
  })
})

describe('a resumed job', () => {
  it('has the entries of all earlier runs, and writes its own file', async () => {
    const { folder, jobs } = fresh()
    const id = await stoppedJob(jobs, 1, 2)
    const second = await jobs.resume(id)
    expect(await numbersIn(second.earlierRuns)).toEqual([1, 2])
    await second.append(['n', 3])
    expect(await numbersIn(second.earlierRuns)).toEqual([1, 2])
    await second.close(false)
    const third = await jobs.resume(id)
    expect([third.earlierRuns.length, third.header.note]).toEqual([2, 'hello'])
    expect(await numbersIn(third.earlierRuns)).toEqual([1, 2, 3])
    expect(await numbersIn(jobs.runs(id))).toEqual([1, 2, 3])
    expect(readdirSync(folder).sort()).toEqual([`${id}.job`, `${id}.job.2`, `${id}.job.3`])
  })

  it('continues after the tenth run', async () => {
    const jobs = openJobs(newFolder())
    const id = await stoppedJob(jobs, 1)
    for (let number = 2; number <= 12; number += 1) {
      const job = await jobs.resume(id)
      await job.append(['n', number])
      await job.close(false)
    }
    expect(await numbersIn(jobs.runs(id))).toEqual(Array.from({ length: 12 }, (_, index) => index + 1))
  })
})

describe('the file of a job', () => {
  it('is readable only by its owner', async () => {
    const folder = newFolder()
    const job = await stoppedJob(openJobs(folder), 1)
    const modes = [folder, pathOf(folder, job)].map(path => statSync(path).mode & 0o777)
    expect(modes).toEqual([0o700, 0o600])
  })

  it('is read up to the incomplete last line when it is truncated at any byte', async () => {
    const { folder, jobs } = fresh()
    const id = await stoppedJob(jobs, 1, 2)
    const path = pathOf(folder, id)
    const [head = '', ...lines] = readFileSync(path, 'utf8').split('\n')
    const whole = `${head}\n[["n",1]]\n[["n",2]]\n`
    expect(lines).toContain('{"ended":true}')
    for (let length = head.length + 11; length <= whole.length; length += 1) {
      const expected = length < whole.length - 1 ? [1] : [1, 2]
      writeFileSync(path, whole.slice(0, length))
      rmSync(pathOf(folder, id, 2), { force: true })
      expect(await numbersIn(jobs.runs(id)), `byte ${length}`).toEqual(expected)
      const next = await jobs.resume(id)
      await next.append(['n', 3])
      await next.close(false)
      expect(await numbersIn(jobs.runs(id)), `resumed at byte ${length}`).toEqual([...expected, 3])
    }
  })

  it.each([
    ['a few characters', '[["n"'],
    ['blocks that were never written', '\0'.repeat(4096)],
    ['a line in whose middle nothing was written', '[["n",\0\0\0\0]]\n'],
  ])('is read up to that point when it ends with %s, even after a later run', async (_, garbage) => {
    const { folder, jobs } = fresh()
    const id = await stoppedJob(jobs, 1)
    for (const run of [1, 2]) {
      appendFileSync(pathOf(folder, id, run), garbage)
      const job = await jobs.resume(id)
      await job.append(['n', run + 1])
      await job.close(false)
    }
    expect(await numbersIn(jobs.runs(id))).toEqual([1, 2, 3])
  })

  it('counts as damaged when a line before the last cannot be read', async () => {
    const { folder, jobs } = fresh()
    const id = await stoppedJob(jobs, 1, 2)
    await (await jobs.resume(id)).close(false)
    const path = pathOf(folder, id)
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace('[["n",1]', '[["n",1'))
    await expect(numbersIn(jobs.runs(id))).rejects.toMatchObject({
      code: 'io',
      exit: 1,
      message: expect.stringContaining('is damaged at line 2'),
      hint: 'count again',
    })
  })

  it('rejects an entry that would be too long to read, and accepts others afterwards', async () => {
    const { jobs } = fresh()
    const job = await newJob(jobs)
    const long = ['n', 'x'.repeat(1024 * 1024)] as unknown as Counted
    await expect(job.append(long)).rejects.toMatchObject({ code: 'invalid_data' })
    const almost = Array.from({ length: 5 }, () => ['n', 'ü'.repeat(300_000)] as unknown as Counted)
    await job.append(...almost, ['n', 1])
    expect((await numbersIn(jobs.runs(job.header.job))).at(-1)).toBe(1)
  })

  it.each(['', 'hello\n', '{"owner":{},"header":{"job":"x","nota":""}}\n'])(
    'counts as damaged at line 1 when it begins with %j',
    async content => {
      const { folder, jobs } = fresh()
      const id = await stoppedJob(jobs, 1)
      writeFileSync(pathOf(folder, id), content)
      await expect(jobs.readHeader(id)).rejects.toThrow('is damaged at line 1')
      await expect(jobs.resume(id)).rejects.toThrow('is damaged at line 1')
    },
  )

  it('when it cannot be created, fails with a hint', async () => {
    const folder = newFolder()
    writeFileSync(folder, '')
    const hint = 'count elsewhere'
    await expect(newJob(openJobs(folder))).rejects.toMatchObject({ code: 'io', exit: 1, hint })
  })

  it('is removed when it belongs to no job and is over a minute old', async () => {
    const { folder, jobs } = fresh()
    mkdirSync(folder, { recursive: true })
    const left = [join(folder, 'a.job.1.part'), jobs.inputOf(randomUUID()), pathOf(folder, randomUUID(), 2)]
    for (const path of left) writeFileSync(path, 'a person')
    await newJob(jobs)
    expect(left.map(path => existsSync(path))).toEqual([true, true, true])
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 61_000)
    await jobs.list()
    vi.restoreAllMocks()
    expect(left.map(path => existsSync(path))).toEqual([false, false, false])
    expect(await jobs.list()).toHaveLength(1)
  })
})

describe('append', () => {
  it('keeps the order of entries that are appended concurrently', async () => {
    const jobs = openJobs(newFolder())
    const job = await newJob(jobs)
    await Promise.all([job.append(['n', 1], ['n', 2]), job.append(['n', 3])])
    await job.append(['n', 4])
    expect(await numbersIn(jobs.runs(job.header.job))).toEqual([1, 2, 3, 4])
  })

  it('after a failure, fails on every call', async () => {
    const jobs = openJobs(newFolder())
    const job = await newJob(jobs)
    await job.close(false)
    for (const number of [1, 2]) await expect(job.append(['n', number])).rejects.toMatchObject({ code: 'io', exit: 1 })
    expect(await numbersIn(jobs.runs(job.header.job))).toEqual([])
  })

  it('resolves when the events are flushed to disk, not before', async () => {
    const folder = newFolder()
    const job = await newJob(openJobs(folder))
    const probe = await open(pathOf(folder, job.header.job))
    await probe.close()
    let release = () => {}
    const disk = new Promise<void>(resolve => {
      release = resolve
    })
    const flush = vi.spyOn(Object.getPrototypeOf(probe), 'datasync').mockImplementation(() => disk)
    let isDone = false
    try {
      const appended = job.append(['n', 1]).then(() => {
        isDone = true
      })
      await vi.waitFor(() => expect(flush).toHaveBeenCalledOnce())
      await delay(20)
      expect(isDone).toBe(false)
      release()
      await appended
    } finally {
      flush.mockRestore()
    }
  })

  it('when the file is gone, fails', async () => {
    const folder = newFolder()
    const job = await newJob(openJobs(folder))
    rmSync(pathOf(folder, job.header.job))
    await expect(job.append(['n', 1])).rejects.toMatchObject({ code: 'busy', exit: 7 })
  })
})

describe('when several processes resume one job', () => {
  it('only one succeeds, and the others do not damage it', async () => {
    for (let round = 0; round < 20; round += 1) {
      const jobs = openJobs(newFolder())
      const id = await stoppedJob(jobs, 1, 2)
      const takers = await Promise.allSettled(Array.from({ length: 8 }, () => jobs.resume(id)))
      const winners = takers.flatMap(taker => (taker.status === 'fulfilled' ? [taker.value] : []))
      const losers = takers.flatMap(taker => (taker.status === 'rejected' ? [taker.reason] : []))
      expect(winners).toHaveLength(1)
      expect(losers).toEqual(Array.from({ length: 7 }, () => expect.objectContaining({ code: 'busy', exit: 7 })))
      await winners[0]?.append(['n', 3])
      expect(await numbersIn(jobs.runs(id))).toEqual([1, 2, 3])
      await winners[0]?.close(false)
    }
  })

  it('one that starts after its end is rejected', async () => {
    const jobs = openJobs(newFolder())
    const id = await stoppedJob(jobs, 1)
    await (await jobs.resume(id)).close(true)
    await expect(jobs.resume(id)).rejects.toMatchObject({ code: 'busy' })
  })
})

describe('taking over a job from another process', () => {
  /** Another process than the one that is asked about; `code` is that of the error with which it cannot be signalled. */
  const otherThan = (pid: number, code: string | null): JobKind<Header>['host'] => ({
    pid: pid + 1,
    kill: () => {
      if (code !== null) throw Object.assign(new Error(code), { code })
    },
  })

  /** The outcome of resuming a job whose claim was changed to `owner`: null or the code of the error. */
  async function resumeHeldBy(owner: object, host = otherThan(process.pid, null), silentMs = 0) {
    const folder = newFolder()
    const job = await newJob(openJobs(folder))
    await job.append(['n', 1])
    const path = pathOf(folder, job.header.job)
    const [head = '', ...lines] = readFileSync(path, 'utf8').split('\n')
    const known = JSON.parse(head)
    writeFileSync(path, [JSON.stringify({ ...known, owner: { ...known.owner, ...owner } }), ...lines].join('\n'))
    const then = (Date.now() - silentMs) / 1000
    utimesSync(path, then, then)
    return await codeOf(openJobs(folder, host).resume(job.header.job))
  }

  it.each([
    ['runs', null, 'busy'],
    ['runs as another user', 'EPERM', 'busy'],
    ['has ended', 'ESRCH', null],
  ])('when the owner %s, takes over the job only if the owner has ended', async (_, code, expected) => {
    expect(await resumeHeldBy({}, otherThan(process.pid, code))).toBe(expected)
  })

  it('when the owner has ended and another process has its pid, takes over the job', async () => {
    const parent = await identify(process.ppid)
    expect(await resumeHeldBy(parent)).toBe('busy')
    expect(await resumeHeldBy({ ...parent, started: 'another time' })).toBe(null)
  })

  it('when the owner has the pid of this process, takes over the job unless this process holds it', async () => {
    expect(await resumeHeldBy({}, process)).toBe('busy')
    const folder = newFolder()
    const jobs = openJobs(folder, process)
    const job = await newJob(jobs)
    const [other, text] = [randomUUID(), readFileSync(pathOf(folder, job.header.job), 'utf8')]
    writeFileSync(pathOf(folder, other), text.replaceAll(job.header.job, other))
    expect(await codeOf(jobs.resume(other))).toBe(null)
  })

  it('when the owner is on another machine, takes over the job after ten minutes without a write', async () => {
    const owner = { host: 'another-machine', pid: process.pid, started: 'then' }
    expect(hostname()).not.toBe(owner.host)
    expect(await resumeHeldBy(owner, process)).toBe('busy')
    expect(await resumeHeldBy(owner, process, 599_000)).toBe('busy')
    expect(await resumeHeldBy(owner, process, 601_000)).toBe(null)
  })

  it('when the owner was considered dead and continues, its appends and checks fail', async () => {
    const { folder, jobs } = fresh()
    const first = await newJob(jobs)
    await first.append(['n', 1])
    await first.requireHeld()
    const gone = openJobs(folder, otherThan(process.pid, 'ESRCH'))
    const second = await gone.resume(first.header.job)
    await expect(first.requireHeld()).rejects.toMatchObject({ code: 'busy', exit: 7 })
    await expect(first.append(['n', 2])).rejects.toMatchObject({ code: 'busy' })
    await first.close(true)
    await second.requireHeld()
    expect((await numbersIn(second.earlierRuns))[0]).toBe(1)
    await second.append(['n', 3])
    expect((await numbersIn(jobs.runs(first.header.job))).at(-1)).toBe(3)
    await first.close(false)
    await second.requireHeld()
  })
})

describe('when a process is killed at any moment', () => {
  const script = () => join(root.path, 'counter.mjs')
  beforeAll(async () => {
    mkdirSync(root.path, { recursive: true })
    const entry = join(import.meta.dirname, 'counter.ts')
    await build({ entryPoints: [entry], outfile: script(), bundle: true, platform: 'node', format: 'esm' })
  })

  it('every acknowledged entry is on disk, and the next process continues after it', async () => {
    const { folder, jobs } = fresh()
    const job = randomUUID()
    let told = 0
    for (let kills = isLongRun ? 100 : 6; kills > 0; kills -= 1) {
      const child = spawn(process.execPath, [script(), folder, job], { stdio: ['ignore', 'pipe', 'inherit'] })
      const printed = text(child.stdout)
      const begun = once(child.stdout, 'readable') // at least the last process has appended an event
      await (kills === 1 ? begun : Promise.race([begun, delay(Math.random() * 400)]))
      await delay(Math.random() * 60)
      child.kill('SIGKILL')
      const last = (await printed).trimEnd().split('\n').map(Number).at(-1) ?? 0
      told = Math.max(told, last)
      const numbers = existsSync(pathOf(folder, job)) ? await numbersIn(jobs.runs(job)) : []
      expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1))
      expect(numbers.length).toBeGreaterThanOrEqual(told)
    }
    expect(told).toBeGreaterThan(0)
  })
})
