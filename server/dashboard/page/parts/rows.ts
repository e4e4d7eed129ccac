export interface PageOf<Row> {
  readonly data: readonly Row[]
  /** Null on the last page. */
  readonly next_cursor: string | null
}

export type ReadPage<Row> = (cursor: string | undefined) => Promise<PageOf<Row>>

interface Page<Row> {
  readonly cursor: string | undefined
  readonly first: number
  readonly length: number
  /** Null after the page was dropped. */
  readonly rows: readonly Row[] | null
  /** True if the page is read again when it comes into view. */
  readonly isOld: boolean
}

/** Rows read ahead of the view. */
const ahead = 50

/** Rows kept on each side of the view. */
const kept = 1000

/**
 * A list that reads the pages in view and drops those far from it. If a page that is read again ends elsewhere than before, the
 * pages after it are read again, too.
 */
export class Rows<Row> {
  readonly #read: ReadPage<Row>
  #pages: Page<Row>[] = []
  /** Null if the list is complete. */
  #next: { readonly cursor: string | undefined } | null = { cursor: undefined }
  #range: readonly [first: number, last: number] = [0, 0]
  #isReading = false
  #error: unknown
  readonly #listeners = new Set<() => void>()

  constructor(read: ReadPage<Row>) {
    this.#read = read
  }

  /** The number of rows known so far, including dropped ones. */
  get length(): number {
    const last = this.#pages.at(-1)
    return last ? last.first + last.length : 0
  }

  get isComplete(): boolean {
    return this.#next === null
  }

  get isReading(): boolean {
    return this.#isReading
  }

  /** The error of the last read; nothing more is read until `retry`. */
  get error(): unknown {
    return this.#error
  }

  /** Returns undefined for a row that is not read yet or was dropped. */
  row(index: number): Row | undefined {
    const page = this.#pages.find(({ first, length }) => index < first + length)
    return page?.rows?.[index - page.first]
  }

  /** Sets the rows in view, both included, and reads missing ones. */
  look(first: number, last: number): void {
    this.#range = [first, last]
    if (this.#error === undefined) void this.#fill()
  }

  retry(): void {
    this.#error = undefined
    void this.#fill()
  }

  /** Reads each page again when it comes into view; until then its rows stay. */
  refresh(): void {
    this.#pages = this.#pages.map(page => ({ ...page, isOld: true }))
    this.retry()
  }

  /** Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async #fill(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      for (let place = this.#missing(); place !== null; place = this.#missing()) {
        const cursor = place < this.#pages.length ? this.#pages[place]?.cursor : this.#next?.cursor
        this.#put(place, cursor, await this.#read(cursor))
        this.#drop()
        this.#tell()
      }
    } catch (error) {
      this.#error = error
    }
    this.#isReading = false
    this.#tell()
  }

  /** Returns the index of the next page to read, or null. */
  #missing(): number | null {
    const [first, last] = this.#range
    const inView = (page: Page<Row>) => page.first <= last && page.first + page.length > first
    const place = this.#pages.findIndex(page => inView(page) && (page.rows === null || page.isOld))
    if (place >= 0) return place
    return this.#next !== null && last + ahead >= this.length ? this.#pages.length : null
  }

  #put(place: number, cursor: string | undefined, { data, next_cursor }: PageOf<Row>): void {
    const before = this.#pages[place]
    const first = this.#pages[place - 1]
    const page = {
      cursor,
      first: first ? first.first + first.length : 0,
      length: data.length,
      rows: data,
      isOld: false,
    }
    const follows = place + 1 < this.#pages.length ? this.#pages[place + 1]?.cursor : this.#next?.cursor
    if (before?.length === data.length && (follows ?? null) === next_cursor) {
      this.#pages[place] = page
      return
    }
    this.#pages = [...this.#pages.slice(0, place), page]
    this.#next = next_cursor === null ? null : { cursor: next_cursor }
  }

  #drop(): void {
    const [first, last] = this.#range
    const isFar = (page: Page<Row>) => page.first + page.length < first - kept || page.first > last + kept
    this.#pages = this.#pages.map(page => (page.rows && isFar(page) ? { ...page, rows: null } : page))
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
