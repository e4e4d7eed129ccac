import { join } from 'node:path'
import { parse, v5 } from 'uuid'
import * as z from 'zod'
import type { Context } from '../../../context.ts'
import { type Journals, journalsOf, type Journal as Log } from '../../../jobs/journals.ts'
import type { Run } from '../../../jobs/runs.ts'
import { elsewhere } from '../../../settings/begun.ts'
import { type Known, known, settled } from './known.ts'

/** What a job is about. No key and nothing of the records is in a journal. */
const Header = z.object({
  version: z.literal(1),
  job: z.string(),
  /** The file's absolute path, the SHA-256 of its bytes, and how many lines it has. */
  file: z.string(),
  sha256: z.string(),
  lines: z.number(),
  format: z.enum(['ndjson', 'csv']),
  unguard: z.boolean(),
  profile: z.string(),
  base_url: z.string(),
  site: z.string().optional(),
  created_at: z.string(),
  /** The process that works on it. */
  pid: z.number(),
})
export type Header = z.output<typeof Header>

/**
 * What a journal tells of lines of the file, by their numbers: s, a line is about to be sent, at an instant in
 * milliseconds since 1970; d, its record is made and has this id; f, it failed with this code; u, its answer was lost.
 */
export type Event =
  | readonly ['s', line: number, at: number]
  | readonly ['d', line: number, id: string]
  | readonly ['f', line: number, code: string]
  | readonly ['u', line: number]

export type BulkJournals = Journals<Header, Event>

/** A job's journal, open for one run of it. */
export interface Journal {
  readonly header: Header
  /** The Idempotency-Key of a line: the same in every run of the job. */
  keyOf(line: number): string
  /** Whether there were earlier runs. */
  readonly isResumed: boolean
  /** What earlier runs know of a line; to be asked for in the order of the lines. */
  past(line: number): Promise<Known | null>
  /** Resolves when it is on the disk that the lines are about to be sent. */
  noted(lines: readonly number[]): Promise<void>
  /** That lines that were noted are sent now. Those that never are count as not noted when the run is closed. */
  sent(lines: readonly number[]): void
  /** What became of a line that was sent; with `isRepeatable` it does no harm to send it again if this is lost. */
  ended(event: Event, isRepeatable: boolean): void
  /** Ends the run; with `isOver` nothing of the job is left to do, and the journal goes. */
  close(isOver: boolean): Promise<void>
}

/** The journals of files whose records are not all created. */
export function bulkJournals({ settings, host }: Context): BulkJournals {
  return journalsOf<Header, Event>({
    get folder() {
      return join(settings.stateFolder, 'jobs') // which a stream does without, where there is no place for it
    },
    header: Header,
    host,
    elsewhere: header => elsewhere(settings, header, commandOf(header)),
    hints: {
      damaged: 'consentctl list shows which records were made',
      unwritable: 'CONSENTCTL_STATE_DIR names a folder that can be written; --file - needs none',
    },
  })
}

/** The command that goes on with a job, where it was begun. */
export function commandOf({ job }: Header): string {
  return `consentctl create --resume ${job}`
}

export async function createJournal(journals: BulkJournals, header: Header): Promise<Journal> {
  return toJournal(journals, await journals.create(header))
}

/** Goes on where a run ended. Throws where another process does. */
export async function resumeJournal(journals: BulkJournals, after: Run): Promise<Journal> {
  return toJournal(journals, await journals.resume(after, carried(journals, after)))
}

/** What is known of each line, as the events that come to that. */
async function* carried(journals: BulkJournals, run: Run): AsyncGenerator<Event> {
  for await (const { line, id, since } of known(journals, run)) {
    yield id === null ? ['s', line, since] : ['d', line, id]
  }
}

function toJournal(journals: BulkJournals, log: Log<Header, Event>): Journal {
  const { header, run, write, hold, close } = log
  const before = settled(journals.before(run))
  const unsent = new Set<number>()
  const namespace = parse(header.job)
  let next: IteratorResult<Known> | undefined
  return {
    header,
    isResumed: run.run > 1,
    keyOf: line => v5(String(line), namespace),
    past: async line => {
      next ??= await before.next()
      while (!next.done && next.value.line < line) next = await before.next()
      return next.done || next.value.line !== line ? null : next.value
    },
    noted: async lines => {
      const at = Date.now()
      for (const line of lines) unsent.add(line)
      await write(...lines.map(line => ['s', line, at] as const))
    },
    sent: lines => {
      for (const line of lines) unsent.delete(line)
    },
    ended: (event, isRepeatable) => {
      if (isRepeatable) hold(event)
      else void write(event).catch(() => {}) // the next line's note fails alike
    },
    close: async isOver => {
      await before.return(undefined)
      for (const line of unsent) hold(['f', line, 'unsent'])
      await close(isOver)
    },
  }
}
