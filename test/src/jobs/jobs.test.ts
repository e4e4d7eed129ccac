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
import type { HeldJob, JobKind, Jobs } from '../../../src/jobs/jobs.ts'
import { encode } from '../../../src/jobs/log.ts'
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
  return { ...jobs, create: header => kept(jobs.create(header)), resume: job => kept(jobs.resume(job)) }
}

const newJob = (jobs: CountingJobs) => jobs.create({ job: randomUUID(), note: 'hello' })

/** A job with these events that was closed unfinished. */
async function stoppedJob(jobs: CountingJobs, ...numbers: number[]): Promise<string> {
  const job = await newJob(jobs)
  await Promise.all(numbers.map(number => job.append(['n', number])))
  await job.close(false)
  return job.header.job
}

const pathOf = (folder: string, job: string) => join(folder, `${job}.job`)

const makeOld = (path: string) => utimesSync(path, 1, 1)

async function numbersIn(events: AsyncIterable<Counted>): Promise<number[]> {
  const numbers = []
  for await (const [, number] of events) numbers.push(number)
  return numbers
}

/** The code of the error that a promise rejects with; null if it resolves. */
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    error => error.code as string,
  )

describe('find', () => {
  it('returns a job by its id, and with "last" the one written last', async () => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const first = await stoppedJob(jobs, 1, 2)
    const second = await stoppedJob(jobs, 3)
    makeOld(pathOf(folder, first))
    expect(await jobs.find(first)).toBe(first)
    expect(await jobs.find('last')).toBe(second)
    expect(await jobs.list()).toEqual([second, first])
  })

  it('with "last" passes over jobs of another profile or instance, and names the last of them if there are only those', async () => {
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

  it('with "last" returns a damaged job, because it may be of any profile', async () => {
    const folder = newFolder()
    const job = await stoppedJob(openJobs(folder), 1)
    writeFileSync(pathOf(folder, job), '')
    const jobs = openJobs(folder, process, () => 'count elsewhere')
    expect(await jobs.find('last')).toBe(job)
  })

  it('is a usage error for an unknown job, also for a path and for a job of another kind', async () => {
    const folder = newFolder()
    const job = await stoppedJob(openJobs(join(folder, 'jobs')), 1)
    const others = openJobs(join(folder, 'erasures'))
    for (const wanted of ['last', job, `../jobs/${job}`])
      await expect(others.find(wanted)).rejects.toMatchObject({
        exit: 2,
        message: expect.stringContaining('to resume'),
      })
  })

  it('ignores files that are no jobs', async () => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const job = await stoppedJob(jobs, 1)
    for (const name of [`${job}.job.part`, `${job}.x`, 'notes', '.job']) writeFileSync(join(folder, name), '')
    expect(await jobs.find('last')).toBe(job)
    expect(await jobs.list()).toEqual([job])
  })
})

describe('a resumed job', () => {
  it('has the events of all earlier runs, and appends to the same file', async () => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const id = await stoppedJob(jobs, 1, 2)
    const second = await jobs.resume(id)
    expect(await numbersIn(second.earlierEvents())).toEqual([1, 2])
    await second.append(['n', 3])
    expect(await numbersIn(second.earlierEvents())).toEqual([1, 2])
    await second.close(false)
    const third = await jobs.resume(id)
    expect([third.isResumed, third.header.note]).toEqual([true, 'hello'])
    expect(await numbersIn(third.earlierEvents())).toEqual([1, 2, 3])
    expect(await numbersIn(jobs.events(id))).toEqual([1, 2, 3])
    expect(readdirSync(folder)).toEqual([`${id}.job`])
  })

  it('is removed when it is closed as done', async () => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const job = await jobs.resume(await stoppedJob(jobs, 1))
    await job.close(true)
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('the file of a job', () => {
  it('is readable by its owner alone', async () => {
    const folder = newFolder()
    const job = await stoppedJob(openJobs(folder), 1)
    const modes = [folder, pathOf(folder, job)].map(path => statSync(path).mode & 0o777)
    expect(modes).toEqual([0o700, 0o600])
  })

  it('is read up to a line that was being written, at whatever byte that ended', async () => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const id = await stoppedJob(jobs, 1, 2)
    const path = pathOf(folder, id)
    const closed = readFileSync(path)
    const whole = closed.subarray(0, closed.lastIndexOf('\n', closed.length - 2) + 1)
    const lastLine = whole.lastIndexOf('\n', whole.length - 2) + 1
    for (let length = lastLine; length < whole.length; length += 1) {
      const expected = length < whole.length - 1 ? [1] : [1, 2]
      writeFileSync(path, whole.subarray(0, length))
      expect(await numbersIn(jobs.events(id)), `byte ${length}`).toEqual(expected)
      const next = await jobs.resume(id)
      await next.append(['n', 3])
      await next.close(false)
      expect(await numbersIn(jobs.events(id)), `resumed at byte ${length}`).toEqual([...expected, 3])
    }
  })

  it.each([
    ['a few characters', '0000'],
    ['blocks that were never written', '\0'.repeat(4096)],
    ['a line that was never written', '\0\0\n\0'],
    ['a line with a wrong checksum', '01234567 ["n",9]\n'],
  ])('is read up to %s at its end, and a later run does not turn these into damage', async (_, garbage) => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const id = await stoppedJob(jobs, 1)
    for (const number of [2, 3]) {
      appendFileSync(pathOf(folder, id), garbage)
      const job = await jobs.resume(id)
      await job.append(['n', number])
      await job.close(false)
    }
    expect(await numbersIn(jobs.events(id))).toEqual([1, 2, 3])
  })

  it('is damaged when any byte before its last line changes, also in the lines before a later run', async () => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const id = await stoppedJob(jobs, 1, 2)
    const job = await jobs.resume(id)
    await job.append(['n', 3])
    await job.close(false)
    const path = pathOf(folder, id)
    const whole = readFileSync(path)
    const end = whole.lastIndexOf('\n', whole.length - 2)
    for (let at = 0; at < end; at += 1) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] ?? 0) ^ 1
      writeFileSync(path, changed)
      await expect(numbersIn(jobs.events(id)), `byte ${at}`).rejects.toMatchObject({
        code: 'io',
        exit: 1,
        message: expect.stringContaining('is damaged at line'),
        hint: 'count again',
      })
    }
  })

  it.each(['', 'hello\n', encode({ job: 'x', nota: '' })])(
    'is damaged at line 1 when it begins with %j',
    async content => {
      const folder = newFolder()
      const jobs = openJobs(folder)
      const id = await stoppedJob(jobs, 1)
      writeFileSync(pathOf(folder, id), content)
      await expect(jobs.readHeader(id)).rejects.toThrow('is damaged at line 1')
      await expect(jobs.resume(id)).rejects.toThrow('is damaged at line 1')
    },
  )

  it('that cannot be created is an error with a hint', async () => {
    const folder = newFolder()
    writeFileSync(folder, '')
    const hint = 'count elsewhere'
    await expect(newJob(openJobs(folder))).rejects.toMatchObject({ code: 'io', exit: 1, hint })
  })

  it('does not keep drafts of processes that were killed before they gave it its name', async () => {
    const folder = newFolder()
    mkdirSync(folder, { recursive: true })
    const [stale, fresh] = [join(folder, 'a.job.1.part'), join(folder, 'b.job.2.part')]
    for (const path of [stale, fresh]) writeFileSync(path, 'a person')
    makeOld(stale)
    await newJob(openJobs(folder))
    expect([stale, fresh].map(existsSync)).toEqual([false, true])
  })
})

describe('append', () => {
  it('appends delayed events first, and these within some milliseconds or when the job is closed', async () => {
    const jobs = openJobs(newFolder())
    const job = await newJob(jobs)
    const written = () => numbersIn(jobs.events(job.header.job))
    job.appendSoon(['n', 1])
    job.appendSoon(['n', 2])
    expect(await written()).toEqual([])
    await job.append(['n', 3], ['n', 4])
    expect(await written()).toEqual([1, 2, 3, 4])
    job.appendSoon(['n', 5])
    await expect.poll(written).toEqual([1, 2, 3, 4, 5])
    job.appendSoon(['n', 6])
    await job.close(false)
    expect(await written()).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('fails with every call after one that failed', async () => {
    const jobs = openJobs(newFolder())
    const job = await newJob(jobs)
    await job.close(false)
    for (const number of [1, 2]) await expect(job.append(['n', number])).rejects.toMatchObject({ code: 'io', exit: 1 })
    expect(await numbersIn(jobs.events(job.header.job))).toEqual([])
  })

  it('resolves when the events are flushed to the disk, and not before', async () => {
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

  it('fails when the file is gone', async () => {
    const folder = newFolder()
    const job = await newJob(openJobs(folder))
    rmSync(pathOf(folder, job.header.job))
    await expect(job.append(['n', 1])).rejects.toMatchObject({ code: 'busy', exit: 7 })
  })
})

describe('when several processes resume one job', () => {
  it('exactly one gets it, and the others leave no trace that damages it', async () => {
    for (let round = 0; round < 20; round += 1) {
      const jobs = openJobs(newFolder())
      const id = await stoppedJob(jobs, 1, 2)
      const takers = await Promise.allSettled(Array.from({ length: 8 }, () => jobs.resume(id)))
      const winners = takers.flatMap(taker => (taker.status === 'fulfilled' ? [taker.value] : []))
      const losers = takers.flatMap(taker => (taker.status === 'rejected' ? [taker.reason] : []))
      expect(winners).toHaveLength(1)
      expect(losers).toEqual(Array.from({ length: 7 }, () => expect.objectContaining({ code: 'busy', exit: 7 })))
      await winners[0]?.append(['n', 3])
      expect(await numbersIn(jobs.events(id))).toEqual([1, 2, 3])
      await winners[0]?.close(false)
    }
  })

  it('one that comes while another holds it is refused, and one after that gets it', async () => {
    const jobs = openJobs(newFolder())
    const id = await stoppedJob(jobs, 1)
    const first = await jobs.resume(id)
    await expect(jobs.resume(id)).rejects.toMatchObject({ code: 'busy' })
    await expect(jobs.readHeader(id)).rejects.toMatchObject({ code: 'busy' })
    await first.append(['n', 2])
    await first.close(false)
    expect(await numbersIn((await jobs.resume(id)).earlierEvents())).toEqual([1, 2])
  })

  it.each([
    ['whole', [0]],
    ['in two parts, with events between', [9, 0]],
    ['in many parts', [4, 30, 31, 80, 0]],
    ['in part, because it is killed', [40]],
  ])('and one writes its claim %s, no event of the one that holds the job is lost', async (_name, ends) => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const job = await newJob(jobs)
    await job.append(['n', 1])
    const claim = `\n${encode({ claim: randomUUID(), after: null, read: 1, ...(await identify(process.pid)) })}`
    let number = 1
    for (const [index, end] of ends.entries()) {
      const rest = end === 0 ? claim.length : end
      appendFileSync(pathOf(folder, job.header.job), claim.slice(ends[index - 1] ?? 0, rest))
      await job.append(['n', ++number], ['n', ++number])
    }
    const wanted = Array.from({ length: number }, (_, index) => index + 1)
    const distinct = async (events: AsyncIterable<Counted>) => [...new Set(await numbersIn(events))]
    expect(await distinct(jobs.events(job.header.job))).toEqual(wanted)
    await job.close(false)
    const next = await jobs.resume(job.header.job)
    await next.append(['n', number + 1])
    expect(await distinct(next.earlierEvents())).toEqual(wanted)
  })

  it('one that comes when it is done is refused', async () => {
    const jobs = openJobs(newFolder())
    const id = await stoppedJob(jobs, 1)
    await (await jobs.resume(id)).close(true)
    await expect(jobs.resume(id)).rejects.toMatchObject({ code: 'busy' })
  })
})

describe('when the process that holds a job', () => {
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
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    const claim = JSON.parse(lines[1]?.slice(9) ?? '')
    lines[1] = encode({ ...claim, ...owner }).trimEnd()
    writeFileSync(path, `${lines.join('\n')}\n`)
    const then = (Date.now() - silentMs) / 1000
    utimesSync(path, then, then)
    return await codeOf(openJobs(folder, host).resume(job.header.job))
  }

  it.each([
    ['runs', null, 'busy'],
    ['runs as another user', 'EPERM', 'busy'],
    ['has ended', 'ESRCH', null],
  ])('%s, the job is taken over only if it has ended', async (_, code, expected) => {
    expect(await resumeHeldBy({}, otherThan(process.pid, code))).toBe(expected)
  })

  it('has ended and another one has its pid, the job is taken over', async () => {
    const parent = await identify(process.ppid)
    expect(await resumeHeldBy(parent)).toBe('busy')
    expect(await resumeHeldBy({ ...parent, started: 'another time' })).toBe(null)
  })

  it('is of an earlier boot, the job is taken over', async () => {
    const expected = process.platform === 'linux' ? null : 'busy'
    expect(await resumeHeldBy({ boot: 'another boot' })).toBe(expected)
  })

  it('has the pid of the process that resumes, the job is taken over unless that holds it itself', async () => {
    expect(await resumeHeldBy({ claim: randomUUID() }, process)).toBe(null)
    expect(await resumeHeldBy({}, process)).toBe('busy')
  })

  it('is of another machine, the job is taken over when it has been silent for ten minutes', async () => {
    const owner = { host: 'another-machine', pid: process.pid, started: 'then' }
    expect(hostname()).not.toBe(owner.host)
    expect(await resumeHeldBy(owner, process)).toBe('busy')
    expect(await resumeHeldBy(owner, process, 599_000)).toBe('busy')
    expect(await resumeHeldBy(owner, process, 601_000)).toBe(null)
  })

  it('was taken for dead and wakes up, it appends nothing that it may act on', async () => {
    const folder = newFolder()
    const jobs = openJobs(folder)
    const first = await newJob(jobs)
    await first.append(['n', 1])
    await first.requireHeld()
    const path = pathOf(folder, first.header.job)
    writeFileSync(path, readFileSync(path, 'utf8')) // the same file, as the claim of another process finds it
    const gone = openJobs(folder, otherThan(process.pid, 'ESRCH'))
    const second = await gone.resume(first.header.job)
    await expect(first.requireHeld()).rejects.toMatchObject({ code: 'busy', exit: 7 })
    await expect(first.append(['n', 2])).rejects.toMatchObject({ code: 'busy' })
    await first.close(true)
    await second.requireHeld()
    expect(await numbersIn(second.earlierEvents())).toEqual([1])
    await second.append(['n', 3])
    expect((await numbersIn(jobs.events(first.header.job))).at(-1)).toBe(3)
  })
})

describe('Jobs › events that are appended together', () => {
  it('are one line', async () => {
    const folder = newFolder()
    const job = await openJobs(folder).create({ job: randomUUID(), note: 'hello' })
    await job.append(['n', 1], ['n', 2])
    expect(readFileSync(pathOf(folder, job.header.job), 'utf8').match(/^\w{8} \[.*$/gm)).toHaveLength(1)
  })
})

describe('when a process is killed at any moment', () => {
  const script = () => join(root.path, 'counter.mjs')
  beforeAll(async () => {
    mkdirSync(root.path, { recursive: true })
    const entry = join(import.meta.dirname, 'counter.ts')
    await build({ entryPoints: [entry], outfile: script(), bundle: true, platform: 'node', format: 'esm' })
  })

  it('every acknowledged event is on the disk, and the next process continues after it', async () => {
    const folder = newFolder()
    const jobs = openJobs(folder)
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
      const numbers = existsSync(pathOf(folder, job)) ? await numbersIn(jobs.events(job)) : []
      expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1))
      expect(numbers.length).toBeGreaterThanOrEqual(told)
    }
    expect(told).toBeGreaterThan(0)
  })
})
