import type { Context } from '../../../context.ts'
import type { LineKind } from './lines.ts'
import type { ImportOptions } from './options.ts'
import type { Entry, Extent, Reader } from './reader.ts'
import type { How, JobState, SentLine } from './state.ts'

export interface Item {
  readonly entry: Entry<object>
  readonly earlier: SentLine | null
  /** False if sending the line again could execute it twice. */
  readonly maySend: boolean
}

/** Result of a line: the record's id, or the error that leaves its result failed or unknown. */
export type Answer = { readonly id: string; readonly how?: How | undefined } | { readonly error: unknown }

/** Operation that a command executes once per line of a file. */
export interface Operation {
  /** Stored in the header of a job. */
  readonly command: 'create' | 'update' | 'rm' | 'import'
  readonly lines: LineKind<object>
  readonly done: 'created' | 'updated' | 'deleted' | 'imported'
  readonly words: {
    /** As in `would delete 3 records`. */
    readonly verb: string
    /** As in `resuming the deletions of FILE`. */
    readonly work: string
    /** As in `check with consentctl history before you delete it again`. */
    readonly check: string
    /** Describes a record that already had the wanted values. */
    readonly unchanged: string
  }
  /** Field values for lines that omit them; stored in the job's header. */
  readonly defaults: Readonly<Record<string, unknown>>
  /** Data for `complete`; stored in the job's header. */
  readonly about?: Readonly<Record<string, unknown>> | undefined
  /** Maximum quota units per line, if no response is lost. */
  readonly requests: number
  /** True if `send` itself detects what an earlier run did with a line. */
  readonly isIdempotent: boolean
  connect(ctx: Context, options: ImportOptions, job: ImportJob): Sending
  /** Returns a line's name for messages. Default: its number. */
  nameOf?(entry: Entry<object>): string
  /** Returns true if all further lines would fail with this error. Errors that end every import need not be listed. */
  failsAll?(error: unknown): boolean
  /** Removes a completed job's input file if it was made for that job alone. */
  removeFile?(ctx: Context, path: string): Promise<void>
  /** Called when every line is done or rejected, before the job is removed. Rejected lines do not keep the job. */
  complete?(ctx: Context, job: ImportJob, counts: Counts): Promise<void>
}

/** Line counts over all runs of a job. */
export interface Counts {
  readonly done: number
  readonly unchanged: number
  /** Completed lines whose response was lost. */
  readonly unanswered: number
  readonly failed: number
}

export interface Sending {
  maxLines(): Promise<number>
  /** Returns true if a line whose result is lost may be sent again. */
  isRepeatable(): boolean
  /** Returns false if sending a line again could execute it twice. Not called for idempotent operations. */
  mayResend(earlier: SentLine): Promise<boolean>
  /** Returns the answers in the order of the items. Never rejects. */
  send(items: readonly Item[]): Promise<readonly Answer[]>
}

export interface ImportJob {
  readonly operation: Operation
  readonly reader: Reader<object>
  readonly extent: Extent | null
  /** Null for a stream, or if nothing will be sent. */
  readonly state: JobState | null
  readonly doneBefore: number
  /** Part of `doneBefore` whose records already had the wanted values. */
  readonly unchangedBefore: number
  /** `about` of the operation that created the job. */
  readonly about: Operation['about']
}
