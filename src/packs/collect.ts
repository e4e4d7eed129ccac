import type { Client } from '../client/client.ts'
import { api } from '../contract/api.ts'
import type { Checkpoint } from '../contract/documents/checkpoint.ts'
import type { ConsentReceipt } from '../contract/documents/consent-receipt.ts'
import type { Consent, History, InclusionProof } from '../contract/index.ts'
import { consistencyOf, proofOf, textFile } from '../evidence/pack-names.ts'
import { tlogProof } from '../evidence/tlog-proof.ts'
import { type Collected, manifestOf } from './content.ts'

export interface Collecting {
  readonly client: Pick<Client, 'call' | 'text' | 'bytes' | 'supports'>
  /** Rejects to cancel. */
  readonly pause: (ms: number) => Promise<void>
  /** Files so far; 0 until the log has the record. */
  readonly onFiles?: (count: number) => void
}

const longestWaitMs = 5000
const pollMs = 1000

/** Verifies nothing. Null if the log does not have the record within `longestWaitMs`. */
export async function collectPack(collecting: Collecting, id: string): Promise<Collected | null> {
  const { client, pause } = collecting
  const deadline = Date.now() + longestWaitMs
  const canCover = await client.supports(api.log.addCheckpoint)
  for (let waitMs = canCover ? 0 : pollMs; ; waitMs = pollMs) {
    const found = await new Collection(collecting, id).read()
    if (found || Date.now() >= deadline) return found
    collecting.onFiles?.(0)
    await pause(waitMs)
    if (canCover) await orNull(() => client.text(api.log.addCheckpoint, {}), [403]) // a reader waits for the next checkpoint
  }
}

class Collection {
  readonly #client: Collecting['client']
  readonly #onFiles: Collecting['onFiles']
  readonly #id: string
  readonly #files = new Map<string, string | Uint8Array>()

  constructor({ client, onFiles }: Collecting, id: string) {
    this.#client = client
    this.#onFiles = onFiles
    this.#id = id
  }

  /** Null if the record changed meanwhile, or is not in the log yet. */
  async read(): Promise<Collected | null> {
    const params = { id: this.#id }
    const readHistory = () => this.#client.text(api.consents.history, { params, query: { details: true } })
    const history = await readHistory()
    const showsDeleted = await this.#client.supports(api.consents.get, { in: 'query', name: 'include_deleted' })
    const query = showsDeleted ? { include_deleted: true } : {}
    const record = await this.#client.text(api.consents.get, { params, query })
    const receipt = await orNull(() => this.#client.text(api.consents.receipt, { params }), [404])
    if ((await readHistory()) !== history) return null
    if (receipt !== null && (JSON.parse(receipt) as Partial<ConsentReceipt>).inclusion == null) return null
    const checkpoint = await orNull(() => this.#client.text(api.log.checkpoint, {}), [404])
    if (checkpoint === null) return null
    this.#add('record.json', record)
    this.#add('history.json', history)
    this.#add('checkpoint.json', checkpoint)
    if (receipt !== null) this.#add('receipt.json', receipt)
    const versions = this.#json<History>('history.json').data.length
    const isProved =
      (await this.#prove('record-first.inclusion.json', this.#id, 1)) &&
      (await this.#prove('record.inclusion.json', this.#id, versions))
    if (!isProved) return null
    await this.#addAdministration()
    await this.#addEarlier(versions)
    await this.#addRenderings()
    await this.#addKeys() // last: a key rotated meanwhile signed some files
    return this.#files
  }

  #add(name: string, content: string | Uint8Array): void {
    this.#files.set(name, content)
    this.#onFiles?.(this.#files.size)
  }

  #json<T>(name: string): T {
    return JSON.parse(String(this.#files.get(name))) as T
  }

  get #checkpoint(): Checkpoint {
    return this.#json('checkpoint.json')
  }

  /** False if the log does not have the entry. */
  async #prove(file: string, record_id: string, version: number): Promise<boolean> {
    const query = { record_id, version, tree_size: this.#checkpoint.tree_size }
    const proof = await orNull(() => this.#client.text(api.log.inclusion, { query }), [404])
    if (proof !== null) this.#add(file, proof)
    return proof !== null
  }

  /** The notice, and entries about the site and the actors, up to the checkpoint. */
  async #addAdministration(): Promise<void> {
    if (!(await this.#client.supports(api.audit.list))) return
    const { site_id, policy_version } = this.#json<Consent>('record.json')
    const { data, notice_entry } = this.#json<History>('history.json')
    const { account_id } = this.#checkpoint
    const targets = new Set([site_id ?? [], ...data.map(({ actor_id }) => actor_id ?? [])].flat())
    for (const target of targets)
      for await (const { version, document } of this.#entriesOf(target)) {
        const file = version === notice_entry ? 'notice.json' : `administration/${version}.json`
        if (this.#files.has(file) || !(await this.#prove(proofOf(file), account_id, version))) continue
        this.#add(file, document)
      }
    if (!this.#files.has('notice.json') || site_id === null) return
    for (const text of manifestOf(this.#json('notice.json')).texts) {
      const params = { id: site_id, version: String(policy_version), language: text.language }
      this.#add(textFile(text), await this.#client.bytes(api.notices.getText, { params }))
    }
  }

  async *#entriesOf(target: string): AsyncGenerator<{ version: number; document: string }> {
    for (let cursor: string | undefined; ; ) {
      const query = { target, limit: '100', ...(cursor && { cursor }) }
      const page = await this.#client.call(api.audit.list, { query })
      yield* page.data
      if (page.next_cursor === null) return
      cursor = page.next_cursor
    }
  }

  /** C2SP copies and timestamp, if available. */
  async #addRenderings(): Promise<void> {
    const query = { tree_size: this.#checkpoint.tree_size }
    await this.#addStamp('checkpoint.tsr', query.tree_size)
    const note = await orNull(() => this.#client.bytes(api.log.tlogCheckpoint, { query }), [404])
    if (!note) return
    this.#add('checkpoint.tlog', note)
    for (const name of ['record', 'notice']) {
      if (!this.#files.has(`${name}.inclusion.json`)) continue
      const { leaf_index, path } = this.#json<InclusionProof>(`${name}.inclusion.json`)
      this.#add(`${name}.tlog-proof`, tlogProof(leaf_index, path, new TextDecoder().decode(note)))
    }
  }

  async #addStamp(file: string, tree_size: number): Promise<void> {
    const stamp = await orNull(() => this.#client.bytes(api.log.timestamp, { query: { tree_size } }), [404])
    if (stamp) this.#add(file, stamp)
  }

  /**
   * Adds the checkpoints between which the log got the notice and each entry; entries of one checkpoint share the last
   * one's proof.
   */
  async #addEarlier(versions: number): Promise<void> {
    for (let version = 1; version <= versions; ) {
      const tree_size = await this.#addBracket(this.#id, version)
      const query = { record_id: this.#id, tree_size }
      const last = version === versions ? version : (await this.#client.call(api.log.inclusion, { query })).version
      if (last > 1 && last < versions) await this.#prove(`record-${last}.inclusion.json`, this.#id, last)
      version = last + 1
    }
    const { notice_entry } = this.#json<History>('history.json')
    if (this.#files.has('notice.json')) await this.#addBracket(this.#checkpoint.account_id, notice_entry ?? 1)
  }

  /** Size of the first checkpoint with the entry. */
  async #addBracket(record_id: string, version: number): Promise<number> {
    const text = await this.#client.text(api.log.checkpoint, { query: { record_id, version } })
    const { tree_size, previous_size } = JSON.parse(text) as Checkpoint
    await this.#addCheckpoint(tree_size, text)
    const query = { tree_size: previous_size }
    if (previous_size > 0)
      await this.#addCheckpoint(previous_size, await this.#client.text(api.log.checkpoint, { query }))
    return tree_size
  }

  async #addCheckpoint(first: number, text: string): Promise<void> {
    const second = this.#checkpoint.tree_size
    const file = `checkpoints/${first}.json`
    if (first >= second || this.#files.has(file)) return
    this.#add(file, text)
    this.#add(consistencyOf(file), await this.#client.text(api.log.consistency, { query: { first, second } }))
    await this.#addStamp(file.replace(/json$/, 'tsr'), first)
  }

  async #addKeys(): Promise<void> {
    this.#add('consent-keys.json', await this.#client.text(api.signingKeys.list, {}))
    const { keys } = this.#json<{ keys: Record<string, string>[] }>('consent-keys.json')
    for (const { kid, pem, crv } of keys) if (crv === 'Ed25519' && pem !== undefined) this.#add(`keys/${kid}.pem`, pem)
  }
}

async function orNull<T>(call: () => Promise<T>, statuses: readonly number[]): Promise<T | null> {
  try {
    return await call()
  } catch (error) {
    if (statuses.includes(Number((error as { status?: number }).status))) return null
    throw error
  }
}
