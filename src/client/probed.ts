import type { Headers } from './exchange.ts'

/** An answer as it came, whatever it is. */
export interface Probed {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}
