// Owns everything that a program awaits: timers, turns of the event loop, the network, disks and randomness. Between two
// events the microtasks run until none is left, and Node's order of those is fixed, so that the seed decides the rest.

/** Repeatable random numbers (sfc32, by Chris Doty-Humphrey). */
export class Random {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = 0x9e3779b9
    for (let round = 0; round < 12; round += 1) this.uint32()
  }

  uint32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    this.#c |= 0
    return sum >>> 0
  }

  /** From 0 to less than 1. */
  next(): number {
    return this.uint32() / 2 ** 32
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** Both bounds included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  /** Mostly near the lower bound, rarely near the upper one, as latencies are. */
  latency(from: number, to: number): number {
    return from + (to - from) * this.next() ** 4
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(0, list.length - 1)] as T
  }
}

/** An operating system's process: its events stop when it is killed. */
export class Process {
  readonly name: string
  readonly pid: number
  isAlive = true
  /** Its machine's clock minus the true one, in milliseconds. */
  clockOffsetMs = 0
  /** The process does nothing until then. */
  pausedUntil = 0
  readonly onKill: (() => void)[] = []
  /** Variables of modules, which other processes have too. */
  readonly variables: unknown[] = []
  readonly immediates: Immediate[] = []

  constructor(name: string, pid: number) {
    this.name = name
    this.pid = pid
  }

  kill(): void {
    if (!this.isAlive) return
    this.isAlive = false
    for (const each of this.onKill) each()
  }
}

class Event {
  readonly process: Process
  readonly run: () => void
  readonly label: string
  at: number
  order: number
  isCancelled = false

  constructor(process: Process, at: number, order: number, label: string, run: () => void) {
    this.process = process
    this.at = at
    this.order = order
    this.label = label
    this.run = run
  }
}

/** As Node's `setTimeout` returns. */
export class Timer {
  readonly #ms: number
  readonly #call: () => void
  readonly #process = current().process
  readonly #isRepeated: boolean
  #event: Event

  constructor(call: () => void, ms: number, isRepeated = false) {
    this.#ms = Math.max(1, Math.trunc(Number.isFinite(ms) ? ms : 1))
    this.#call = call
    this.#isRepeated = isRepeated
    this.#event = this.#start()
  }

  #start(): Event {
    return current().after(
      this.#ms,
      'timer',
      () => {
        if (this.#isRepeated) this.#event = this.#start()
        this.#call()
      },
      this.#process,
    )
  }

  refresh(): this {
    this.#event.isCancelled = true
    this.#event = this.#start()
    return this
  }

  close(): void {
    this.#event.isCancelled = true
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }
}

export interface Immediate {
  readonly call: () => void
  isCancelled: boolean
}

/** Events between which the loop of one process is busy or sees more of its input. */
const longestTurnMs = 0.6

export class Scheduler {
  readonly random: Random
  /** Of all that the product draws itself, so that drawing more there does not change the schedule. */
  readonly productRandom: Random
  readonly startedAt: number
  readonly problems: string[] = []
  readonly log: string[] | null
  /** Milliseconds since the start. */
  now = 0
  events = 0
  process: Process
  #digest = 0x811c9dc5
  #order = 0
  #pids = 100
  #numbers = 1000
  readonly #heap: Event[] = []

  constructor(seed: number, startedAt: number, isTraced: boolean) {
    this.random = new Random(seed)
    this.productRandom = new Random(seed + 1)
    this.startedAt = startedAt
    this.log = isTraced ? [] : null
    this.process = this.spawn('world')
    scheduler = this
    for (const variable of variables) variable.reset()
    for (const reset of resets) reset()
  }

  spawn(name: string): Process {
    this.#pids += 1
    const process = new Process(name, this.#pids)
    process.variables.push(...variables.map(({ initial }) => initial))
    return process
  }

  nextNumber(): string {
    this.#numbers += 1
    return String(this.#numbers)
  }

  /** Of everything that has happened, in order. */
  get digest(): string {
    return (this.#digest >>> 0).toString(16).padStart(8, '0')
  }

  trace(text: string): void {
    let hash = this.#digest
    for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
    this.#digest = Math.imul(hash ^ (this.now * 1000), 0x01000193)
    this.log?.push(`${this.now.toFixed(3).padStart(12)} ${this.process.name.padEnd(10)} ${text}`)
  }

  /** Records that something promised was not so. */
  fail(problem: string): void {
    this.trace(`PROBLEM ${problem}`)
    this.problems.push(problem)
  }

  after(ms: number, label: string, run: () => void, process = this.process): Event {
    this.#order += 1
    const event = new Event(process, this.now + Math.max(0, ms), this.#order, label, run)
    push(this.#heap, event)
    return event
  }

  immediate(call: () => void): Immediate {
    const { process } = this
    const immediate: Immediate = { call, isCancelled: false }
    process.immediates.push(immediate)
    if (process.immediates.length === 1)
      this.after(this.random.next() * longestTurnMs, 'turn', () => this.#check(process), process)
    return immediate
  }

  /** The check phase of a process's event loop. */
  #check(process: Process): void {
    const [first, ...others] = process.immediates.splice(0)
    if (first && !first.isCancelled) first.call()
    for (const immediate of others)
      this.after(
        0,
        'turn',
        () => {
          if (!immediate.isCancelled) immediate.call()
        },
        process,
      )
  }

  /** Runs events until `isOver`. Returns false if that takes longer than `limitMs` of the simulated time. */
  async run(isOver: () => boolean, limitMs: number): Promise<boolean> {
    const limit = this.now + limitMs
    for (;;) {
      await microtasks()
      if (isOver()) return true
      const event = pop(this.#heap)
      if (!event || event.at > limit) return false
      if (event.isCancelled || !event.process.isAlive) continue
      if (event.process.pausedUntil > event.at) {
        event.at = event.process.pausedUntil
        push(this.#heap, event)
        continue
      }
      this.now = Math.max(this.now, event.at)
      this.enter(event.process)
      this.events += 1
      if (event.label !== 'turn') this.trace(event.label)
      try {
        event.run()
      } catch (error) {
        this.fail(`${event.process.name} threw: ${(error as Error).stack}`)
      }
    }
  }

  /** Makes a process the one that runs: what it starts is its own. */
  enter(process: Process): void {
    if (process === this.process) return
    for (const [index, variable] of variables.entries()) {
      this.process.variables[index] = variable.get()
      variable.set(process.variables[index])
    }
    this.process = process
  }

  /** Resolves for the process that runs now, after that time. */
  sleep(ms: number, label = 'sleep'): Promise<void> {
    return new Promise(resolve => void this.after(ms, label, resolve))
  }
}

let scheduler: Scheduler | undefined

export function current(): Scheduler {
  if (!scheduler) throw new Error('no schedule runs')
  return scheduler
}

interface Variable {
  readonly initial: unknown
  get(): unknown
  set(value: unknown): void
  reset(): void
}

const variables: Variable[] = []

/** Registers a variable of a module of the product, of which each process has its own. */
export function ownVariable<T>(get: () => T, set: (value: T) => void): void {
  const initial = get()
  variables.push({ initial, get, set: set as (value: unknown) => void, reset: () => set(initial) })
}

const resets: (() => void)[] = []

/** Registers a variable of a module that begins anew with each schedule, and which processes may share. */
export function sharedVariable(reset: () => void): void {
  resets.push(reset)
}

const nextTurn = globalThis.setImmediate

/** Resolves when no microtask and no `process.nextTick` is left. */
function microtasks(): Promise<void> {
  return new Promise(resolve => void nextTurn(resolve))
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}

function push(heap: Event[], event: Event): void {
  let index = heap.length
  heap.push(event)
  while (index > 0) {
    const parent = (index - 1) >> 1
    if (!isBefore(event, heap[parent] as Event)) break
    heap[index] = heap[parent] as Event
    index = parent
  }
  heap[index] = event
}

function pop(heap: Event[]): Event | undefined {
  const [first] = heap
  const last = heap.pop()
  if (!last || heap.length === 0) return first
  let index = 0
  for (;;) {
    let child = 2 * index + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1
    if (!isBefore(heap[child] as Event, last)) break
    heap[index] = heap[child] as Event
    index = child
  }
  heap[index] = last
  return first
}
