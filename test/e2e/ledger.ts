import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Consent } from '../../src/contract/index.ts'
import { randomFrom } from './campaign.ts'

/** How often a client sends a create whose answer stays unknown, and how often when the others have stopped. */
const [attempts, lastAttempts] = [300, 5]

interface Tools {
  readonly agent: Agent
  readonly random: () => number
  readonly stop: () => boolean
}

/** One client: what it does is random, and goes into the ledger. */
export class Writer {
  /** The records that it has made and not begun to remove. */
  readonly #live: RecordHistory[] = []
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

  /** One random request, or as many as a create takes until it is answered. */
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
    const track: RecordHistory = { label, id: null, steps: [step] }
    this.#ledger.histories.set(label, track)
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

  async #update(track: RecordHistory, name: string): Promise<void> {
    const isSpoilt = this.#random() < 0.1
    const step: Step = { name, action: 'updated', outcome: 'unknown' }
    track.steps.push(step)
    const body = { preferences: { step: name }, ...(isSpoilt ? { accepted: 'yes' } : {}) }
    this.#settle(step, await this.#send('update', 'PUT', `/${track.id}`, isSpoilt ? 400 : 200, body))
  }

  async #remove(track: RecordHistory, name: string): Promise<void> {
    const step: Step = { name, action: 'deleted', outcome: 'unknown' }
    track.steps.push(step)
    this.#settle(step, await this.#send('remove', 'DELETE', `/${track.id}`, 200))
  }

  /** What is read is the last acknowledged write, or one that nobody knows of: those may still come about. */
  async #read({ id, label, steps }: RecordHistory): Promise<void> {
    const last = steps.findLastIndex(({ outcome }) => outcome === 'ok')
    const { status, body } = await this.#send('read', 'GET', `/${id}`, 200)
    const possible = steps.filter(({ outcome }, index) => index === last || outcome === 'unknown')
    const found = body?.preferences?.['step']
    if (status === 200 && !possible.some(({ name }) => name === found)) {
      this.#ledger.findContradictions.push(`${label} was read as of ${found}`)
    }
  }

  #settle(step: Step, { status, body }: { status: number; body: Consent | null }): void {
    if (status >= 400 && status < 500) step.outcome = 'refused'
    if (status < 200 || status > 299) return
    step.outcome = 'ok'
    step.acknowledgedAt = this.#ledger.clock()
    if (step.action !== 'deleted' && body?.preferences?.['step'] !== step.name) {
      this.#ledger.findContradictions.push(`${step.name} was acknowledged with ${JSON.stringify(body)}`)
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
      if (status === 503 && !answer.headers['retry-after'])
        this.#ledger.findContradictions.push('a 503 had no Retry-After')
    } catch {
      await delay(50)
    }
    const durationMs = performance.now() - at
    const isExpected = status === expected
    this.#ledger.requests.push({
      name,
      at,
      durationMs,
      status,
      isExpected,
      responseBody: isExpected ? '' : text,
    })
    return { status, body: status >= 200 && status < 300 ? (JSON.parse(text) as Consent) : null }
  }
}

/** Where clients write, and as whom. */
export interface Target {
  readonly url: string
  readonly accountId: string
  readonly key: string
  readonly siteId: string
}

/** A write that a client began; every one has a name of its own, which it stores in the record's preferences. */
export interface Step {
  readonly name: string
  readonly action: 'created' | 'updated' | 'deleted'
  /** `ok` where it was acknowledged, `refused` where the answer was a 4xx; otherwise nobody knows. */
  outcome: 'ok' | 'refused' | 'unknown'
  /** When it was acknowledged, by the ledger's clock, if it was. */
  acknowledgedAt?: number
}

/** What was done to one record, by the one client that knows of it, in order. */
export interface RecordHistory {
  /** The record's `consent_id`. */
  readonly label: string
  id: string | null
  readonly steps: Step[]
}

/** A request as its client saw it. Times are `performance.now()`. */
export interface LoggedRequest {
  readonly name: string
  readonly at: number
  readonly durationMs: number
  /** 0 if no response came. */
  readonly status: number
  readonly isExpected: boolean
  /** The body of an unexpected response; otherwise empty. */
  readonly responseBody: string
}

export interface Ledger {
  readonly seed: number
  readonly histories: Map<string, RecordHistory>
  readonly requests: LoggedRequest[]
  /** Acknowledgements and reads that contradict what the client had written. */
  readonly findContradictions: string[]
  readonly clock: () => number
}

interface Load {
  readonly clients: number
  /** Milliseconds between two requests of a client, on average. */
  readonly pause?: number
}

/** Longer than any server may take. */
const requestTimeoutMs = 15_000

/** A ledger whose clients draw from `CONSENTCTL_TEST_SEED`, or from a seed that is printed, so that it can be given again. */
export function newLedger(clock = () => performance.now()): Ledger {
  const seed = Number(process.env['CONSENTCTL_TEST_SEED'] || randomInt(2 ** 31))
  process.stderr.write(`ledger: CONSENTCTL_TEST_SEED=${seed}\n`)
  return { seed, histories: new Map(), requests: [], findContradictions: [], clock }
}

/**
 * Clients that create, change, read and remove records until `stop` is true, some of it badly on purpose. A lost answer
 * or a 5xx is neither success nor failure; a create with an Idempotency-Key is then sent again until its answer is known.
 */
export async function write(
  target: Target,
  ledger: Ledger,
  { clients, pause = 0 }: Load,
  stop: () => boolean,
): Promise<void> {
  const agent = new Agent({
    connections: clients,
    headersTimeout: requestTimeoutMs,
    bodyTimeout: requestTimeoutMs,
  })
  const client = async (number: number) => {
    const writer = new Writer(target, ledger, { agent, random: randomFrom(ledger.seed + number), stop })
    for (let count = 0; !stop(); count += 1) {
      await writer.act(`${number}-${count}`)
      if (pause > 0) await delay(pause * 2 * Math.random())
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  await agent.close()
}
