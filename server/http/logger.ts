import { Socket } from 'node:net'
import { type Logger, pino } from 'pino'

const flushIntervalMs = 50

const maxBatchCharacters = 8192

/** About 5,000 lines. */
const maxWaitingCharacters = 2 ** 20

export interface ServiceLogger {
  readonly logger: Logger
  countDropped(): number
  show(): void
}

/** Logs to stderr, errors immediately. With `isHeld` nothing is written before `show`. */
export function createLogger(level: string, isHeld = false): ServiceLogger {
  const destination = process.stderr instanceof Socket ? toReader(process.stderr) : toFile()
  const stream = Object.assign(new LogStream(destination, isHeld), {
    [Symbol.for('pino.metadata')]: true, // makes pino set lastLevel before each write
  })
  process.once('beforeExit', () => stream.show()) // unread text keeps the process alive
  process.once('exit', () => stream.show())
  return {
    logger: pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream),
    countDropped: () => stream.dropped,
    show: () => stream.show(),
  }
}

interface Destination {
  write(text: string, callback: (error?: Error | null) => void): void
  countWaiting(): number
}

/**
 * Never blocks, because a stalled reader would stop every response. Node leaves terminals blocking, and another process
 * can make a shared descriptor blocking.
 */
function toReader(socket: Socket & { readonly _handle?: { setBlocking?(isBlocking: boolean): void } }): Destination {
  return {
    write: (text, callback) => {
      socket._handle?.setBlocking?.(false)
      socket.write(text, callback)
    },
    countWaiting: () => socket.writableLength,
  }
}

function toFile(): Destination {
  const file = pino.destination({ dest: 2, sync: true })
  return {
    write: text => void file.write(text), // flushSync retries endlessly if stderr is closed or its disk full
    countWaiting: () => 0,
  }
}

/** Batches lines, drops them when its buffer is full, and logs their number. */
class LogStream {
  lastLevel = 0
  dropped = 0
  #told = 0
  #buffered = ''
  #lines = 0
  #timer: NodeJS.Timeout | undefined
  #isHeld: boolean
  readonly #destination: Destination

  constructor(destination: Destination, isHeld: boolean) {
    this.#destination = destination
    this.#isHeld = isHeld
  }

  write(line: string): void {
    if (this.#buffered.length + this.#destination.countWaiting() > maxWaitingCharacters) {
      this.dropped += 1
      return
    }
    if (this.dropped > this.#told) this.#tell()
    this.#buffered += line
    this.#lines += 1
    const isUrgent = this.#buffered.length > maxBatchCharacters || pino.levels.labels[this.lastLevel] === 'error'
    if (!this.#isHeld && (!this.#timer || isUrgent)) this.#flush()
  }

  show(): void {
    this.#isHeld = false
    this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#buffered === '') return
    const [text, lines] = [this.#buffered, this.#lines]
    this.#buffered = ''
    this.#lines = 0
    this.#timer = setTimeout(() => this.#flush(), flushIntervalMs).unref()
    this.#destination.write(text, error => {
      if (error) this.dropped += lines
    })
  }

  #tell(): void {
    const line = { level: 40, time: new Date().toISOString(), dropped: this.dropped - this.#told }
    this.#told = this.dropped
    this.#buffered += `${JSON.stringify({ ...line, msg: 'log lines were dropped because nothing read them' })}\n`
  }
}
