// A follower of the feed: a process with the product's own `watch`, which gets every entry once, in order of positions.

import { follow } from '../../src/cli/follow.ts'
import { createClient } from '../../src/client/connect.ts'
import type { Context } from '../../src/context.ts'
import type { Event } from '../../src/contract/index.ts'
import { exit } from '../../src/errors/errors.ts'
import { exitOf } from '../../src/errors/explain.ts'
import { interruptedError } from '../../src/io/io.ts'
import { connection, spawn } from './clients.ts'
import { current } from './scheduler.ts'
import type { World } from './world.ts'

/** Longer than the pauses between two requests. */
const longestMs = 120_000

export class Follower {
  readonly #world: World
  readonly #name: string
  /** Of the events that it has. */
  #count = 0

  constructor(world: World, name: string) {
    this.#world = world
    this.#name = name
  }

  /** Returns a function that waits for all entries, when no more are written, and ends it. */
  start(): () => Promise<void> {
    const interruption = new AbortController()
    const { process, done } = spawn(this.#name, () => this.#follow(interruption.signal))
    return async () => {
      await this.#waitForAll()
      current().after(0, 'signal', () => interruption.abort(interruptedError()), process)
      await done
    }
  }

  /** As a user starts it again after each end. */
  async #follow(interruption: AbortSignal): Promise<void> {
    const api = createClient(async () => connection(this.#world, interruption))
    while (!interruption.aborted) {
      await current().sleep(current().random.latency(0.1, 6000))
      const start = this.#count === 0 ? {} : { after: this.#count - 1 }
      try {
        for await (const page of follow(this.#context(api, interruption), { ...start, isOnce: false }))
          for (const event of page.data) this.#take(event)
      } catch (error) {
        if (exitOf(error) !== exit.temporary) throw error
      }
    }
    await api.close()
  }

  #take({ position, record_id, version }: Event): void {
    const { id, version: placed } = this.#world.model.leaves[position] ?? {}
    if (position !== this.#count) current().fail(`the event ${position} came after ${this.#count} events`)
    if (id !== record_id || placed !== version) current().fail(`the event ${position} is of another entry`)
    this.#count += 1
  }

  async #waitForAll(): Promise<void> {
    const scheduler = current()
    const entries = this.#world.model.entries().length
    const end = scheduler.now + longestMs
    while (this.#count < entries && scheduler.now < end) await scheduler.sleep(100, 'waits')
    if (this.#count !== entries) scheduler.fail(`${this.#name} has ${this.#count} events of ${entries} entries`)
  }

  #context(api: Context['api'], interruption: AbortSignal): Context {
    return {
      ...{ api, interruption, io: { err: { isTerminal: false } } },
      settings: { baseUrl: null, profile: { value: 'default' } },
      say: async (line: string) => current().trace(`says ${line}`),
      warn: async (line: string) => current().trace(`warns ${line}`),
    } as unknown as Context
  }
}
