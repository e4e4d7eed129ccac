import type { Context } from '../../../context.ts'
import type { LineKind } from './lines.ts'
import type { ImportOptions } from './options.ts'
import type { Entry, Extent, Reader } from './reader.ts'
import type { How, JobState, SentLine } from './state.ts'

export interface Item {
  readonly entry: Entry<object>
  readonly earlier: SentLine | null
  /** False if sending it again could do it twice. */
  readonly maySend: boolean
}

/** Of a line: the id of its record; or why nothing is known to be done. */
export type Answer = { readonly id: string; readonly how?: How | undefined } | { readonly error: unknown }

/** Done once for each line of a file. */
export interface Operation {
  /** Stored in the header of a job. */
  readonly command: 'create' | 'update' | 'rm' | 'import'
  readonly lines: LineKind<object>
  readonly done: 'created' | 'updated' | 'deleted' | 'imported'
  readonly words: {
    /** `would delete 3 records` */
    readonly verb: string
    /** `resuming the deletions of FILE` */
    readonly work: string
    /** `check with consentctl history before you delete it again` */
    readonly check: string
    /** Of a record that was already as wanted. */
    readonly unchanged: string
  }
  /** Fields of lines that do not have them; stored in the header of a job. */
  readonly defaults: Readonly<Record<string, unknown>>
  /** Stored in the header of a job, for `complete`. */
  readonly about?: Readonly<Record<string, unknown>> | undefined
  /** Most units of the quota that a line takes, unless an answer to it was lost. */
  readonly requests: number
  /** True if `send` finds out itself what an earlier run has done of a line. */
  readonly isIdempotent: boolean
  connect(ctx: Context, options: ImportOptions, job: ImportJob): Sending
  /** Returns the name of a line for people. Default: its number. */
  nameOf?(entry: Entry<object>): string
  /** Returns true if all further lines would fail for the same reason, besides those that end every import. */
  failsAll?(error: unknown): boolean
  /** Removes the file of a job that is done, if it was made for the job alone. */
  removeFile?(ctx: Context, path: string): Promise<void>
  /** Called when every line is done or refused, before the job is removed: a refused line does not keep it. */
  complete?(ctx: Context, job: ImportJob, counts: Counts): Promise<void>
}

/** Lines of a job, of all its runs. */
export interface Counts {
  /** Created, changed or deleted. */
  readonly done: number
  /** Those that were already as wanted. */
  readonly unchanged: number
  /** Those done of which no answer says so. */
  readonly unanswered: number
  readonly failed: number
}

export interface Sending {
  /** Returns the most lines that the next request may have. */
  maxLines(): Promise<number>
  /** True if a line whose result is lost may be sent again. */
  isRepeatable(): boolean
  /** False if sending a line again could do it twice. Not asked if the operation is idempotent. */
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
  /** The number of lines that earlier runs have done. */
  readonly doneBefore: number
  /** Those of them whose record was already as wanted. */
  readonly unchangedBefore: number
  /** Of the operation that it was begun with. */
  readonly about: Operation['about']
}
