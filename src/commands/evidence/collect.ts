import { setTimeout } from 'node:timers/promises'
import { callOptional, instanceLabel } from '../../cli/messages.ts'
import type { Client } from '../../client/client.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import type { AnyCheckpoint } from '../../contract/documents/checkpoint.ts'
import {
  type AuditEntry,
  audit,
  type Consent,
  type History,
  type InclusionProof,
  notices,
} from '../../contract/index.ts'
import { log } from '../../contract/log.ts'
import { receipt as receiptEndpoint } from '../../contract/receipt.ts'
import { signingKeys } from '../../contract/signing-keys.ts'
import { showsDeleted } from '../../erasure/records.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import { proofOf, readManifest, textFile } from '../../evidence/pack.ts'
import { readCheckpoint } from '../../evidence/signed.ts'
import { tlogProof } from '../../evidence/tlog.ts'

type Files = Map<string, Buffer>

/** Longest wait for an entry that the log does not have yet, and a record that is being changed. */
const longestWaitMs = 5000
const pollMs = 1000

/** @throws CliError `not_offered` if the instance has no log */
export async function requireLog(ctx: Context): Promise<void> {
  if (await ctx.api.supports(log.inclusion)) return
  throw new CliError('not_offered', exit.usage, `${instanceLabel(ctx)} has no log, which would prove anything`, {
    hint: 'consentctl history ID -o json shows what it knows of a record',
  })
}

/** Reads what proves a record. @throws CliError not_in_log (exit 7) if that is not in the log in time */
export async function collectPack(ctx: Context, id: string): Promise<Files> {
  const deadline = Date.now() + longestWaitMs
  const canCover = await ctx.api.supports(log.addCheckpoint)
  for (let waitMs = canCover ? 0 : pollMs; ; waitMs = pollMs) {
    const found = await collectNow(ctx, id)
    if (found) return found
    if (Date.now() >= deadline) throw notInLog(ctx, id)
    await setTimeout(waitMs, undefined, { signal: ctx.interruption }).catch(() => {})
    ctx.interruption.throwIfAborted()
    if (canCover) await ctx.api.text(log.addCheckpoint, {})
  }
}

function notInLog(ctx: Context, id: string): CliError {
  return new CliError(
    'not_in_log',
    exit.temporary,
    `the log of ${instanceLabel(ctx)} does not have all of the record ${id} yet: nothing was written`,
    {
      hint: 'run this again after its next checkpoint, which is made every CHECKPOINT_MINUTES (60 unless it is configured)',
    },
  )
}

/** Returns null if the record was changed meanwhile, or is not in the log yet. */
async function collectNow(ctx: Context, id: string): Promise<Files | null> {
  const { api } = ctx
  const params = { id }
  const readHistory = () => api.text(consents.history, { params, query: { details: true } })
  const history = await readHistory()
  const query = (await showsDeleted(api, consents.get)) ? { include_deleted: true } : {}
  const record = await api.text(consents.get, { params, query })
  const receipt = await orNull(() => api.text(receiptEndpoint, { params }), [404, 409])
  if ((await readHistory()) !== history) return null
  const checkpoint = receipt === null ? await newestCheckpoint(ctx) : checkpointOf(receipt)
  if (checkpoint === null) return null
  const files = toFiles({ 'record.json': record, 'history.json': history, 'checkpoint.json': checkpoint })
  if (receipt !== null) files.set('receipt.json', Buffer.from(receipt))
  const prove = provingIn(ctx, files, readCheckpoint(checkpoint).checkpoint)
  const entries = readEntries(history)
  const isProved =
    (await prove('record-first.inclusion.json', id, 1)) && (await prove('record.inclusion.json', id, entries.length))
  if (!isProved) return null
  await addAdministration(ctx, files, prove)
  await addRenderings(ctx, files)
  await addNewer(ctx, files)
  await addKeys(ctx, files) // last: a key that is rotated meanwhile has signed some of the others
  return files
}

function readEntries(history: string): Pick<AuditEntry, 'changed_by' | 'actor_id'>[] {
  return (JSON.parse(history) as { data: AuditEntry[] }).data
}

/** Adds the proof that an entry of a record or of the account is in the log. Returns false if it is not. */
type Prove = (file: string, record_id: string, version: number) => Promise<boolean>

function provingIn({ api }: Context, files: Files, { tree_size }: Pick<AnyCheckpoint, 'tree_size'>): Prove {
  return async (file, record_id, version) => {
    const proof = await orNull(() => api.text(log.inclusion, { query: { record_id, version, tree_size } }), [404])
    if (proof !== null) files.set(file, Buffer.from(proof))
    return proof !== null
  }
}

/** Adds the notice, and what was changed of the site and of who changed the record. Newer entries than the checkpoint are left out. */
async function addAdministration(ctx: Context, files: Files, prove: Prove): Promise<void> {
  const { api } = ctx
  if (!(await api.supports(audit.list))) return
  const { site_id, policy_version } = JSON.parse(String(files.get('record.json'))) as Consent
  const history = JSON.parse(String(files.get('history.json'))) as History
  const { account_id } = checkpointIn(files)
  const actors = history.data.flatMap(({ actor_id }) => actor_id ?? [])
  for (const target of new Set([site_id ?? [], actors].flat()))
    for await (const { version, document } of entriesOf(api, target)) {
      const isNotice = version === history.notice_entry
      const file = isNotice ? 'notice.json' : `administration/${version}.json`
      if (files.has(file) || !(await prove(proofOf(file), account_id, version))) continue
      files.set(file, Buffer.from(document))
    }
  if (!files.has('notice.json') || site_id === null) return
  for (const text of readManifest(files).texts) {
    const params = { id: site_id, version: String(policy_version), language: text.language }
    files.set(textFile(text), await api.bytes(notices.getText, { params }))
  }
}

async function* entriesOf(api: Client, target: string): AsyncGenerator<{ version: number; document: string }> {
  for (let cursor: string | undefined; ; ) {
    const page = await api.call(audit.list, { query: { target, limit: '100', ...(cursor && { cursor }) } })
    yield* page.data
    if (page.next_cursor === null) return
    cursor = page.next_cursor
  }
}

/** Adds the checkpoint and its proofs in the formats of C2SP, and its time stamp, where the instance has them. */
async function addRenderings({ api }: Context, files: Files): Promise<void> {
  const { tree_size } = checkpointIn(files)
  const stamp = await orNull(() => api.bytes(log.timestamp, { query: { tree_size } }), [404])
  if (stamp) files.set('checkpoint.tsr', stamp)
  const note = await orNull(() => api.bytes(log.tlogCheckpoint, { query: { tree_size } }), [404])
  if (!note) return
  files.set('checkpoint.tlog', note)
  for (const name of ['record', 'notice']) {
    const proof = files.get(`${name}.inclusion.json`)
    if (!proof) continue
    const { leaf_index, path } = JSON.parse(String(proof)) as InclusionProof
    files.set(`${name}.tlog-proof`, Buffer.from(tlogProof(leaf_index, path, String(note))))
  }
}

function checkpointIn(files: Files): AnyCheckpoint {
  return readCheckpoint(String(files.get('checkpoint.json'))).checkpoint
}

function toFiles(texts: Readonly<Record<string, string>>): Files {
  return new Map(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text)]))
}

/** Returns null if the receipt was signed before its record was in the log. */
function checkpointOf(receipt: string): string | null {
  const { inclusion } = JSON.parse(receipt) as { inclusion?: { checkpoint: string } | null }
  return inclusion?.checkpoint ?? null
}

/** Returns null if there is none yet. */
async function newestCheckpoint({ api }: Context): Promise<string | null> {
  return await orNull(() => api.text(log.checkpoint, {}), [404])
}

async function addKeys(ctx: Context, files: Files): Promise<void> {
  const without = { message: `${instanceLabel(ctx)} publishes no keys`, hint: 'nothing could be verified without them' }
  const text = await callOptional(ctx.api, signingKeys.list, () => ctx.api.text(signingKeys.list, {}), without)
  files.set('consent-keys.json', Buffer.from(text))
  for (const { kid, pem, crv } of (JSON.parse(text) as { keys: Record<string, string>[] }).keys)
    if (crv === 'Ed25519' && pem !== undefined) files.set(`keys/${kid}.pem`, Buffer.from(pem))
}

/** Adds a checkpoint that was made since, so that the log is seen to have only grown. */
async function addNewer(ctx: Context, files: Files): Promise<void> {
  const first = checkpointIn(files).tree_size
  const newest = await newestCheckpoint(ctx)
  const second = newest === null ? 0 : readCheckpoint(newest).checkpoint.tree_size
  if (newest === null || second <= first) return
  files.set('newer-checkpoint.json', Buffer.from(newest))
  files.set('consistency.json', Buffer.from(await ctx.api.text(log.consistency, { query: { first, second } })))
}

/** Returns null for a response of one of these statuses. */
async function orNull<T>(call: () => Promise<T>, statuses: readonly number[]): Promise<T | null> {
  try {
    return await call()
  } catch (error) {
    if (statuses.includes(explain(error).status ?? 0)) return null
    throw error
  }
}
