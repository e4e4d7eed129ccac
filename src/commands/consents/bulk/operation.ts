import type { Context } from '../../../context.ts'
import type { LineKind } from './lines.ts'
import type { LineJobOptions } from './options.ts'
import type { Entry, Extent, Reader } from './reader.ts'
import type { How, JobState } from './state.ts'

export interface Item {
  readonly entry: Entry<object>
  /** Set if an earlier run did it. */
  readonly done: { readonly id: string; readonly how?: How | undefined } | null
  /** Time since which an earlier run may have done it. */
  readonly sentAt: number | null
  /** False if a resend could execute the line twice. */
  readonly maySend: boolean
}

/** Record id, or the error that leaves the line failed or unknown. */
export type Answer = { readonly id: string; readonly how?: How | undefined } | { readonly error: unknown }

export interface Operation {
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
    readonly unchanged: string
  }
  /** Used for lines that omit them; stored in the job's header. */
  readonly defaults: Readonly<Record<string, unknown>>
  readonly about?: Readonly<Record<string, unknown>> | undefined
  /** Absolute path of the receipt's copy; stored in the job's header, because a killed run cannot tell it. */
  readonly receiptOut?: string | undefined
  /** Flags that a resumed run needs again. */
  readonly resumeFlags?: readonly string[]
  /** Maximum quota units per line, if no response is lost. */
  readonly requests: number
  /** True if `send` detects what an earlier run did with a line. */
  readonly isIdempotent: boolean
  connect(ctx: Context, options: LineJobOptions, job: LineJob): Sending
  /** Default: the line number. */
  nameOf?(entry: Entry<object>): string
  /** Detects errors that all further lines would have, besides those that end every job. */
  failsAll?(error: unknown): boolean
  /** Removes an input file made for its job alone. */
  removeFile?(ctx: Context, path: string): Promise<void>
  /** Called when every line is done or rejected, before the job is removed. */
  complete?(ctx: Context, job: LineJob, counts: Counts): Promise<void>
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
  /** True if a line whose result is lost may be sent again. */
  isRepeatable(): boolean
  /** False if a resend could execute the line twice. Not called for idempotent operations. */
  mayResend(sentAt: number): Promise<boolean>
  /** Answers in item order. Never rejects. */
  send(items: readonly Item[]): Promise<readonly Answer[]>
}

export interface LineJob {
  readonly operation: Operation
  readonly reader: Reader<object>
  readonly extent: Extent | null
  /** Null for a stream, or if nothing will be sent. */
  readonly state: JobState | null
  readonly doneBefore: number
  /** Included in `doneBefore`. */
  readonly unchangedBefore: number
  readonly about: Operation['about']
}
