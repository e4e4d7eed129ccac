import { randomBytes } from 'node:crypto'

/** A number for the last eight characters of a text, of which the earlier ones are shifted out. */
const nextTail = (tail: number, text: string, index: number) => (tail << 4) ^ text.charCodeAt(index)

function tailOf(text: string): number {
  let tail = 0
  for (let index = 0; index < text.length; index += 1) tail = nextTail(tail, text, index)
  return tail
}

/** Texts that are in one place each, and must be in no other. */
export class Canaries {
  /** The places of texts; there are tens of thousands, so they are looked up by their tails. */
  readonly #places = new Map<number, Map<string, string>>()

  /** A new text, named after where it is put. */
  make(place: string): string {
    return this.add(place, `canary-${place}-${randomBytes(6).toString('hex')}`)
  }

  /** A secret that somebody else has made. */
  add(place: string, text: string): string {
    if (text.length < 8) throw new Error(`"${text}" is too short to be looked up`)
    const tail = tailOf(text)
    const places = this.#places.get(tail) ?? new Map<string, string>()
    this.#places.set(tail, places.set(text, place))
    return text
  }

  /** The places whose texts are in what was printed, but for some; an address is also found by its network. */
  foundIn(printed: string, except: readonly string[] = []): string[] {
    const found = new Set<string>()
    let tail = 0
    for (let index = 0; index < printed.length; index += 1) {
      tail = nextTail(tail, printed, index)
      const places = this.#places.get(tail) ?? []
      for (const [text, place] of places) if (printed.endsWith(text, index + 1)) found.add(place)
    }
    return [...found].filter(place => !except.includes(place))
  }
}
