export interface Verdict {
  readonly type: string | null
  readonly result: 'valid' | 'not_valid'
  /** Key id. */
  readonly signed_by: string | null
  /** Claimed by the signer. */
  readonly issued_at: string | null
  /** The key's source and what was seen if valid, else the reason. */
  readonly detail: string
}

/** Evidence that does not verify. The message completes "it …", about a document or `file` of a pack. */
export class NotValid extends Error {
  readonly file: string

  constructor(message: string, file = '') {
    super(message)
    this.file = file
  }
}

export function notValid(detail: string, type: string | null = null): Verdict {
  return { type, result: 'not_valid', signed_by: null, issued_at: null, detail }
}
