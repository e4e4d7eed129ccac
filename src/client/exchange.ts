/** A request as it goes over the wire. */
export interface Exchange {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Ends it, wherever it is. */
  readonly signal: AbortSignal
  /** Called before the first byte of it can leave: without this call nothing has reached the instance. */
  readonly onSent: () => void
}

export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** The head of an answer, and its body as it comes. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: AsyncIterable<Uint8Array>
}

/** What takes requests to one instance and brings answers back. It follows no redirect and tries nothing twice. */
export interface Carrier {
  exchange(request: Exchange): Promise<Answer>
  /** Drops every connection. */
  close(): void
}

/** The first value of a header, in lower case; null where there is none. */
export function header(headers: Headers, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value[0] : value) ?? null
}
