import type { Context } from '../../../context.ts'
import type { LineKind } from './lines.ts'
import type { ImportOptions } from './options.ts'
import type { Entry, Extent, Reader } from './reader.ts'
import type { JobState, SentLine } from './state.ts'

export interface Item {
  readonly entry: Entry<object>
  readonly earlier: SentLine | null
  /** False if sending it again could do it twice. */
  readonly maySend: boolean
}

/** Of a line: the id of its record, `unchanged` if that was already as wanted; or why nothing is known to be done. */
export type Answer = { readonly id: string; readonly isUnchanged?: boolean } | { readonly error: unknown }

/** Done once for each line of a file. */
export interface Operation {
  /** Stored in the header of a job. */
  readonly command: 'create' | 'update' | 'rm'
  readonly lines: LineKind<object>
  readonly done: 'created' | 'updated' | 'deleted'
  /** Fields of lines that do not have them; stored in the header of a job. */
  readonly defaults: Readonly<Record<string, unknown>>
  /** Most requests that a line takes, unless an answer to it was lost. */
  readonly requests: number
  /** True if `send` finds out itself what an earlier run has done of a line. */
  readonly isIdempotent: boolean
  connect(ctx: Context, options: ImportOptions, job: ImportJob): Sending
}

export interface Sending {
  /** True if the next request may have many lines. */
  takesMany(): Promise<boolean>
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
}
