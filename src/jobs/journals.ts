import { type FileHandle, mkdir, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import type * as z from 'zod'
import { CliError, exit } from '../errors/errors.ts'
import type { Host } from '../io/io.ts'
import { beginRun } from './begin.ts'
import { groupCommit } from './commit.ts'
import { findRun } from './find.ts'
import { type Holder, holderOf, isAtWork } from './holder.ts'
import { busy, encode, events, isEnded, type Log, mark, readHeader } from './log.ts'
import { pathOf, type Run, removeBefore } from './runs.ts'

/** What the header of every job tells, beside what its kind does. */
export interface JobHeader {
  /** The job's UUID. */
  readonly job: string
  /** The process that works on it. */
  readonly pid: number
}

/** A kind of job that can be gone on with after it was stopped or killed. */
export interface Kind<Header extends JobHeader> {
  /** For its journals alone, and for its owner: another kind has another folder. Asked for when there is a journal to look for. */
  readonly folder: string
  readonly header: z.ZodType<Header>
  readonly host: Pick<Host, 'pid' | 'kill'>
  /** The command that goes on with a job of another profile or instance; null for a job of those in use. */
  elsewhere(header: Header): string | null
  /** What to do where a journal is damaged, and where none can be written. */
  readonly hints: { readonly damaged: string; readonly unwritable: string }
}

/** The journals of one kind of job. An event is any JSON but `["r"]`. */
export interface Journals<Header, Event> {
  /** The last run of a job by its id, or with `last` of the last job here. Throws a usage error where there is none. */
  find(wanted: string): Promise<Run>
  /** The header of a run that no process works on. Throws where one does. */
  readIdle(run: Run): Promise<Header>
  /** What earlier runs came to know before a run, as it was carried into it. */
  before(run: Run): AsyncGenerator<Event>
  /** What a run itself came to know. */
  since(run: Run): AsyncGenerator<Event>
  /** Begins a job. */
  create(header: Header): Promise<Journal<Header, Event>>
  /** Goes on after a run, with `carried` as what is known until then; all its events, unless given. Throws where another process does. */
  resume(after: Run, carried?: AsyncIterable<Event>): Promise<Journal<Header, Event>>
}

/** A job's journal, open for one run of it. */
export interface Journal<Header, Event> {
  readonly header: Header
  readonly run: Run
  /** Resolves when the events are on the disk, as those are that were written before them. Once one cannot be written, no other can. */
  write(...events: readonly Event[]): Promise<void>
  /** Has an event written with the next one, or some milliseconds later: a process that is killed before then has not told it. */
  hold(event: Event): void
  /** Throws where another process has gone on with the job meanwhile; `write` does so too. */
  check(): Promise<void>
  /** Ends the run; with `isOver` nothing of the job is left to do, and the journal goes. */
  close(isOver: boolean): Promise<void>
}

export function journalsOf<Header extends JobHeader, Event>(kind: Kind<Header>): Journals<Header, Event> {
  const { host } = kind
  const logOf = (run: Run): Log => ({ path: pathOf(run), ifDamaged: kind.hints.damaged })
  const cannotWrite = (error: unknown): never => {
    throw failure(error, kind.hints.unwritable)
  }
  const readIdle = async (run: Run) => {
    const { header, holder } = await readHeader(logOf(run), kind.header)
    if (holder && holder.host !== hostname()) await requireSilence(logOf(run), holder)
    else if (await isAtWork(host, header.pid, holder?.started ?? null)) throw busy(`pid ${header.pid}`)
    return header
  }
  const before = (run: Run) => events(logOf(run), 'before') as AsyncGenerator<Event>
  const since = (run: Run) => events(logOf(run), 'since') as AsyncGenerator<Event>
  async function* all(run: Run): AsyncGenerator<Event> {
    yield* before(run)
    yield* since(run)
  }
  return {
    find: wanted => findRun(kind, wanted),
    readIdle,
    before,
    since,
    create: async header => {
      const { folder } = kind
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch(cannotWrite)
      const run = { folder, job: header.job, run: 1 }
      const file = await beginRun(run, await withHolder(header), null).catch(cannotWrite)
      return toJournal(file, run, header, cannotWrite)
    },
    resume: async (after, carried = all(after)) => {
      const header = { ...(await readIdle(after)), pid: host.pid }
      const run = { ...after, run: after.run + 1 }
      const file = await beginRun(run, await withHolder(header), { path: pathOf(after), carried }).catch(
        cannotWrite,
      )
      return toJournal(file, run, header, cannotWrite)
    },
  }
}

function toJournal<Header extends JobHeader, Event>(
  file: FileHandle,
  run: Run,
  header: Header,
  cannotWrite: (error: unknown) => never,
): Journal<Header, Event> {
  const { write, hold } = groupCommit(file, pathOf(run))
  return {
    header,
    run,
    write: async (...events) => await write(events.map(encode).join('')).catch(cannotWrite),
    hold: event => hold(encode(event)),
    check: () => write('').catch(cannotWrite),
    close: async isOver => {
      await write(isOver ? '' : encode(mark)).catch(() => {})
      await file.close()
      if (isOver) await removeBefore({ ...run, run: run.run + 1 })
    },
  }
}

/** What is written of a header: beside it, which process it is that works on the job. */
async function withHolder<Header extends JobHeader>(header: Header): Promise<object> {
  const { host, started } = await holderOf(header.pid)
  return { ...header, holder: { host, started } }
}

/** Milliseconds after which a process of another machine that wrote nothing is taken for dead. */
const silence = 600_000

/** Nobody can ask another machine for a process: it has ended the run, or was silent for long. Throws otherwise. */
async function requireSilence(log: Log, { host }: Holder): Promise<void> {
  const { mtimeMs } = await stat(log.path).catch(() => Promise.reject(busy()))
  if (Date.now() - mtimeMs > silence || (await isEnded(log))) return
  throw busy(
    `another consentctl on ${host}`,
    'wait for its end; when it wrote nothing for ten minutes, it is taken for dead',
  )
}

function failure(error: unknown, hint: string): CliError {
  if (error instanceof CliError) return error
  const message = `the journal cannot be written: ${(error as Error).message}`
  return new CliError('io', exit.failure, message, { cause: error, hint })
}
