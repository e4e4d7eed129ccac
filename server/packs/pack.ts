import { setImmediate, setTimeout } from 'node:timers/promises'
import { createTar } from 'nanotar'
import type { EvidencePack } from '../../src/contract/documents/evidence-pack.ts'
import { type History, log } from '../../src/contract/index.ts'
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
import { readCheckpoint, type SignedCheckpoint, toSide } from '../../src/evidence/signed.ts'
import type { Caller } from '../auth/caller.ts'
import type { ConsentDeps } from '../consents/deps.ts'
import { issueReceipt } from '../consents/receipt.ts'
import { getConsent, getHistory } from '../consents/service.ts'
import { wholeAccount } from '../db/reach.ts'
import { findPlaces, type Place } from '../evidence/backdating.ts'
import { coverNow, type Log, shortestIntervalMs } from '../evidence/log.ts'
import { type Pause, proveGrowths, proveLeaves } from '../evidence/proofs.ts'
import { findCheckpoint, findLastCheckpoint, type Leaf, listTimestamps } from '../evidence/queries.ts'
import { listKeys } from '../evidence/signer.ts'
import { Failure, unavailable } from '../failure.ts'
import { findPublications } from '../notices/held-queries.ts'
import { findText } from '../notices/queries.ts'
import { describePack } from './describe.ts'
import { listEntriesAbout } from './queries.ts'

export type Deps = Pick<ConsentDeps, 'reads'> & Log

/** Each may need a proof and two checkpoints. */
const maxHistory = 500

/** Entries about the site and the actors: each needs a proof. */
const maxEntries = 200

/** All texts of a notice: the archive is built in memory. */
const maxTextBytes = 16 * 1024 * 1024

/**
 * Returns a tar archive, after verifying it whole. A key or a user who may make one gets a checkpoint with the record. Stops at `until`
 * (`performance.now()`), because a response that nobody receives would delay others.
 * @throws Failure like `issueReceipt`; `unavailable` until a checkpoint has the record, or at `until`; `conflict` if it
 * is too large or does not verify
 */
export async function issuePack(
  deps: Deps,
  caller: Caller,
  id: string,
  until: number,
  presented: Presented | null = null,
): Promise<Buffer> {
  const pause = async () => {
    await setImmediate()
    if (performance.now() > until) throw unavailable('The pack was not completed in time.')
  }
  const matched_at = new Date().toISOString()
  const collect = () => new Collection(deps, caller, id, pause, presented?.hmac).read()
  let collected = await collect()
  const mayCover = !caller.role || log.addCheckpoint.roles?.includes(caller.role)
  // The second wait is for a checkpoint that was just made without the record.
  for (const waitMs of mayCover ? [0, shortestIntervalMs] : []) {
    if (collected) break
    await setTimeout(waitMs)
    await pause()
    await coverNow(deps, caller.accountId)
    collected = await collect()
  }
  if (!collected) throw unavailable(`No checkpoint of the log covers the whole record ${id} yet.`)
  const { files, isTruncated } = collected
  const created_at = new Date().toISOString()
  const shown = presented && { presented: { subject_id: presented.subjectId, matched_at } }
  const sealing = { created_at, keyId: deps.signer.keyId, isTruncated, ...shown }
  for (const [name, text] of describePack(readPack(files), sealing)) files.set(name, Buffer.from(text))
  await pause()
  const list: Omit<EvidencePack, 'key_id'> = {
    type: 'evidence_pack',
    version: 1,
    created_at,
    account_id: caller.accountId,
    record_id: id,
    ...shown,
    files: listFiles(files),
  }
  files.set(listFile, Buffer.from(await deps.signer.sign(list)))
  await pause()
  const verdicts = await verifyPack(files, { hashed: list.files, pause })
  const wrong = verdicts.find(({ result }) => result !== 'valid')
  if (wrong)
    throw new Failure(
      'conflict',
      `The record ${id} does not verify: in ${wrong.file}, ${wrong.detail}. No pack was made.`,
    )
  const entries = [...files].map(([name, data]) => ({ name: `${id}/${name}`, data }))
  const { buffer } = createTar(entries, { attrs: { mode: '600', uid: 0, gid: 0 } })
  return Buffer.from(buffer as ArrayBuffer)
}

/** An identifier that equals the sealed one. */
interface Presented {
  readonly subjectId: string
  /** In hexadecimal. */
  readonly hmac: string
}

interface Collected {
  readonly files: Map<string, Buffer>
  /** Older entries of `administration/` were left out. */
  readonly isTruncated: boolean
}

export class Collection {
  readonly #deps: Deps
  readonly #caller: Caller
  readonly #id: string
  readonly #pause: Pause
  readonly #presented: string | null
  readonly #files = new Map<string, Buffer>()
  /** By the proof's file name. */
  readonly #leaves = new Map<string, Leaf>()
  /** Earlier ones, by size. */
  readonly #checkpoints = new Map<number, SignedCheckpoint>()

  constructor(deps: Deps, caller: Caller, id: string, pause: Pause = setImmediate, presented: string | null = null) {
    this.#deps = deps
    this.#caller = caller
    this.#id = id
    this.#pause = pause
    this.#presented = presented
  }

  /** Returns null if the record changed meanwhile, or is not entirely in the log yet. */
  async read(): Promise<Collected | null> {
    const { sql, signer } = this.#deps
    const { accountId } = this.#caller
    const readHistory = async () =>
      (await getHistory(this.#deps, this.#caller, this.#id, true, this.#presented)).history
    const history = await readHistory()
    if (history.data.length > maxHistory)
      throw new Failure(
        'conflict',
        `The record has more than ${maxHistory} events, too many for a pack: read its history instead.`,
      )
    this.#addJson('history.json', history)
    const { json: record } = await getConsent(this.#deps, this.#caller, this.#id, true)
    this.#add('record.json', Buffer.from(record))
    const { deleted_at, site_id, policy_version } = JSON.parse(record)
    await this.#pause()
    if (deleted_at === null) await this.addReceipt()
    await this.#pause()
    const last = await findLastCheckpoint(sql, accountId)
    const places = await findPlaces(sql, accountId, this.#id, signer.keyId)
    const isCovered = places.every(({ size }) => size !== null && size <= (last?.tree_size ?? 0))
    if (!last || !isCovered || JSON.stringify(await readHistory()) !== JSON.stringify(history)) return null
    this.#add('checkpoint.json', Buffer.from(last.document))
    await this.#pause()
    this.#addPlaces(places)
    if (history.notice_entry) await this.#addNotice(history.notice_entry, { siteId: site_id, version: policy_version })
    const isTruncated = await this.#addAdministration(history, site_id, last.tree_size)
    await this.#addProofs({ size: last.tree_size, root: last.root_hash })
    await this.#addKeys() // last: a key rotated meanwhile signed some files
    return { files: this.#files, isTruncated }
  }

  protected async addReceipt(): Promise<void> {
    const { text } = await issueReceipt(this.#deps, this.#caller, this.#id)
    this.#add('receipt.json', Buffer.from(text))
  }

  #add(name: string, content: Buffer): void {
    this.#files.set(name, content)
  }

  #addJson(name: string, value: object): void {
    this.#add(name, Buffer.from(JSON.stringify(value)))
  }

  /** Chooses the checkpoints between which each entry was logged; entries of one checkpoint share the proof of the last. */
  #addPlaces(places: readonly Place[]): void {
    for (const [index, place] of places.entries()) {
      const { version, size, after, before } = place
      const leaf = place as Leaf // a checkpoint covers each
      if (version === 1) this.#leaves.set('record-first.inclusion.json', leaf)
      if (places[index + 1]?.size === size) continue
      if (version === places.length) this.#leaves.set('record.inclusion.json', leaf)
      else if (version > 1) this.#leaves.set(`record-${version}.inclusion.json`, leaf)
      for (const checkpoint of [after, before]) if (checkpoint) this.#addCheckpoint(checkpoint)
    }
  }

  #addCheckpoint(signed: SignedCheckpoint): void {
    this.#checkpoints.set(signed.checkpoint.tree_size, signed)
  }

  #addEntry(file: string, document: string, leaf: Leaf): void {
    this.#add(file, Buffer.from(document))
    this.#leaves.set(proofOf(file), leaf)
  }

  async #addNotice(entry: number, site: { readonly siteId: string; readonly version: number }): Promise<void> {
    const { sql } = this.#deps
    const { accountId } = this.#caller
    const [publication] = await findPublications(sql, accountId, [entry])
    if (!publication || publication.leaf_index === null) return // verification reports it
    const { document, hash, leaf_index } = publication
    this.#addEntry('notice.json', document, { consent_id: accountId, version: entry, hash, leaf_index })
    const { texts } = readManifest(this.#files)
    if (texts.reduce((bytes, { size }) => bytes + size, 0) > maxTextBytes)
      throw new Failure('conflict', `The texts of its notice exceed ${maxTextBytes / 2 ** 20} MiB in total.`)
    for (const text of texts) {
      await this.#pause()
      const found = await findText(sql, { accountId, ...site }, text.language)
      if (found) this.#add(textFile(text), found.content)
    }
    const after = await findCheckpoint(sql, wholeAccount(accountId), { record_id: accountId, version: entry })
    const size = after === undefined ? 0 : readCheckpoint(after).checkpoint.previous_size
    const before = await findCheckpoint(sql, wholeAccount(accountId), { tree_size: size })
    for (const text of [after, before]) if (text !== undefined) this.#addCheckpoint(readCheckpoint(text))
  }

  /** Returns true if there are more. */
  async #addAdministration({ data, notice_entry }: History, siteId: string, size: number): Promise<boolean> {
    const targets = [...new Set([siteId, ...data.flatMap(({ actor_id }) => actor_id ?? [])])]
    const bounds = { size, except: notice_entry ?? 0, limit: maxEntries + 1 }
    const rows = await listEntriesAbout(this.#deps.sql, this.#caller.accountId, targets, bounds)
    for (const { document, ...leaf } of rows.slice(0, maxEntries))
      this.#addEntry(`administration/${leaf.version}.json`, document, leaf)
    return rows.length > maxEntries
  }

  async #addProofs(last: { readonly size: number; readonly root: Buffer }): Promise<void> {
    const { sql } = this.#deps
    const { accountId } = this.#caller
    const proofs = await proveLeaves(sql, accountId, [...this.#leaves.values()], last, this.#pause)
    for (const [index, file] of [...this.#leaves.keys()].entries()) this.#addJson(file, proofs[index] ?? {})
    const earlier = [...this.#checkpoints.values()].filter(({ checkpoint }) => checkpoint.tree_size < last.size)
    const firsts = earlier.map(({ checkpoint }) => toSide(checkpoint))
    const growths = await proveGrowths(sql, accountId, firsts, last, this.#pause)
    const stamps = await listTimestamps(sql, accountId, [...firsts.map(({ size }) => size), last.size])
    const addStamp = (file: string, size: number) => {
      const stamp = stamps.get(size)
      if (stamp) this.#add(file, stamp)
    }
    for (const [index, { checkpoint, text }] of earlier.entries()) {
      const { tree_size: first } = checkpoint
      const file = `checkpoints/${first}.json`
      this.#add(file, Buffer.from(text))
      this.#addJson(consistencyOf(file), { first, second: last.size, path: growths[index] })
      addStamp(file.replace(/json$/, 'tsr'), first)
    }
    addStamp('checkpoint.tsr', last.size)
  }

  async #addKeys(): Promise<void> {
    const keys = await listKeys(this.#deps.sql, this.#deps.signer.keyId)
    this.#addJson('consent-keys.json', { keys })
    for (const { kid, pem } of keys) this.#add(`keys/${kid}.pem`, Buffer.from(pem))
  }
}
