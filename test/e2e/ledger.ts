import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { randomFrom, Writer } from './writer.ts'

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
}

/** What was done to one record, by the one client that knows of it, in order. */
export interface Track {
  /** The record's `consent_id`. */
  readonly label: string
  id: string | null
  readonly steps: Step[]
}

/** A request as its client saw it; times are `performance.now()`. */
export interface Exchange {
  readonly name: string
  readonly at: number
  readonly ms: number
  /** 0 where no answer came. */
  readonly status: number
  readonly isExpected: boolean
  /** The body of an answer that was not expected. */
  readonly said: string
}

export interface Ledger {
  readonly seed: number
  readonly tracks: Map<string, Track>
  readonly exchanges: Exchange[]
  /** Acknowledgements and reads that contradict what the client had written. */
  readonly lies: string[]
}

interface Load {
  readonly clients: number
  /** Milliseconds between two requests of a client, on average. */
  readonly pause?: number
}

/** Milliseconds after which a client gives an answer up: later than any server may be. */
const patience = 15_000

/** A ledger whose clients draw from `CONSENTCTL_TEST_SEED`, or from a seed that is printed, so that it can be given again. */
export function newLedger(): Ledger {
  const seed = Number(process.env['CONSENTCTL_TEST_SEED'] || randomInt(2 ** 31))
  process.stderr.write(`ledger: CONSENTCTL_TEST_SEED=${seed}\n`)
  return { seed, tracks: new Map(), exchanges: [], lies: [] }
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
  const agent = new Agent({ connections: clients, headersTimeout: patience, bodyTimeout: patience })
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
