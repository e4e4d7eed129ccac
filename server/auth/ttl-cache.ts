/** How long what a look-up found is believed, in milliseconds: a revoked credential stops within this on every node. */
const validity = 1000

const capacity = 10_000

interface LookUp<T> {
  readonly found: Promise<T | undefined>
  /** What was found, once it is. */
  value: T | undefined
  readonly until: number
}

/**
 * What look-ups found, for at most a second from when they began. Look-ups of one key within that time are one; what was
 * not found, and what failed, is not remembered.
 */
export class Remembered<T> {
  readonly #lookUps = new Map<string, LookUp<T>>()

  /** What the last look-up found, if it is over and still believed. */
  recall(key: string): T | undefined {
    const known = this.#lookUps.get(key)
    return known && known.until > performance.now() ? known.value : undefined
  }

  async get(key: string, load: () => Promise<T | undefined>): Promise<T | undefined> {
    const now = performance.now()
    const known = this.#lookUps.get(key)
    if (known && known.until > now) return await known.found
    const begun: LookUp<T> = { found: load(), value: undefined, until: now + validity }
    this.#keep(key, begun)
    let value: T | undefined
    try {
      value = await begun.found
      begun.value = value
      return value
    } finally {
      if (value === undefined && this.#lookUps.get(key) === begun) this.#lookUps.delete(key)
    }
  }

  /** Forgets everything, and look-ups under way too: they may have read what was changed since. */
  forget(): void {
    this.#lookUps.clear()
  }

  #keep(key: string, begun: LookUp<T>): void {
    this.#lookUps.delete(key)
    this.#lookUps.set(key, begun)
    for (const [oldest, { until }] of this.#lookUps) {
      if (until > performance.now() && this.#lookUps.size <= capacity) break
      this.#lookUps.delete(oldest)
    }
  }
}
