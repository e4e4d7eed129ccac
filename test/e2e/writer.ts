import { setTimeout as delay } from 'node:timers/promises'
import { type Agent, request } from 'undici'
import type { Consent } from '../../src/contract/index.ts'
import type { Ledger, Step, Target, Track } from './ledger.ts'

/** How often a client sends a create whose answer stays unknown, and how often when the others have stopped. */
const [attempts, lastAttempts] = [300, 5]

interface Tools {
  readonly agent: Agent
  readonly random: () => number
  readonly stop: () => boolean
}

/** One client: what it does is drawn by chance, and goes into the ledger. */
export class Writer {
  /** The records that it has made and not begun to remove. */
  readonly #live: Track[] = []
  readonly #target: Target
  readonly #ledger: Ledger
  readonly #agent: Agent
  readonly #random: () => number
  readonly #stop: () => boolean

  constructor(target: Target, ledger: Ledger, { agent, random, stop }: Tools) {
    this.#target = target
    this.#ledger = ledger
    this.#agent = agent
    this.#random = random
    this.#stop = stop
  }

  /** One request by chance, or as many as a create takes until it is answered. */
  async act(name: string): Promise<void> {
    const kind = this.#random()
    const index = Math.floor(this.#random() * this.#live.length)
    const track = this.#live[index]
    if (!track || kind < 0.5) return await this.#create(name)
    if (kind < 0.7) return await this.#update(track, name)
    if (kind < 0.9) return await this.#read(track)
    this.#live.splice(index, 1)
    await this.#remove(track, name)
  }

  async #create(label: string): Promise<void> {
    const [isKeyed, isSpoilt] = [this.#random() < 0.7, this.#random() < 0.1]
    const step: Step = { name: label, action: 'created', outcome: 'unknown' }
    const track: Track = { label, id: null, steps: [step] }
    this.#ledger.tracks.set(label, track)
    const body = {
      site_id: this.#target.siteId,
      consent_id: label,
      accepted: isSpoilt ? 'yes' : this.#random() < 0.5,
      preferences: { step: label },
    }
    const headers = isKeyed ? { 'idempotency-key': `key of ${label}` } : {}
    for (let left = attempts; left > 0 && step.outcome === 'unknown'; left -= 1) {
      if (this.#stop()) left = Math.min(left, lastAttempts)
      const answer = await this.#send('create', 'POST', '', isSpoilt ? 400 : 201, body, headers)
      this.#settle(step, answer)
      if (answer.status === 201) {
        track.id = answer.body?.id ?? null
        this.#live.push(track)
      }
      if (!isKeyed) return
      if (step.outcome === 'unknown') await delay(50 + 100 * Math.random())
    }
  }

  async #update(track: Track, name: string): Promise<void> {
    const isSpoilt = this.#random() < 0.1
    const step: Step = { name, action: 'updated', outcome: 'unknown' }
    track.steps.push(step)
    const body = { preferences: { step: name }, ...(isSpoilt ? { accepted: 'yes' } : {}) }
    this.#settle(step, await this.#send('update', 'PUT', `/${track.id}`, isSpoilt ? 400 : 200, body))
  }

  async #remove(track: Track, name: string): Promise<void> {
    const step: Step = { name, action: 'deleted', outcome: 'unknown' }
    track.steps.push(step)
    this.#settle(step, await this.#send('remove', 'DELETE', `/${track.id}`, 200))
  }

  /** What is read is the last acknowledged write, or one that nobody knows of: those may still come about. */
  async #read({ id, label, steps }: Track): Promise<void> {
    const last = steps.findLastIndex(({ outcome }) => outcome === 'ok')
    const { status, body } = await this.#send('read', 'GET', `/${id}`, 200)
    const possible = steps.filter(({ outcome }, index) => index === last || outcome === 'unknown')
    const found = body?.preferences?.['step']
    if (status === 200 && !possible.some(({ name }) => name === found)) {
      this.#ledger.lies.push(`${label} was read as of ${found}`)
    }
  }

  #settle(step: Step, { status, body }: { status: number; body: Consent | null }): void {
    if (status >= 400 && status < 500) step.outcome = 'refused'
    if (status < 200 || status > 299) return
    step.outcome = 'ok'
    if (step.action !== 'deleted' && body?.preferences?.['step'] !== step.name) {
      this.#ledger.lies.push(`${step.name} was acknowledged with ${JSON.stringify(body)}`)
    }
  }

  async #send(
    name: string,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    expected: number,
    body?: object,
    headers = {},
  ): Promise<{ status: number; body: Consent | null }> {
    const at = performance.now()
    let status = 0
    let text = ''
    try {
      const answer = await request(`${this.#target.url}/api/v1/consents${path}`, {
        method,
        dispatcher: this.#agent,
        headers: {
          authorization: `Bearer ${this.#target.key}`,
          ...(body ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      text = await answer.body.text()
      status = answer.statusCode
      if (status === 503 && !answer.headers['retry-after']) this.#ledger.lies.push('a 503 had no Retry-After')
    } catch {
      await delay(20)
    }
    const ms = performance.now() - at
    const isExpected = status === expected
    this.#ledger.exchanges.push({ name, at, ms, status, isExpected, said: isExpected ? '' : text })
    return { status, body: status >= 200 && status < 300 ? (JSON.parse(text) as Consent) : null }
  }
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
