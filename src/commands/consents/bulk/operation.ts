import type { Context } from '../../../context.ts'
import type { LineFlags } from './options.ts'
import type { Extent, InputLine, LineKind, Reader } from './reader.ts'
import type { How, JobState } from './state.ts'

export interface LineJobOptions extends LineFlags {
  /** Defaults for lines that omit them. */
  readonly site?: string | undefined
  readonly batch?: boolean | undefined
  readonly dryRun?: boolean | undefined
  /** Contains the file, which becomes the job's own. Removed at the end. */
  readonly workFolder?: string | undefined
  /** Called before a new job. @throws CliError if declined */
  readonly approve?: ((lines: number, reader: Reader<object>) => Promise<void>) | undefined
}

export interface Done {
  readonly id: string
  readonly how?: How | undefined
}

export interface Item {
  readonly entry: InputLine<object>
  /** Done by an earlier run. */
  readonly done: Done | null
  /** Time since which an earlier run may have done it. */
  readonly sentAt: number | null
  /** False if a resend could repeat the line's effect. */
  readonly maySend: boolean
}

/** Record id, or the error of a failed or unknown line. */
export type Answer = Done | { readonly error: unknown }

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
  /** Defaults for lines that omit them; stored in the header. */
  readonly defaults: Readonly<Record<string, unknown>>
  readonly about?: Readonly<Record<string, unknown>> | undefined
  /** Absolute path; stored for resumed runs. */
  readonly receiptOut?: string | undefined
  /** Maximum quota units per line without lost responses. */
  readonly requests: number
  /** `send` detects what an earlier run did. */
  readonly isIdempotent: boolean
  connect(ctx: Context, options: LineJobOptions, job: LineJob): Sending
  /** Default: the line number. */
  nameOf?(entry: InputLine<object>): string
  /** Errors that would affect all further lines, besides those that end every job. */
  failsAll?(error: unknown): boolean
  /** Called when every line is done or rejected, before the job is removed. */
  complete?(ctx: Context, job: LineJob, counts: Counts): Promise<void>
}

export interface Counts {
  readonly done: number
  readonly unchanged: number
  /** Done, but the response was lost. */
  readonly unanswered: number
  readonly failed: number
}

export interface Sending {
  maxLines(): Promise<number>
  /** True if a line without a result may be sent again. */
  isRepeatable(): boolean
  /** False if a resend could repeat the effect. Not called for idempotent operations. */
  mayResend(sentAt: number): Promise<boolean>
  /** In item order. Never rejects. */
  send(items: readonly Item[]): Promise<readonly Answer[]>
}

export interface LineJob {
  readonly operation: Operation
  readonly reader: Reader<object>
  readonly extent: Extent | null
  /** Null for a stream, or if nothing is sent. */
  readonly state: JobState | null
  readonly doneBefore: number
  /** Already included in `doneBefore`. */
  readonly unchangedBefore: number
}
