import { randomBytes } from 'node:crypto'

/** Texts that are in one place each, and must be in no other. */
export class Canaries {
  readonly #texts = new Map<string, string>()

  /** A new text, named after where it is put. */
  make(place: string): string {
    return this.add(place, `canary-${place}-${randomBytes(6).toString('hex')}`)
  }

  /** A secret that somebody else has made. */
  add(place: string, text: string): string {
    this.#texts.set(text, place)
    return text
  }

  /** The places whose texts are in what was printed, but for some; an address is also found by its network. */
  foundIn(printed: string, except: readonly string[] = []): string[] {
    const found = [...this.#texts].filter(([text, place]) => !except.includes(place) && printed.includes(text))
    return [...new Set(found.map(([, place]) => place))]
  }
}
