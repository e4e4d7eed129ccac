import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type * as z from 'zod'
import { CliError, exit, usageError } from '../errors/errors.ts'
import type { Host } from '../io/io.ts'
import { isTaken, makeFolder, openDraft, partOf, syncFolder } from '../io/new-file.ts'
import { identify, isRunning, removeAbandoned } from './process.ts'
import {
  busy,
  damaged,
  encode,
  ended,
  type Head,
  isEnded,
  type RunFile,
  readEntries,
  readHead,
  toLines,
} from './run-file.ts'

interface JobHeader {
  readonly job: string
}

export interface JobKind<Header extends JobHeader> {
  /** Folder for this kind only; read only when needed. */
  readonly folder: string
  readonly header: z.ZodType<Header>
  readonly host: Pick<Host, 'pid' | 'kill'>
  /** Command that resumes a job of another profile or instance; empty for another kind, else null. */
  elsewhere(header: Header): string | null
  readonly hints: { readonly damaged: string; readonly unwritable: string }
}

/**
 * A run of a job is a file, numbered from 1, with the entries that it wrote. The file is the job's lock, too: it is
 * made with its owner in it, under a name that only one process can take, and the owner of the highest number holds the
 * job.
 */
export interface Jobs<Header, Entry> {
  /**
   * Returns a job's id; for `last`, the latest of this profile and instance.
   *
   * @throws CliError usage (exit 2) if there is none
   */
  find(wanted: string): Promise<string>
  /** The one written last first. */
  list(): Promise<string[]>
  /** @throws CliError busy (exit 7) while another process holds the job; io (exit 1) if its file is damaged */
  readHeader(job: string): Promise<Header>
  /** Like `readHeader`, but also while another process holds the job. */
  peekHeader(job: string): Promise<Header>
  runs(job: string): Promise<Run<Entry>[]>
  /** `input`: a private file of the same folder that becomes the job's own, and is removed with it. */
  create(header: Header, input?: string): Promise<HeldJob<Header, Entry>>
  inputOf(job: string): string
  /** @throws CliError busy (exit 7) while another process holds it */
  resume(job: string): Promise<HeldJob<Header, Entry>>
}

/** Reads the entries of a run from the first, at each call. @throws CliError io (exit 1) if the file is damaged */
export type Run<Entry> = () => AsyncGenerator<Entry>

export interface HeldJob<Header, Entry> {
  readonly header: Header
  /** The oldest first. Empty for a new job. */
  readonly earlierRuns: readonly Run<Entry>[]
  /** Resolves when the entries and all before them are on disk. After a failure all later calls fail. */
  append(...entries: readonly Entry[]): Promise<void>
  /** @throws CliError busy (exit 7), like `append`, if another process has taken the job over */
  requireHeld(): Promise<void>
  close(isDone: boolean): Promise<void>
}

const fullDisk: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Files of this process's runs. Without them, the file of an ended process with the same pid would look held. */
const heldFiles = new Set<string>()

export function jobsOf<Header extends JobHeader, Entry>(kind: JobKind<Header>): Jobs<Header, Entry> {
  const { host } = kind
  const fileOf = (job: string, number: number): RunFile => {
    const name = number === 1 ? `${job}.job` : `${job}.job.${number}`
    return { path: join(kind.folder, name), number, ifDamaged: kind.hints.damaged }
  }
  const inputOf = (job: string) => ({ path: join(kind.folder, `${job}.input`), number: 0 })
  /** @throws CliError busy if the job no longer exists */
  const filesOf = async (job: string): Promise<RunFile[]> => {
    const numbers = (await stored(kind.folder)).flatMap(file => (file.job === job ? (file.number ?? []) : []))
    if (!numbers.includes(1)) throw busy()
    return numbers.sort((a, b) => a - b).map(number => fileOf(job, number))
  }
  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      if (error instanceof CliError) throw error
      const message = `cannot write the job: ${(error as Error).message}`
      const isFull = fullDisk.includes(String((error as NodeJS.ErrnoException).code))
      const hint = isFull ? `free space for ${kind.folder}` : kind.hints.unwritable
      throw new CliError('io', exit.failure, message, { cause: error, hint })
    }
  }
  const peekHeader = async (job: string): Promise<Header> => {
    const first = fileOf(job, 1)
    const { data } = kind.header.safeParse((await readHead(first)).header)
    if (!data) throw damaged(first, 1)
    return data
  }
  const toRun =
    (file: RunFile): Run<Entry> =>
    () =>
      readEntries<Entry>(file)
  const start = async (header: Header, earlier: readonly RunFile[]): Promise<HeldJob<Header, Entry>> => {
    const run = fileOf(header.job, (earlier.at(-1)?.number ?? 0) + 1)
    const head: Head = { owner: await identify(host.pid), header }
    const file = await explained(makeFile(run, head))
    const requireHeld = async () => {
      const last = (await filesOf(header.job)).at(-1)
      if (last?.path !== run.path) throw busy()
    }
    const write = async (text: string) => {
      await file.writeFile(Buffer.from(text))
      await file.datasync()
    }
    const append = appender(async entries => {
      for (const line of toLines(entries)) await write(line)
      await requireHeld()
    })
    return {
      header,
      earlierRuns: earlier.map(toRun),
      append: async (...entries) => await explained(append(entries.map(encode))),
      requireHeld: () => explained(append([])),
      close: async isDone => {
        const isWritten = await append([]).then(succeeded, failed)
        try {
          const isHeld = await requireHeld().then(succeeded, failed)
          if (isHeld && isDone) await remove([...(await filesOf(header.job)), inputOf(header.job)], kind.folder)
          else if (isHeld && isWritten) await write(ended).catch(() => {}) // else it is free when the process has ended
        } finally {
          heldFiles.delete(run.path)
          await file.close()
        }
      },
    }
  }
  return {
    find: async wanted => {
      await removeLeftOver(kind.folder).catch(() => {}) // the next new job reports it
      return await findJob(kind, wanted, peekHeader)
    },
    list: async () => {
      await removeLeftOver(kind.folder).catch(() => {})
      return await listJobs(kind.folder)
    },
    readHeader: async job => {
      const header = await peekHeader(job)
      await requireIdle((await filesOf(job)).at(-1), host)
      return header
    },
    peekHeader,
    runs: async job => (await filesOf(job)).map(toRun),
    inputOf: job => inputOf(job).path,
    create: async (header, input) => {
      await explained(makeFolder(kind.folder).then(() => removeLeftOver(kind.folder)))
      if (input === undefined) return await start(header, [])
      const { path } = inputOf(header.job)
      await explained(move(input, path))
      const held = await start(header, [])
      if (await stat(path).catch(() => null)) return held
      await held.close(true)
      const message = 'the job took over a minute to make, and another consentctl removed its input'
      throw new CliError('busy', exit.temporary, message, { hint: 'nothing was sent: run the command again' })
    },
    resume: async job => {
      await removeAbandoned(kind.folder, host)
      const header = await peekHeader(job)
      const files = await filesOf(job)
      await requireIdle(files.at(-1), host)
      return await start(header, files)
    },
  }
}

const succeeded = () => true
const failed = () => false

/** Concurrent appends share a flush. After a failed one the end of the file is unknown, so that all later ones fail. */
function appender(write: (entries: readonly string[]) => Promise<void>) {
  let waiting: string[] = []
  let next: Promise<void> | null = null
  let last: Promise<void> = Promise.resolve()
  const flush = async (before: Promise<void>) => {
    await before
    await yieldToEventLoop() // to collect more entries of this tick
    const entries = waiting
    waiting = []
    next = null
    await write(entries)
  }
  return (entries: readonly string[]): Promise<void> => {
    waiting.push(...entries)
    next ??= last = flush(last)
    return next
  }
}

/** @throws CliError busy if another process has made it; the system's error if it cannot be made */
async function makeFile({ path }: RunFile, head: Head): Promise<FileHandle> {
  const draft = await openDraft(partOf(path))
  try {
    await draft.file.writeFile(Buffer.from(`${JSON.stringify(head)}\n`))
    heldFiles.add(path)
    await draft.take(path)
    return draft.file
  } catch (error) {
    await draft.file.close()
    await draft.remove()
    if (isTaken(error)) throw busy()
    heldFiles.delete(path)
    throw error
  }
}

async function move(from: string, to: string): Promise<void> {
  const file = await open(from, 'r+')
  await file.sync().finally(() => file.close())
  await rename(from, to)
}

/** The job is gone when its first file is gone. */
async function remove(files: readonly Pick<RunFile, 'path' | 'number'>[], folder: string): Promise<void> {
  for (const { path, number } of files) {
    await rm(path, { force: true })
    if (number === 1) await syncFolder(folder)
  }
}

const staleMs = 60_000

/**
 * Removes what a process that was killed has left, and which may contain personal data: drafts, an input whose job it did
 * not make, and runs of a job that it removed. A process that is making a job may have a draft, or an input.
 */
async function removeLeftOver(folder: string): Promise<void> {
  const files = await stored(folder)
  const jobs = new Set(files.flatMap(({ job, number }) => (number === 1 ? job : [])))
  for (const { name, job } of files) {
    if (jobs.has(job ?? '')) continue
    const { mtimeMs, ctimeMs } = (await stat(join(folder, name)).catch(() => null)) ?? {}
    const changedAt = (job === undefined ? mtimeMs : ctimeMs) ?? Date.now() // an input may be older than its job
    if (Date.now() - changedAt > staleMs) await rm(join(folder, name), { force: true })
  }
}

async function changeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mtimeMs ?? 0
}

/** A process of another machine cannot be checked: it counts as dead after this long without a write. */
const longestSilenceMs = 600_000

/** @throws CliError busy (exit 7) while the owner runs and has not let the job go */
async function requireIdle(run: RunFile | undefined, host: Pick<Host, 'pid' | 'kill'>): Promise<void> {
  if (!run) throw busy()
  const { owner } = await readHead(run)
  if (owner.host === hostname()) {
    const isAtWork = owner.pid === host.pid ? heldFiles.has(run.path) : await isRunning(owner, host)
    if (isAtWork && !(await isEnded(run))) throw busy(`pid ${owner.pid}`)
    return
  }
  if (Date.now() - (await changeOf(run.path)) > longestSilenceMs || (await isEnded(run))) return
  throw busy(
    `another consentctl on ${owner.host}`,
    'wait for it to end; when it has written nothing for ten minutes, it is taken for dead',
  )
}

interface Stored {
  readonly name: string
  /** Undefined for a draft. */
  readonly job?: string | undefined
  /** Number of a run; undefined for an input. */
  readonly number?: number | undefined
}

async function stored(folder: string): Promise<Stored[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.flatMap(name => {
    const [, job, kind, number = '1'] = /^([\da-f-]{36})\.(job|input)(?:\.(\d+))?$/.exec(name) ?? []
    if (job === undefined) return name.endsWith('.part') ? [{ name }] : []
    return [{ name, job, number: kind === 'job' ? Number(number) : undefined }]
  })
}

async function listJobs(folder: string): Promise<string[]> {
  const changes = new Map<string, number>()
  const files = await stored(folder)
  for (const { name, job = '', number } of files) {
    if (number !== undefined) changes.set(job, Math.max(changes.get(job) ?? 0, await changeOf(join(folder, name))))
  }
  const jobs = files.flatMap(({ job, number }) => (number === 1 && job !== undefined ? [job] : []))
  return jobs.sort((a, b) => (changes.get(b) ?? 0) - (changes.get(a) ?? 0))
}

async function findJob<Header extends JobHeader>(
  { folder, elsewhere }: JobKind<Header>,
  wanted: string,
  readHeader: (job: string) => Promise<Header>,
): Promise<string> {
  const jobs = await listJobs(folder)
  if (wanted !== 'last') {
    if (jobs.includes(wanted)) return wanted
    throw usageError(`no job ${wanted} to resume`, `unfinished jobs are in ${folder}`)
  }
  let other: string | null = null
  for (const job of jobs) {
    const command = await readHeader(job).then(elsewhere, () => null)
    if (command === null) return job
    other ||= command
  }
  if (other === null) throw usageError('no job to resume: all jobs are finished')
  throw usageError(
    'no job of this profile and instance to resume',
    other === '' ? undefined : `the last one of another: ${other}`,
  )
}
