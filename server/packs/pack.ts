import { createTar } from 'nanotar'
import type { EvidencePack } from '../../src/contract/documents/evidence-pack.ts'
import type { History } from '../../src/contract/index.ts'
import {
  consistencyOf,
  listFile,
  listFiles,
  proofOf,
  readManifest,
  readPack,
  textFile,
} from '../../src/evidence/pack.ts'
import { verifyPack } from '../../src/evidence/pack-checks.ts'
import { readCheckpoint, type SignedCheckpoint } from '../../src/evidence/signed.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsentDeps } from '../consents/deps.ts'
import { issueReceipt } from '../consents/receipt.ts'
import { getConsent, getHistory } from '../consents/service.ts'
import { findPlaces, type Place } from '../evidence/backdating.ts'
import { coverNow, type Log } from '../evidence/log.ts'
import { getConsistency, getInclusion } from '../evidence/proofs.ts'
import { findCheckpoint, findLastCheckpoint, findTimestamp } from '../evidence/queries.ts'
import { listKeys } from '../evidence/signer.ts'
import { Failure, unavailable } from '../failure.ts'
import { findPublications } from '../notices/held-queries.ts'
import { findText } from '../notices/queries.ts'
import { listEntriesAbout } from './queries.ts'
import { formatReadme } from './readme.ts'

export type Deps = Pick<ConsentDeps, 'reads'> & Log

/** Of entries about the site and the actors: each needs a proof. */
const maxEntries = 200

/** Of all texts of a notice: the archive is made in memory. */
const maxTextBytes = 16 * 1024 * 1024

/**
 * Returns a tar archive, after verifying it whole. An owner or a key gets a checkpoint with the record.
 * @throws Failure as `issueReceipt`; `unavailable` until a checkpoint has the record; `conflict` if it does not verify
 */
export async function issuePack(deps: Deps, caller: Caller, id: string): Promise<Buffer> {
  let files = await new Collection(deps, caller, id).read()
  if (!files && caller.role !== 'reader') {
    await coverNow(deps, caller.accountId)
    files = await new Collection(deps, caller, id).read()
  }
  if (!files) throw unavailable(`No checkpoint of the log has all of the record ${id} yet.`)
  const pack = readPack(files)
  const created_at = new Date().toISOString()
  files.set('README.txt', Buffer.from(formatReadme(pack, { createdAt: created_at, keyId: deps.signer.keyId })))
  const list: Omit<EvidencePack, 'key_id'> = {
    type: 'evidence_pack',
    version: 1,
    created_at,
    account_id: caller.accountId,
    record_id: id,
    files: listFiles(files),
  }
  files.set(listFile, Buffer.from(await deps.signer.sign(list)))
  const wrong = (await verifyPack(files)).find(({ result }) => result !== 'valid')
  if (wrong)
    throw new Failure(
      'conflict',
      `The record ${id} does not verify: of ${wrong.file}, ${wrong.detail}. It has no pack.`,
    )
  const entries = [...files].map(([name, data]) => ({ name: `${id}/${name}`, data }))
  return Buffer.from(createTar(entries, { attrs: { mode: '600', uid: 0, gid: 0 } }))
}

export class Collection {
  readonly #deps: Deps
  readonly #caller: Caller
  readonly #id: string
  readonly #files = new Map<string, Buffer>()
  #size = 0

  constructor(deps: Deps, caller: Caller, id: string) {
    this.#deps = deps
    this.#caller = caller
    this.#id = id
  }

  /** Returns null if the record changed meanwhile, or the log does not have all of it yet. */
  async read(): Promise<Map<string, Buffer> | null> {
    const { sql, signer } = this.#deps
    const readHistory = () => getHistory(this.#deps, this.#caller, this.#id, true)
    const history = await readHistory()
    this.#addJson('history.json', history)
    const record = await getConsent(this.#deps, this.#caller, this.#id, true)
    this.#add('record.json', record)
    const { deleted_at, site_id, policy_version } = JSON.parse(record)
    if (deleted_at === null) await this.addReceipt()
    const last = await findLastCheckpoint(sql, this.#caller.accountId)
    const places = await findPlaces(sql, this.#caller.accountId, this.#id, signer.keyId)
    const isCovered = places.every(({ size }) => size !== null && size <= (last?.tree_size ?? 0))
    if (!last || !isCovered || JSON.stringify(await readHistory()) !== JSON.stringify(history)) return null
    this.#size = last.tree_size
    this.#add('checkpoint.json', last.document)
    await this.#addStamp('checkpoint.tsr', last.tree_size)
    await this.#addPlaces(places)
    if (history.notice_entry) await this.#addNotice(history.notice_entry, { siteId: site_id, version: policy_version })
    await this.#addAdministration(history, site_id)
    await this.#addKeys() // last: a key rotated meanwhile signed some files
    return this.#files
  }

  protected async addReceipt(): Promise<void> {
    this.#add('receipt.json', await issueReceipt(this.#deps, this.#caller, this.#id))
  }

  #add(name: string, content: string | Buffer): void {
    this.#files.set(name, Buffer.from(content as string))
  }

  #addJson(name: string, value: object): void {
    this.#add(name, JSON.stringify(value))
  }

  async #prove(name: string, record_id: string, version: number): Promise<void> {
    const query = { record_id, version, tree_size: this.#size }
    this.#addJson(name, await getInclusion(this.#deps, this.#caller.accountId, query))
  }

  /** Adds the checkpoints between which the log got each entry; those of one checkpoint share the last one's proof. */
  async #addPlaces(places: readonly Place[]): Promise<void> {
    await this.#prove('record-first.inclusion.json', this.#id, 1)
    await this.#prove('record.inclusion.json', this.#id, places.length)
    for (const [index, { version, size, after, before }] of places.entries()) {
      if (places[index + 1]?.size === size) continue
      if (version > 1 && version < places.length)
        await this.#prove(`record-${version}.inclusion.json`, this.#id, version)
      for (const checkpoint of [after, before]) if (checkpoint) await this.#addCheckpoint(checkpoint)
    }
  }

  async #addCheckpoint({ checkpoint: { tree_size: first }, text }: SignedCheckpoint): Promise<void> {
    const file = `checkpoints/${first}.json`
    if (first >= this.#size || this.#files.has(file)) return
    this.#add(file, text)
    const query = { first, second: this.#size }
    this.#addJson(consistencyOf(file), await getConsistency(this.#deps, this.#caller.accountId, query))
    await this.#addStamp(file.replace(/json$/, 'tsr'), first)
  }

  async #addStamp(file: string, size: number): Promise<void> {
    const stamp = await findTimestamp(this.#deps.sql, this.#caller.accountId, size)
    if (stamp) this.#add(file, stamp)
  }

  async #addEntry(file: string, { version, document }: { version: number; document: string }): Promise<void> {
    this.#add(file, document)
    await this.#prove(proofOf(file), this.#caller.accountId, version)
  }

  /** The notice of the record, with its texts. */
  async #addNotice(entry: number, site: { readonly siteId: string; readonly version: number }): Promise<void> {
    const { sql } = this.#deps
    const { accountId } = this.#caller
    const [publication] = await findPublications(sql, accountId, [entry])
    if (!publication) return // verification reports it
    await this.#addEntry('notice.json', publication)
    const { texts } = readManifest(this.#files)
    if (texts.reduce((bytes, { size }) => bytes + size, 0) > maxTextBytes)
      throw new Failure('conflict', `The texts of its notice are larger than ${maxTextBytes / 2 ** 20} MiB together.`)
    for (const text of texts) {
      const found = await findText(sql, { accountId, ...site }, text.language)
      if (found) this.#add(textFile(text), Buffer.from(found.content))
    }
    const after = await findCheckpoint(sql, accountId, { record_id: accountId, version: entry })
    const size = after === undefined ? 0 : readCheckpoint(after).checkpoint.previous_size
    const before = await findCheckpoint(sql, accountId, { tree_size: size })
    for (const text of [after, before]) if (text !== undefined) await this.#addCheckpoint(readCheckpoint(text))
  }

  /** The newest entries about the site and the actors. */
  async #addAdministration({ data, notice_entry }: History, siteId: string): Promise<void> {
    const targets = [...new Set([siteId, ...data.flatMap(({ actor_id }) => actor_id ?? [])])]
    const bounds = { size: this.#size, limit: maxEntries }
    for (const row of await listEntriesAbout(this.#deps.sql, this.#caller.accountId, targets, bounds))
      if (row.version !== notice_entry) await this.#addEntry(`administration/${row.version}.json`, row)
  }

  async #addKeys(): Promise<void> {
    const keys = await listKeys(this.#deps.sql, this.#deps.signer.keyId)
    this.#addJson('consent-keys.json', { keys })
    for (const { kid, pem } of keys) this.#add(`keys/${kid}.pem`, pem)
  }
}
