import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.ts'
import { type Event, events } from '../../contract/events.ts'
import { log } from '../../contract/log.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { findCheckpointProblem } from '../../evidence/key-chain.ts'
import { MerkleTree } from '../../evidence/merkle.ts'
import { readCheckpoint, type SignedCheckpoint } from '../../evidence/signed.ts'
import { requirePublishedKeys } from '../verify/keys.ts'
import type { Place } from './place.ts'

/** A checkpoint is requested this often, and the events up to it are compared with it. */
const intervalMs = 600_000

/** Compares the Merkle tree of the hashes of all events with signed checkpoints. */
export class Proof {
  readonly #ctx: Context
  readonly #tree: MerkleTree
  #next: SignedCheckpoint | null = null
  #asked = Number.NEGATIVE_INFINITY

  constructor(ctx: Context, tree: MerkleTree) {
    this.#ctx = ctx
    this.#tree = tree
  }

  get tree(): NonNullable<Place['tree']> {
    return { size: this.#tree.size, frontier: this.#tree.frontier.toString('hex') }
  }

  /** @throws CliError `not_proved` (exit 5) for a gap, or another root than that of a checkpoint */
  async add(page: readonly Event[]): Promise<void> {
    if (page.length === 0 && this.#next) throw this.#missing(this.#next)
    for (const { position, hash } of page) {
      if (position !== this.#tree.size) throw notProved(`the event ${this.#tree.size} is missing, before ${position}`)
      this.#tree.append(Buffer.from(hash, 'hex'))
      this.#compare()
    }
    const isDue = !this.#next && performance.now() - this.#asked >= intervalMs
    if (isDue && this.#tree.size > 0) await this.#ask()
  }

  /** Requests a checkpoint of what there is now. */
  async #ask(): Promise<void> {
    this.#asked = performance.now()
    const next = readCheckpoint(await this.#ctx.api.text(log.addCheckpoint, {}))
    const problem = findCheckpointProblem(next, await requirePublishedKeys(this.#ctx))
    if (problem) throw notProved(`the newest checkpoint ${problem}`)
    if (next.checkpoint.tree_size < this.#tree.size) return // made less than a second ago: the next one is compared
    this.#next = next
    this.#compare()
    if (this.#next && !(await findEvent(this.#ctx, this.#tree.size))) throw this.#missing(next)
  }

  #missing({ checkpoint: { created_at } }: SignedCheckpoint): CliError {
    return notProved(`the event ${this.#tree.size} is missing, which the checkpoint of ${created_at} has`)
  }

  #compare(): void {
    const { tree_size, root_hash, created_at } = this.#next?.checkpoint ?? {}
    if (tree_size !== this.#tree.size) return
    if (root_hash !== this.#tree.root.toString('hex'))
      throw notProved(`the events up to ${tree_size - 1} are not those of the checkpoint of ${created_at}`)
    this.#next = null
  }
}

/** The tree of the events up to a position, by the proof of the last of them. */
export async function treeUpTo(ctx: Pick<Context, 'api'>, after: number | null): Promise<MerkleTree> {
  if (after === null) return new MerkleTree()
  const { api } = ctx
  await coverPosition(ctx, after)
  const { path } = await api.call(log.inclusion, { query: { leaf_index: String(after), tree_size: String(after + 1) } })
  const frontier = Buffer.concat(path.toReversed().map(hash => Buffer.from(hash, 'hex')))
  const tree = new MerkleTree(after, frontier)
  const event = await findEvent(ctx, after)
  if (!event) throw notProved(`the event ${after} is missing`)
  tree.append(Buffer.from(event.hash, 'hex'))
  return tree
}

const maxAttempts = 5

/** Until a checkpoint has the event: none is made within a second of another. */
async function coverPosition({ api }: Pick<Context, 'api'>, position: number): Promise<void> {
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const { checkpoint } = readCheckpoint(await api.text(log.addCheckpoint, {}))
    if (checkpoint.tree_size > position) return
    await delay(1000)
  }
}

async function findEvent({ api }: Pick<Context, 'api'>, position: number): Promise<Event | undefined> {
  const query = { limit: 1, ...(position > 0 && { after: position - 1 }) }
  const [event] = (await api.call(events.list, { query })).data
  return event?.position === position ? event : undefined
}

function notProved(message: string): CliError {
  return new CliError('not_proved', exit.rejected, `the events do not match the signed log: ${message}`, {
    hint: 'consentctl admin verify names what was changed; keep the file of --state as evidence',
  })
}
