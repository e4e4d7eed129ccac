import { setTimeout } from 'node:timers/promises'
import { callOptional, instanceLabel } from '../../cli/messages.ts'
import type { Context } from '../../context.ts'
import { consents } from '../../contract/consents.ts'
import { log } from '../../contract/log.ts'
import { receipt as receiptEndpoint } from '../../contract/receipt.ts'
import { signingKeys } from '../../contract/signing-keys.ts'
import { showsDeleted } from '../../erasure/records.ts'
import { CliError, exit } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import { readCheckpoint } from '../../evidence/signed.ts'

type Files = Map<string, Buffer>

/** How long an entry is waited for that the log does not have yet, and a record that is being changed. */
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
  for (;;) {
    const found = await collectNow(ctx, id)
    if (found) return found
    if (Date.now() >= deadline) throw notInLog(ctx, id)
    await setTimeout(pollMs, undefined, { signal: ctx.interruption })
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
  const { tree_size } = readCheckpoint(checkpoint).checkpoint
  const { data } = JSON.parse(history) as { data: unknown[] }
  const proofs = {
    'record-first.inclusion.json': { record_id: id, version: 1 },
    'record.inclusion.json': { record_id: id, version: data.length },
  }
  for (const [file, of] of Object.entries(proofs)) {
    const proof = await orNull(() => api.text(log.inclusion, { query: { ...of, tree_size } }), [404])
    if (proof === null) return null
    files.set(file, Buffer.from(proof))
  }
  await addKeys(ctx, files)
  await addNewer(ctx, files, tree_size)
  return files
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
async function addNewer(ctx: Context, files: Files, first: number): Promise<void> {
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
