import { randomUUID } from 'node:crypto'
import { constants, type FileHandle, open, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type * as z from 'zod'
import { CliError, exit, usageError } from '../errors/errors.ts'
import type { Host } from '../io/io.ts'
import { makeFolder, openDraft, partOf } from '../io/new-file.ts'
import { groupCommit } from './group-commit.ts'
import {
  busy,
  type Claim,
  type Close,
  damaged,
  encode,
  encodeEvents,
  type Log,
  readEntries,
  readOwnership,
} from './log.ts'
import { identify, isRunning } from './process.ts'

interface JobHeader {
  readonly job: string
}

export interface JobKind<Header extends JobHeader> {
  /** Folder for this kind only; read only when needed. */
  readonly folder: string
  readonly header: z.ZodType<Header>
  readonly host: Pick<Host, 'pid' | 'kill'>
  /** Returns the command that resumes a job of another profile or instance, empty if it is of another kind; otherwise null. */
  elsewhere(header: Header): string | null
  readonly hints: { readonly damaged: string; readonly unwritable: string }
}

export interface Jobs<Header, Event> {
  /**
   * Returns a job's id; for `last`, the latest of this profile and instance.
   *
   * @throws CliError usage (exit 2) if there is none
   */
  find(wanted: string): Promise<string>
  /** Returns job ids, the one written last first. */
  list(): Promise<string[]>
  /** @throws CliError busy (exit 7) while another process holds the job; io (exit 1) if its file is damaged */
  readHeader(job: string): Promise<Header>
  /** Like `readHeader`, but also while another process holds the job. */
  peekHeader(job: string): Promise<Header>
  /** @throws CliError io (exit 1) if the file is damaged */
  events(job: string): AsyncGenerator<Event>
  create(header: Header): Promise<HeldJob<Header, Event>>
  /** @throws CliError busy (exit 7) while another process holds it */
  resume(job: string): Promise<HeldJob<Header, Event>>
}

export interface HeldJob<Header, Event> {
  readonly header: Header
  readonly isResumed: boolean
  /** @throws CliError io (exit 1) if the file is damaged */
  earlierEvents(): AsyncGenerator<Event>
  /** Resolves when the events and all before them are on disk. After a failure all later calls fail. */
  append(...events: readonly Event[]): Promise<void>
  /** Appends within 100 ms; lost if the process is killed before. */
  appendSoon(...events: readonly Event[]): void
  /** @throws CliError busy (exit 7), like `append`, if another process has taken the job over */
  requireHeld(): Promise<void>
  close(isDone: boolean): Promise<void>
}

const fullDisk: readonly string[] = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** This process's claims. Without them, a claim of an ended process with the same pid would look held. */
const heldClaims = new Set<string>()

export function jobsOf<Header extends JobHeader, Event extends readonly [kind: string, ...unknown[]]>(
  kind: JobKind<Header>,
): Jobs<Header, Event> {
  const logOf = (job: string): Log => ({
    path: join(kind.folder, `${job}.job`),
    ifDamaged: kind.hints.damaged,
  })
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
  const parse = (job: string) => parseHeader(logOf(job), kind.header)
  const readHeader = async (job: string) => {
    const header = await parse(job)
    await requireIdle(logOf(job), (await readOwnership(logOf(job))).owner, kind.host)
    return header
  }
  const hold = (file: FileHandle, first: Claim, size: number, header: Header): HeldJob<Header, Event> => {
    const log = logOf(header.job)
    let claim = first
    const write = async (text: string): Promise<void> => {
      const bytes = Buffer.from(`\n${text}`) // another process may have left an incomplete line
      await writeAll(file, bytes)
      await file.datasync()
      const owned = await requireOwned(log, claim, size + bytes.length)
      size = owned.size
      if (owned.unreadable === 0) return
      claim = await makeClaim(kind.host, claim.claim, owned.unreadable - 1)
      heldClaims.add(claim.claim)
      await write(encode(claim) + text)
    }
    const { append, appendSoon } = groupCommit(write)
    return {
      header,
      isResumed: first.read > 1,
      earlierEvents: () => eventsOf(log, first.claim),
      append: (...events) => explained(append(encodeEvents(events))),
      appendSoon: (...events) => appendSoon(encodeEvents(events)),
      requireHeld: () => explained(append('')),
      close: async isDone => {
        const close: Close = { closed: claim.claim }
        await append(isDone ? '' : encode(close)).catch(() => {})
        try {
          const remove = () => rm(log.path, { force: true })
          if (isDone) await requireOwned(log, claim, size).then(remove, () => {})
        } finally {
          heldClaims.delete(first.claim)
          heldClaims.delete(claim.claim)
          await file.close()
        }
      },
    }
  }
  return {
    find: wanted => findJob(kind, wanted, parse),
    list: async () => (await storedJobs(kind.folder)).map(({ job }) => job),
    readHeader,
    peekHeader: parse,
    events: job => eventsOf(logOf(job)),
    create: async header => {
      const claim = await makeClaim(kind.host, null, 1)
      const content = Buffer.from(encode(header) + encode(claim))
      const file = await explained(createLog(logOf(header.job), kind.folder, content))
      heldClaims.add(claim.claim)
      return hold(file, claim, content.length, header)
    },
    resume: async job => {
      const header = await parse(job)
      const { file, claim, size } = await explained(takeOver(logOf(job), kind.host))
      return hold(file, claim, size, header)
    },
  }
}

async function* eventsOf<Event extends readonly unknown[]>(log: Log, untilClaim?: string): AsyncGenerator<Event> {
  for await (const entry of readEntries(log)) {
    if (Array.isArray(entry)) yield entry as readonly unknown[] as Event
    else if (untilClaim !== undefined && (entry as Partial<Claim>).claim === untilClaim) return
  }
}

async function parseHeader<Header>(log: Log, schema: z.ZodType<Header>): Promise<Header> {
  for await (const entry of readEntries(log)) {
    const { data } = schema.safeParse(entry)
    if (data) return data
    break
  }
  throw damaged(log, 1)
}

/** Writes the content under a temporary name first. */
async function createLog({ path }: Log, folder: string, content: Buffer): Promise<FileHandle> {
  await makeFolder(folder)
  await removeStaleDrafts(folder)
  const draft = await openDraft(partOf(path))
  try {
    await writeAll(draft.file, content)
    await draft.take(path)
    return draft.file
  } catch (error) {
    await draft.file.close()
    await draft.remove()
    throw error
  }
}

const staleDraftMs = 60_000

/** Drafts of killed processes may contain personal data. */
async function removeStaleDrafts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.endsWith('.part')) continue
    const changedAt = (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0
    if (Date.now() - changedAt > staleDraftMs) await rm(join(folder, name), { force: true })
  }
}

async function makeClaim(host: Pick<Host, 'pid'>, after: string | null, read: number): Promise<Claim> {
  return { claim: randomUUID(), after, read, ...(await identify(host.pid)) }
}

/** @throws CliError busy (exit 7) if another process holds the job or claims it first */
async function takeOver(log: Log, host: Pick<Host, 'pid' | 'kill'>) {
  const { owner, read } = await readOwnership(log)
  await requireIdle(log, owner, host)
  const claim = await makeClaim(host, owner?.claim ?? null, read)
  const file = await open(log.path, constants.O_WRONLY | constants.O_APPEND).catch(rethrow)
  heldClaims.add(claim.claim)
  try {
    await writeWhole(file, Buffer.from(`\n${encode(claim)}`)) // ends a killed process's line
    await file.datasync()
    const { size } = await requireOwned(log, claim, null)
    return { file, claim, size }
  } catch (error) {
    heldClaims.delete(claim.claim)
    await file.close()
    throw error
  }
}

/**
 * Returns the file's size, and the line that another process made unreadable by writing at the same time. An
 * unexpected size means that another process wrote at least a claim.
 */
async function requireOwned(log: Log, claim: Claim, expectedSize: number | null) {
  const { size } = await stat(log.path).catch(rethrow)
  if (size === expectedSize) return { size, unreadable: 0 }
  const { owner, unreadable } = await readOwnership(log)
  if (owner?.claim !== claim.claim) throw busy()
  return { size, unreadable }
}

/** A nearly full disk takes only a part. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length; )
    written += (await file.write(bytes, written, bytes.length - written)).bytesWritten
}

/** Repeats the whole text, because another process may have appended after the part. */
async function writeWhole(file: FileHandle, bytes: Buffer): Promise<void> {
  while ((await file.write(bytes, 0, bytes.length)).bytesWritten < bytes.length);
}

function rethrow(error: NodeJS.ErrnoException): never {
  throw error.code === 'ENOENT' ? busy() : error
}

/** A process of another machine cannot be checked: it counts as dead after this long without a write. */
const longestSilenceMs = 600_000

/** @throws CliError busy (exit 7) while the owner runs */
async function requireIdle(log: Log, owner: Claim | null, host: Pick<Host, 'pid' | 'kill'>): Promise<void> {
  if (owner === null) return
  if (owner.host !== hostname()) {
    const { mtimeMs } = await stat(log.path).catch(rethrow)
    if (Date.now() - mtimeMs > longestSilenceMs) return
    throw busy(
      `another consentctl on ${owner.host}`,
      'wait for it to end; when it has written nothing for ten minutes, it is taken for dead',
    )
  }
  const isAtWork = owner.pid === host.pid ? heldClaims.has(owner.claim) : await isRunning(owner, host)
  if (isAtWork) throw busy(`pid ${owner.pid}`)
}

/** Returns the job written last first. */
async function storedJobs(folder: string) {
  const found: { job: string; changedAt: number }[] = []
  for (const name of await readdir(folder).catch(() => [])) {
    const [, job] = /^([\da-f-]{36})\.job$/.exec(name) ?? []
    if (job === undefined) continue
    const changedAt = (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0
    found.push({ job, changedAt })
  }
  return found.sort((a, b) => b.changedAt - a.changedAt)
}

async function findJob<Header extends JobHeader>(
  { folder, elsewhere }: JobKind<Header>,
  wanted: string,
  readHeader: (job: string) => Promise<Header>,
): Promise<string> {
  const isLast = wanted === 'last'
  let other: string | null = null
  for (const { job } of await storedJobs(folder)) {
    if (!isLast && job !== wanted) continue
    const command = isLast ? await readHeader(job).then(elsewhere, () => null) : null
    if (command === null) return job
    other ||= command
  }
  if (other !== null)
    throw usageError(
      'no job of this profile and instance to resume',
      other === '' ? undefined : `the last one of another: ${other}`,
    )
  if (isLast) throw usageError('no job to resume: nothing was begun that is not finished')
  throw usageError(`no job ${wanted} to resume`, `unfinished jobs are in ${folder}`)
}
