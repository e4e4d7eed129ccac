import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { build } from 'esbuild'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Journal, Journals } from '../../../src/jobs/journals.ts'
import { encode } from '../../../src/jobs/log.ts'
import { pathOf, type Run } from '../../../src/jobs/runs.ts'
import { isLong } from '../../e2e/rig.ts'
import { useFolder } from '../../support/cli.ts'
import { type Counted, type Header, counting as journalsOf } from './counting.ts'

const root = useFolder()
let folders = 0
const fresh = () => join(root.path, String(++folders))

type Counting = Journals<Header, Counted>

/** What the test at hand has begun: a run that it left as a killed process would is closed behind it. */
const begun: Journal<Header, Counted>[] = []
afterEach(() => Promise.all(begun.splice(0).map(journal => journal.close(false))))

function counting(...args: Parameters<typeof journalsOf>): Counting {
  const journals = journalsOf(...args)
  const kept = async (journal: Promise<Journal<Header, Counted>>) => {
    begun.push(await journal)
    return await journal
  }
  return {
    ...journals,
    create: header => kept(journals.create(header)),
    resume: (after, carried) => kept(journals.resume(after, carried)),
  }
}

/** A process that is another one, of a pid that lives or not. */
const other = (pid: number, code: string | null) => ({
  pid,
  kill: () => {
    if (code !== null) throw Object.assign(new Error(code), { code })
  },
})

/** A job that has counted so far, and was left. */
async function left(journals: Counting, ...numbers: number[]): Promise<Run> {
  const journal = await journals.create({ job: randomUUID(), pid: process.pid, note: 'hello' })
  await Promise.all(numbers.map(number => journal.write(['n', number])))
  await journal.close(false)
  return journal.run
}

async function numbersOf(events: AsyncIterable<Counted>): Promise<number[]> {
  const numbers = []
  for await (const [, number] of events) numbers.push(number)
  return numbers
}

describe('a job that was stopped', () => {
  it('is found by its id and as the last, with what it told', async () => {
    const journals = counting(fresh())
    const first = await left(journals, 1, 2)
    const second = await left(journals, 3)
    utimesSync(pathOf(first), 1, 1)
    expect(await journals.find(first.job)).toMatchObject(first)
    expect(await journals.find('last')).toMatchObject(second)
    expect(await journals.readIdle(first)).toMatchObject({ job: first.job, note: 'hello' })
    expect(await numbersOf(journals.since(first))).toEqual([1, 2])
    expect(await numbersOf(journals.before(first))).toEqual([])
  })

  it('is the last of those that are here; one that is elsewhere is found by its id, and told of where there is no other', async () => {
    const folder = fresh()
    const here = await left(counting(folder), 1)
    const there = await left(counting(folder), 2)
    utimesSync(pathOf(here), 1, 1)
    const commandOf = ({ job }: Header) => `count on with ${job}`
    const journals = counting(folder, process, header => (header.job === here.job ? null : commandOf(header)))
    expect(await journals.find('last')).toMatchObject(here)
    expect(await journals.find(there.job)).toMatchObject(there)
    const nowhere = counting(folder, process, commandOf)
    const hint = expect.stringContaining(commandOf({ ...there, pid: 1, note: '' }))
    await expect(nowhere.find('last')).rejects.toMatchObject({ exit: 2, hint })
    writeFileSync(pathOf(there), '')
    expect(await nowhere.find('last')).toMatchObject(there) // whose it is nobody can tell
  })

  it('goes on in a run of its own, which has all of the earlier ones and takes their place', async () => {
    const folder = fresh()
    const journals = counting(folder)
    const journal = await journals.resume(await left(journals, 1, 2))
    await journal.write(['n', 3])
    await journal.close(false)
    expect(readdirSync(folder)).toEqual([`${journal.run.job}.2`])
    const again = await journals.resume(await journals.find('last'))
    expect(await numbersOf(journals.before(again.run))).toEqual([1, 2, 3])
    await again.close(true)
    expect(readdirSync(folder)).toEqual([])
  })

  it('goes on with what it is given to carry on', async () => {
    const journals = counting(fresh())
    async function* sum(): AsyncGenerator<Counted> {
      yield ['n', 10]
    }
    const journal = await journals.resume(await left(journals, 1, 9), sum())
    await journal.write(['n', 11])
    await journal.close(false)
    expect(await numbersOf(journals.before(journal.run))).toEqual([10])
    expect(await numbersOf(journals.since(journal.run))).toEqual([11])
  })

  it('is none of another kind: those are in another folder', async () => {
    const folder = fresh()
    const { job } = await left(counting(join(folder, 'jobs')), 1)
    const erasures = counting(join(folder, 'erasures'))
    await expect(erasures.find('last')).rejects.toThrow('there is no job to go on with')
    await expect(erasures.find(job)).rejects.toMatchObject({ exit: 2 })
  })

  it('is not found by a path, nor by what is no journal', async () => {
    const folder = fresh()
    const { job } = await left(counting(folder), 1)
    for (const name of [`${job}.2.part`, `${job}.x`, 'notes', '.2']) writeFileSync(join(folder, name), '')
    expect(await counting(folder).find('last')).toMatchObject({ job, run: 1 })
    await expect(counting(folder).find(`../${job}`)).rejects.toMatchObject({ exit: 2 })
  })
})

describe('a journal', () => {
  it('is for its owner alone', async () => {
    const folder = fresh()
    const run = await left(counting(folder), 1)
    expect([statSync(folder).mode & 0o777, statSync(pathOf(run)).mode & 0o777]).toEqual([0o700, 0o600])
  })

  it('is read to where it was being written, at whatever byte that ended', async () => {
    const journals = counting(fresh())
    const run = await left(journals, 1, 2)
    const closed = readFileSync(pathOf(run))
    const whole = closed.subarray(0, closed.lastIndexOf('\n', closed.length - 2) + 1)
    const lastLine = whole.lastIndexOf('\n', whole.length - 2) + 1
    for (let length = lastLine; length < whole.length; length += 1) {
      writeFileSync(pathOf(run), whole.subarray(0, length))
      expect(await numbersOf(journals.since(run))).toEqual(length < whole.length - 1 ? [1] : [1, 2])
    }
    writeFileSync(pathOf(run), whole)
    appendFileSync(pathOf(run), Buffer.alloc(4096)) // blocks that were given to the file and never written
    expect(await numbersOf(journals.since(run))).toEqual([1, 2])
  })

  it('whose last run goes on after such an end has no damage in it', async () => {
    const journals = counting(fresh())
    const run = await left(journals, 1)
    appendFileSync(pathOf(run), '0000')
    const journal = await journals.resume(run)
    await journal.write(['n', 2])
    await journal.close(false)
    expect(await numbersOf(journals.before(journal.run))).toEqual([1])
    expect(await numbersOf(journals.since(journal.run))).toEqual([2])
  })

  it('that is changed in any byte of its middle is damaged, by the line', async () => {
    const journals = counting(fresh())
    const run = await left(journals, 1, 2, 3)
    const whole = readFileSync(pathOf(run))
    const second = whole.indexOf('\n') + 1 // the mark of the run
    const end = whole.lastIndexOf('\n', whole.length - 2)
    for (let at = second; at < end; at += 1) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] ?? 0) ^ 1
      writeFileSync(pathOf(run), changed)
      await expect(numbersOf(journals.since(run)), `byte ${at}`).rejects.toMatchObject({
        code: 'io',
        exit: 1,
        message: expect.stringContaining('is damaged at line'),
        hint: 'count again',
      })
    }
  })

  it('of another kind, or none, is no journal of this one', async () => {
    const journals = counting(fresh())
    const run = await left(journals, 1)
    for (const content of ['', 'hello\n', readFileSync(pathOf(run), 'utf8').replace('note', 'nota')]) {
      writeFileSync(pathOf(run), content)
      await expect(journals.readIdle(run)).rejects.toThrow('is damaged at line 1')
    }
  })

  it('that cannot be made is an error with a way out', async () => {
    const folder = fresh()
    writeFileSync(folder, '')
    const hint = 'count elsewhere'
    await expect(left(counting(folder), 1)).rejects.toMatchObject({ code: 'io', exit: 1, hint })
  })

  it('has the events that may wait with the next one, or soon, in their order', async () => {
    const journals = counting(fresh())
    const journal = await journals.create({ job: randomUUID(), pid: process.pid, note: '' })
    journal.hold(['n', 1])
    journal.hold(['n', 2])
    expect(await numbersOf(journals.since(journal.run))).toEqual([])
    await journal.write(['n', 3], ['n', 4])
    expect(await numbersOf(journals.since(journal.run))).toEqual([1, 2, 3, 4])
    journal.hold(['n', 5])
    await expect.poll(() => numbersOf(journals.since(journal.run))).toEqual([1, 2, 3, 4, 5])
    journal.hold(['n', 6])
    await journal.close(false)
    expect(await numbersOf(journals.since(journal.run))).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('has no more events once one could not be written', async () => {
    const journals = counting(fresh())
    const journal = await journals.create({ job: randomUUID(), pid: process.pid, note: '' })
    await journal.close(false)
    for (const number of [1, 2]) {
      await expect(journal.write(['n', number])).rejects.toMatchObject({ code: 'io', exit: 1 })
    }
    expect(await numbersOf(journals.since(journal.run))).toEqual([])
  })
})

describe('of those that go on with the same run', () => {
  it('exactly one gets it, and its journal is whole', async () => {
    for (let round = 0; round < 20; round += 1) {
      const folder = fresh()
      const run = await left(counting(folder), 1, 2)
      const takers = await Promise.allSettled(Array.from({ length: 8 }, () => counting(folder).resume(run)))
      const won = takers.flatMap(taker => (taker.status === 'fulfilled' ? [taker.value] : []))
      const lost = takers.flatMap(taker => (taker.status === 'rejected' ? [taker.reason] : []))
      expect(won).toHaveLength(1)
      expect(lost).toEqual(
        Array.from({ length: 7 }, () => expect.objectContaining({ code: 'busy', exit: 7 })),
      )
      expect(readdirSync(folder)).toEqual([`${run.job}.2`])
      expect(await numbersOf(counting(folder).before({ ...run, run: 2 }))).toEqual([1, 2])
      await won[0]?.close(true)
    }
  })

  it('one that comes after the next run was begun is refused', async () => {
    const journals = counting(fresh())
    const run = await left(journals, 1)
    const next = await journals.resume(run)
    await expect(journals.resume(run)).rejects.toMatchObject({ code: 'busy' })
    await next.close(false)
    await (await journals.resume(next.run)).close(false)
    await expect(journals.resume(run)).rejects.toMatchObject({ code: 'busy' })
    expect(await journals.find('last')).toMatchObject({ run: 3 })
  })

  it.each([
    ['lives', null, 'busy'],
    ['lives, and is somebody else’s', 'EPERM', 'busy'],
    ['is gone', 'ESRCH', null],
  ])('one is refused while the process that has it %s', async (_, code, refusal) => {
    const folder = fresh()
    const run = await left(counting(folder), 1)
    const outcome = await counting(folder, other(process.pid + 1, code))
      .resume(run)
      .then(
        journal => journal.close(false).then(() => null),
        error => error.code,
      )
    expect(outcome).toBe(refusal)
  })
})

describe('the process that has a job', () => {
  const elsewhere = { host: 'another-machine', started: 'then' }
  /** A job that another process was at work on when it was written last; `holder` is what it says of itself. */
  async function heldBy(holder: object | undefined, { isClosed = false, pid = process.pid + 1 } = {}) {
    const journals = counting(fresh(), other(process.pid, null))
    const journal = await journals.create({ job: randomUUID(), pid, note: '' })
    await journal.write(['n', 1])
    if (isClosed) await journal.close(false)
    const path = pathOf(journal.run)
    const [header = '', ...rest] = readFileSync(path, 'utf8').split('\n')
    writeFileSync(path, encode({ ...JSON.parse(header.slice(9)), holder }) + rest.join('\n'))
    return {
      path,
      resume: () =>
        journals.resume(journal.run).then(
          () => null,
          ({ code }) => code,
        ),
    }
  }

  it('is not another one that has its number by now', async () => {
    const { resume } = await heldBy({ host: hostname(), started: 'another boot' }, { pid: process.ppid })
    expect(await resume()).toBe(process.platform === 'linux' ? null : 'busy')
  })

  it('of an older journal is known by its number alone', async () => {
    expect(await (await heldBy(undefined)).resume()).toBe('busy')
    expect(await (await heldBy(undefined, { pid: process.pid })).resume()).toBe(null)
  })

  it('may be of another machine, though its number is one’s own, and is given up when it was silent', async () => {
    const { path, resume } = await heldBy(elsewhere, { pid: process.pid })
    expect(await resume()).toBe('busy')
    const then = Date.now() / 1000 - 601
    utimesSync(path, then, then)
    expect(await resume()).toBe(null)
  })

  it('is waited for no more when it has said that it ends, of another machine too', async () => {
    expect(await (await heldBy(elsewhere, { isClosed: true })).resume()).toBe(null)
  })

  it('does nothing more once another has gone on with the job', async () => {
    const folder = fresh()
    const journals = counting(folder)
    const first = await journals.create({ job: randomUUID(), pid: process.pid, note: '' })
    await first.write(['n', 1])
    await first.check()
    const second = await journals.resume(first.run)
    await expect(first.check()).rejects.toMatchObject({ code: 'busy', exit: 7 })
    await expect(first.write(['n', 2])).rejects.toMatchObject({ code: 'busy' })
    await first.close(false)
    await second.check()
    expect(await numbersOf(journals.before(second.run))).toEqual([1])
  })
})

describe('a process that is killed', () => {
  const script = () => join(root.path, 'counter.mjs')
  beforeAll(async () => {
    mkdirSync(root.path, { recursive: true })
    const entry = join(import.meta.dirname, 'counter.ts')
    await build({ entryPoints: [entry], outfile: script(), bundle: true, platform: 'node', format: 'esm' })
  })

  it('leaves all that it was told is on the disk, and the next goes on from there', async () => {
    const folder = fresh()
    const job = randomUUID()
    let told = 0
    for (let kills = isLong ? 100 : 6; kills > 0; kills -= 1) {
      const child = spawn(process.execPath, [script(), folder, job], { stdio: ['ignore', 'pipe', 'inherit'] })
      const printed = text(child.stdout)
      const begun = once(child.stdout, 'readable') // the last one is: something must have been told
      await (kills === 1 ? begun : Promise.race([begun, delay(Math.random() * 400)]))
      await delay(Math.random() * 60)
      child.kill('SIGKILL')
      const last = (await printed).trimEnd().split('\n').map(Number).at(-1) ?? 0
      told = Math.max(told, last)
      const run = await counting(folder)
        .find(job)
        .catch(() => null)
      const journals = counting(folder)
      const numbers = run
        ? [...(await numbersOf(journals.before(run))), ...(await numbersOf(journals.since(run)))]
        : []
      expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => index + 1))
      expect(numbers.length).toBeGreaterThanOrEqual(told)
    }
    expect(told).toBeGreaterThan(0)
  })
})
