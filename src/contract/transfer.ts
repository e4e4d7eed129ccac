/** How much of a database was moved so far. */
export interface Transferred {
  /** Of all tables. */
  rows: number
  /** Consent records among them. */
  records: number
}

export interface ExportOrder {
  /** Takes the next piece of the text; the one after it is read when this resolves. */
  readonly write: (text: string) => Promise<void>
  /** Ends the work, with its reason. */
  readonly signal: AbortSignal
}

export interface ImportOrder {
  /** The bytes of an export. */
  readonly source: AsyncIterable<Uint8Array>
  /** What they are called in errors. */
  readonly name: string
  /** Ends the work, with its reason. */
  readonly signal: AbortSignal
}
