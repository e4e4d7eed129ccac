import { type FileHandle, link, mkdir, open, rm, stat } from 'node:fs/promises'
import type { Context } from '../../context.ts'
import { CliError } from '../../errors/errors.ts'
import { exit } from '../../errors/exit.ts'
import { jobsFolder, pathOf, type Run, readIdle, removeBefore } from './bulk-jobs.ts'
import { base, type Known, known, settled } from './bulk-known.ts'
import { busy, type Event, encode, type Header } from './bulk-log.ts'

/** A job's journal, open for one run of it. */
export interface Journal {
  readonly header: Header
  /** What earlier runs know of a line; to be asked for in the order of the lines. */
  past(line: number): Promise<Known | null>
  /** Resolves when it is on the disk that the line is about to be sent. */
  started(line: number): Promise<void>
  /** What became of a line that was sent. */
  ended(event: Event): void
  /** Ends the run; with `isOver` nothing of the job is left to do, and the journal goes. */
  close(isOver: boolean): Promise<void>
}

export async function createJournal(ctx: Context, header: Header): Promise<Journal> {
  const folder = jobsFolder(ctx)
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(cannotWrite)
  return begin({ folder, job: header.job, run: 1 }, header, null)
}

/** Goes on where a run ended. Throws where another process does. */
export async function resumeJournal(ctx: Context, before: Run): Promise<Journal> {
  const header = { ...(await readIdle(ctx, before)), pid: ctx.host.pid }
  return begin({ ...before, run: before.run + 1 }, header, pathOf(before))
}

/**
 * Every run has a file of its own, which begins with all that is known before it, and takes its name only when that is
 * complete: of two processes that begin the same run, the second finds the name taken, or the run before it gone.
 */
async function begin(run: Run, header: Header, before: string | null): Promise<Journal> {
  const path = pathOf(run)
  const draft = `${path}.${header.pid}.draft`
  await rm(draft, { force: true }).catch(cannotWrite)
  const file = await open(draft, 'ax', 0o600).catch(cannotWrite)
  try {
    await file.appendFile(encode(header))
    if (before) for await (const text of inBlocks(known(before))) await file.appendFile(text)
    await file.appendFile(encode(['r']))
    await file.sync()
    await link(draft, path)
    if (before) await stat(before).catch(() => rm(path).then(() => Promise.reject(busy())))
  } catch (error) {
    await file.close()
    if (/^(EEXIST|ENOENT)$/.test(String((error as NodeJS.ErrnoException).code))) throw busy()
    throw error instanceof CliError ? error : failure(error)
  } finally {
    await rm(draft, { force: true })
  }
  await removeBefore(run)
  await syncFolder(run.folder)
  return toJournal(file, run, header)
}

function toJournal(file: FileHandle, run: Run, header: Header): Journal {
  const write = groupCommit(file)
  const before = settled(base(pathOf(run)))
  let next: IteratorResult<Known> | undefined
  return {
    header,
    past: async line => {
      next ??= await before.next()
      while (!next.done && next.value.line < line) next = await before.next()
      return next.done || next.value.line !== line ? null : next.value
    },
    started: line => write(encode(['s', line, Date.now()])),
    ended: event => void write(encode(event)).catch(() => {}), // the next line's start fails alike
    close: async isOver => {
      await before.return(undefined)
      await write('').catch(() => {})
      await file.close()
      if (isOver) await removeBefore({ ...run, run: run.run + 1 })
    },
  }
}

/** Appends texts and resolves when each is on the disk; those that come meanwhile share the next write. */
function groupCommit(file: FileHandle): (text: string) => Promise<void> {
  let waiting: { text: string; done: Promise<void> } | undefined
  let last: Promise<void> = Promise.resolve()
  const commit = async (before: Promise<void>, batch: { text: string }) => {
    await before // after a write that failed there is none: the end of the file is not known
    waiting = undefined
    await file.appendFile(batch.text).catch(cannotWrite)
    await file.datasync().catch(cannotWrite)
  }
  return text => {
    if (!waiting) {
      const batch = { text: '', done: Promise.resolve() }
      waiting = batch
      last = batch.done = commit(last, batch)
    }
    waiting.text += text
    return waiting.done
  }
}

/** What is known as entries of a journal, in texts of some size. */
async function* inBlocks(lines: AsyncIterable<Known>): AsyncGenerator<string> {
  let text = ''
  for await (const { line, id, since } of lines) {
    text += encode(id === null ? ['s', line, since] : ['d', line, id])
    if (text.length < 65_536) continue
    yield text
    text = ''
  }
  yield text
}

/** So that the name of a new file outlives a power cut, where a folder can be synchronised. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder).catch(() => null)
  await handle?.sync().catch(() => {})
  await handle?.close()
}

function cannotWrite(error: unknown): never {
  throw failure(error)
}

function failure(error: unknown): CliError {
  return new CliError('io', exit.failure, `the journal cannot be written: ${(error as Error).message}`, {
    cause: error,
    hint: 'CONSENTCTL_STATE_DIR names a folder that can be written; --file - needs none',
  })
}
