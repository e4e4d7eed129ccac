import { join } from 'node:path'
import { parse, v5 } from 'uuid'
import * as z from 'zod'
import type { Context } from '../../../context.ts'
import { type HeldJob, type Jobs, jobsOf } from '../../../jobs/jobs.ts'
import { commandForOrigin } from '../../../settings/job-origin.ts'
import { type Known, readEarlierRuns } from './known.ts'
import type { Item } from './send.ts'

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

export type BulkJournals = Jobs<Header, Event>

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
  noted(items: readonly Item[]): Promise<void>
  /** That lines that were noted are sent now. Those that never are count as not noted when the run is closed. */
  sent(lines: readonly number[]): void
  /** What became of a line that was sent; with `isRepeatable` it does no harm to send it again if this is lost. */
  ended(event: Event, isRepeatable: boolean): void
  /** Ends the run; with `isOver` nothing of the job is left to do, and the journal goes. */
  close(isOver: boolean): Promise<void>
}

/** The journals of files whose records are not all created. */
export function bulkJournals({ settings, host }: Context): BulkJournals {
  return jobsOf<Header, Event>({
    get folder() {
      return join(settings.stateFolder, 'jobs') // which a stream does without, where there is no place for it
    },
    header: Header,
    host,
    elsewhere: header => commandForOrigin(settings, header, commandOf(header)),
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

export function toJournal({
  header,
  isResumed,
  earlierEvents,
  append,
  appendSoon,
  close,
}: HeldJob<Header, Event>): Journal {
  const earlier = readEarlierRuns(earlierEvents)
  const unsent = new Set<number>()
  const namespace = parse(header.job)
  return {
    header,
    keyOf: line => v5(String(line), namespace),
    isResumed,
    past: line => earlier.past(line),
    noted: async items => {
      const at = Date.now()
      for (const { entry, past } of items) if (!past) unsent.add(entry.line.number) // else it is unknown already
      await append(...items.map(({ entry }) => ['s', entry.line.number, at] as const))
    },
    sent: lines => {
      for (const line of lines) unsent.delete(line)
    },
    ended: (event, isRepeatable) => {
      if (isRepeatable) appendSoon(event)
      else void append(event).catch(() => {}) // the next line's note fails alike
    },
    close: async isOver => {
      await earlier.close()
      for (const line of unsent) appendSoon(['f', line, 'unsent'])
      await close(isOver)
    },
  }
}
