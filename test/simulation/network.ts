// TCP between simulated processes. Bytes arrive in order, in pieces, late, or not at all; connections are cut at any byte, at
// both ends at different times. `SimulatedSocket` stands for `net.Socket`, so Node's own HTTP and the database's driver run on it.
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { current, type Process, Timer } from './scheduler.ts'

/** How bad a network is; zero in all is a good one. */
export interface Weather {
  /** Chance that a connection is cut when something is sent. */
  readonly cut: number
  /** Chance that what is sent is held up for seconds. */
  readonly hold: number
  /** Chance that a connection cannot be made: refused, or never answered. */
  readonly refuse: number
  /** Longest usual latency in milliseconds. */
  readonly latencyMs: number
}

export const fairWeather: Weather = { cut: 0, hold: 0, refuse: 0, latencyMs: 2 }

/** The owner of an end of a connection, which gets these events. */
interface Owner {
  onData(bytes: Buffer): void
  onEnd(): void
  onReset(): void
}

/** Bytes that a sender's and a receiver's system hold for a connection. */
const windowBytes = 600

/** One end of a connection, in one process. */
export class End {
  readonly process: Process
  readonly weather: Weather
  peer!: End
  owner: Owner | undefined
  #arrivesAt = 0
  /** Nothing arrives from now on. */
  #isDeaf = false
  #isEnded = false
  #unread = 0
  readonly #waiting: (() => void)[] = []

  constructor(process: Process, weather: Weather) {
    this.process = process
    this.weather = weather
    process.onKill.push(() => this.close(current().random.chance(0.5)))
  }

  get isLost(): boolean {
    return this.#isDeaf
  }

  /** Calls back when there is room for more. */
  send(bytes: Buffer, onRoom: () => void = () => {}): void {
    const { random } = current()
    const { cut, hold } = this.#weatherNow()
    if (!this.#isEnded) {
      if (random.chance(cut)) {
        this.#cut(bytes.subarray(0, random.int(0, bytes.length)))
        return
      }
      if (random.chance(hold)) this.#arrivesAt = Math.max(this.#arrivesAt, current().now + random.int(50, 12_000))
      const split = bytes.length > 1 && random.chance(0.1) ? random.int(1, bytes.length - 1) : bytes.length
      this.#deliver(bytes.subarray(0, split))
      if (split < bytes.length) this.#deliver(bytes.subarray(split))
    }
    if (this.peer.#unread < windowBytes) onRoom()
    else this.peer.#waiting.push(onRoom)
  }

  /** Called when the owner has taken bytes that were received. */
  consumed(bytes: number): void {
    this.#unread -= bytes
    if (this.#unread >= windowBytes) return
    for (const onRoom of this.#waiting.splice(0)) this.#later(`room`, onRoom, this.peer.process)
  }

  /** No more is sent; what was sent arrives. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#later('end', () => this.peer.#take(owner => owner.onEnd()), this.peer.process)
  }

  /** Neither sends nor receives any more. With `isReset`, what was sent may be lost too. */
  close(isReset: boolean): void {
    this.#isDeaf = true
    this.owner = undefined
    for (const onRoom of this.#waiting.splice(0)) onRoom()
    if (!isReset) this.end()
    if (this.#isEnded) return
    this.#isEnded = true
    if (current().random.chance(0.5)) this.#arrivesAt = current().now
    this.#later('reset', () => this.peer.#reset(), this.peer.process)
  }

  #weatherNow(): Weather {
    return storm.isOver ? fairWeather : this.weather
  }

  #deliver(bytes: Buffer): void {
    if (bytes.length === 0) return
    const copy = Buffer.from(bytes)
    this.peer.#unread += copy.length
    this.#later(`${copy.length} bytes`, () => this.peer.#take(owner => owner.onData(copy)), this.peer.process)
  }

  /** The connection is lost after these bytes, for each end in its own time. */
  #cut(last: Buffer): void {
    const { random } = current()
    this.#deliver(last)
    this.#isEnded = true
    this.peer.#isEnded = true
    this.#later('cut', () => this.peer.#reset(), this.peer.process)
    const slow = random.chance(0.2) ? random.int(100, 8000) : 0
    current().after(slow + this.#latency(), 'cut', () => this.#reset(), this.process)
  }

  #later(label: string, run: () => void, process: Process): void {
    const { now } = current()
    this.#arrivesAt = Math.max(this.#arrivesAt, now) + this.#latency()
    current().after(this.#arrivesAt - now, label, run, process)
  }

  #latency(): number {
    return current().random.latency(0.05, this.#weatherNow().latencyMs)
  }

  #take(tell: (owner: Owner) => void): void {
    if (!this.#isDeaf && this.owner) tell(this.owner)
  }

  #reset(): void {
    this.#isEnded = true
    this.#take(owner => owner.onReset())
    this.#isDeaf = true
    for (const onRoom of this.#waiting.splice(0)) onRoom()
  }
}

/** When it is over, nothing more goes wrong. */
export const storm = { isOver: false }

export interface Listener {
  readonly process: Process
  readonly weather: Weather
  accept: (end: End) => void
}

const listeners = new Map<string, () => Listener | undefined>()

/** Accepts connections to a name, for which a balancer may choose another process each time. */
export function listen(host: string, choose: () => Listener | undefined): void {
  listeners.set(host, choose)
}

/** Connects this process. Calls back with its end, or null if it is refused; never if nothing answers. */
function connect(host: string, done: (end: End | null) => void): void {
  const scheduler = current()
  const { process, random } = scheduler
  const listener = listeners.get(host)?.()
  const weather = listener && !storm.isOver ? listener.weather : fairWeather
  const latency = random.latency(0.05, weather.latencyMs)
  if (random.chance(weather.refuse) && random.chance(0.3)) return
  if (!listener || random.chance(weather.refuse)) return void scheduler.after(latency, 'refused', () => done(null))
  const accept = () => {
    if (!listener.process.isAlive) return done(null)
    const [near, far] = [new End(process, weather), new End(listener.process, weather)]
    near.peer = far
    far.peer = near
    scheduler.enter(listener.process)
    listener.accept(far)
    scheduler.after(latency, 'connected', () => done(near), process)
  }
  scheduler.after(latency, 'connects', accept)
}

/** For Node's HTTP, which needs a stream. */
export class StreamSocket extends Duplex {
  readonly remoteAddress = '10.0.0.1'
  connecting = false
  #end: End | null = null
  #inbox: Buffer[] = []
  #hasEnded = false
  #isReading = false
  #isReset = false
  #timer: Timer | undefined
  #timeoutMs = 0

  constructor(end: End | null = null) {
    super({ allowHalfOpen: end !== null, emitClose: false, highWaterMark: 600 })
    if (end) this.#attach(end)
  }

  get readyState(): string {
    if (this.destroyed) return 'closed'
    if (this.connecting) return 'opening'
    return this.#end ? 'open' : 'closed'
  }

  connect(_port: unknown, host = ''): this {
    this.connecting = true
    connect(host, end => {
      if (!this.connecting || this.destroyed) return end?.close(true)
      this.connecting = false
      if (!end) return void this.destroy(connectionError('connect ECONNREFUSED'))
      this.#attach(end)
      this.emit('connect')
      this.emit('ready')
    })
    return this
  }

  #attach(end: End): void {
    this.#end = end
    if (end.isLost) return void process.nextTick(() => this.#reset())
    end.owner = {
      onData: bytes => {
        this.#timer?.refresh()
        this.#inbox.push(bytes)
        this.#drain()
      },
      onEnd: () => {
        this.#hasEnded = true
        this.#drain()
      },
      onReset: () => this.#reset(),
    }
  }

  #reset(): void {
    this.#isReset = true
    this.destroy(connectionError('read ECONNRESET'))
  }

  #drain(): void {
    while (this.#isReading && this.#inbox.length > 0) {
      const bytes = this.#inbox.shift() as Buffer
      this.#isReading = this.push(bytes)
      this.#end?.consumed(bytes.length)
    }
    if (this.#hasEnded && this.#inbox.length === 0) {
      this.#hasEnded = false
      this.push(null)
    }
  }

  override _read(): void {
    this.#isReading = true
    this.#drain()
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.connecting) return void this.once('connect', () => this._write(chunk, encoding, done))
    this.#timer?.refresh()
    if (this.#end && !this.#isReset) this.#end.send(Buffer.from(chunk), () => done())
    else done(connectionError('write EPIPE'))
  }

  override _final(done: () => void): void {
    if (this.connecting) return void this.once('connect', () => this._final(done))
    this.#end?.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.connecting = false
    this.#timer?.close()
    this.#timer = undefined
    // A system resets a connection whose input was not read.
    this.#end?.close(error !== null || this.#inbox.length > 0 || !this.writableFinished)
    done(error)
    process.nextTick(() => this.emit('close', error !== null))
  }

  destroySoon(): void {
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  setTimeout(ms: number, call?: () => void): this {
    this.#timer?.close()
    this.#timeoutMs = ms
    this.#timer = ms > 0 ? new Timer(() => this.emit('timeout'), ms) : undefined
    if (call && ms > 0) this.once('timeout', call)
    return this
  }

  get timeout(): number {
    return this.#timeoutMs
  }

  setKeepAlive(): this {
    return this
  }

  setNoDelay(): this {
    return this
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }
}

/** In place of `net.Socket`, as far as the database's driver uses it: a stream would take most of a schedule's time. */
export class Socket extends EventEmitter {
  readyState = 'closed'
  #end: End | null = null
  #isDestroyed = false
  /** Written before the connection is made. */
  #early: Buffer[] = []

  connect(_port: number, host: string): this {
    this.readyState = 'opening'
    connect(host, end => {
      if (this.#isDestroyed) return end?.close(true)
      if (!end) return this.destroy(connectionError('connect ECONNREFUSED'))
      this.#end = end
      end.owner = {
        onData: bytes => {
          end.consumed(bytes.length)
          this.emit('data', bytes)
        },
        onEnd: () => this.destroy(),
        onReset: () => this.destroy(connectionError('read ECONNRESET')),
      }
      this.readyState = 'open'
      if (end.isLost) return this.destroy(connectionError('read ECONNRESET'))
      for (const bytes of this.#early.splice(0)) end.send(bytes)
      this.emit('connect')
    })
    return this
  }

  write(bytes: Buffer): boolean {
    if (this.#end) this.#end.send(bytes)
    else this.#early.push(bytes)
    return true
  }

  end(bytes: Buffer): void {
    this.write(bytes)
    this.readyState = 'readOnly'
    this.#end?.end()
  }

  destroy(error?: Error): void {
    if (this.#isDestroyed) return
    this.#isDestroyed = true
    this.#end?.close(error !== undefined)
    this.readyState = 'closed'
    process.nextTick(() => {
      if (error) this.emit('error', error)
      this.emit('close', error !== undefined)
    })
  }

  setKeepAlive(): void {}
}

function connectionError(message: string): Error {
  return Object.assign(new Error(message), { code: message.split(' ')[1] })
}

/** Of `node:net`. */
export function isIP(text: string): number {
  return /^\d+(\.\d+){3}$/.test(text) ? 4 : text.includes(':') ? 6 : 0
}
