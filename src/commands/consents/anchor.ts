import type { Context } from '../../context.ts'
import type { Checkpoint } from '../../contract/documents/checkpoint.ts'
import { type AuditEntry, type InclusionProof, log } from '../../contract/index.ts'
import { dataError } from '../../errors/errors.ts'
import { explain } from '../../errors/explain.ts'
import { completeSize, isBackdated } from '../../evidence/dates.ts'
import { findCheckpointProblem } from '../../evidence/key-chain.ts'
import { isIncluded } from '../../evidence/proofs.ts'
import { readKept } from '../../receipts/kept-checkpoints.ts'
import type { VerificationRow } from '../../views/verification.ts'
import { instanceKeys } from '../verify/keys.ts'
import { readNewest } from '../verify/log.ts'

type Verified = Pick<VerificationRow, 'result' | 'detail'>

export interface Anchor {
  /** Completes "the history is …". */
  readonly basis: string
  /** `id` is in lower case; the hash chain of `entries` is verified. */
  verify(id: string, entries: readonly AuditEntry[]): Promise<Verified>
}

/**
 * Uses the newest checkpoint of the account in `file`; the instance's log must extend it.
 * @throws CliError if the file has none, or the instance has no log
 */
export async function openAnchor(ctx: Context, file: string): Promise<Anchor> {
  const kept = readKept(file)
  if (kept.text === null) throw dataError(`there is no file ${file}`, 'consentctl admin checkpoint creates one')
  const findKeys = instanceKeys(ctx)
  const newest = await readNewest(ctx, findKeys, 'verify without --checkpoint')
  const { account_id } = newest.checkpoint
  const own = kept.checkpoints.filter(({ checkpoint }) => checkpoint.account_id === account_id)
  const [anchor] = own.toSorted((one, other) => other.checkpoint.tree_size - one.checkpoint.tree_size)
  if (!anchor) throw dataError(`${file} has no checkpoint of the account ${account_id}`)
  const unsigned = findCheckpointProblem(anchor, (await findKeys('service')).byId)
  const problem = unsigned ? `the checkpoint that was kept ${unsigned}` : await newest.findGrowthProblem(anchor)
  const { created_at, tree_size } = anchor.checkpoint
  const basis = `under the checkpoint of ${created_at}`
  return {
    basis,
    verify: async (id, entries) => {
      if (problem !== null) return { result: 'not_valid', detail: problem }
      const proof = await findInclusion(ctx, id, tree_size)
      return verifyCovered(proof, entries, anchor.checkpoint)
    },
  }
}

/** Null if no entry of the record is in a tree of this size. */
async function findInclusion(ctx: Context, id: string, size: number): Promise<InclusionProof | null> {
  try {
    return await ctx.api.call(log.inclusion, { query: { record_id: id, tree_size: size } })
  } catch (error) {
    if (explain(error).status === 404) return null
    throw error
  }
}

/**
 * An entry's hash covers all previous entries. The instance chooses the entry, or claims that there is none, so later
 * entries must be newer than the checkpoint, unless the next one of the same run can cover them. The record's id has the
 * time of the first entry.
 */
function verifyCovered(proof: InclusionProof | null, entries: readonly AuditEntry[], anchor: Checkpoint): Verified {
  const problem = proof && findInclusionProblem(proof, entries, anchor)
  if (problem) return { result: 'not_valid', detail: problem }
  const { created_at, tree_size } = anchor
  const covered = proof?.version ?? 0
  const others = entries.slice(covered)
  const old = others.find(each => isBackdated(new Date(each.created_at), new Date(created_at)))
  if (old) {
    const detail = `version ${old.version} is dated ${old.created_at}, before the checkpoint of ${created_at}, which is not proved to have it`
    if (completeSize(anchor) === tree_size) return { result: 'not_valid', detail }
    return { result: 'unverifiable', detail: `${detail}; the next one of the same run may have it: keep a later one` }
  }
  if (!proof) return verifyNewer(entries, created_at)
  return {
    result: 'ok',
    detail: others.length > 0 ? `versions above ${covered} are not proved by the checkpoint` : null,
  }
}

/** Clocks differ: an entry dated before the checkpoint is neither newer nor certainly older. */
function verifyNewer(entries: readonly AuditEntry[], checkpointAt: string): Verified {
  const under = `in the log under the checkpoint of ${checkpointAt}`
  const doubtful = entries.find(each => Date.parse(each.created_at) <= Date.parse(checkpointAt))
  if (!doubtful)
    return {
      result: 'not_covered',
      detail: `it is not ${under}, and newer than that: the checkpoint does not vouch for it`,
    }
  const { version, created_at } = doubtful
  const detail = `version ${version} is dated ${created_at}, and not ${under}: it may be newer if a clock was slow; keep a later one`
  return { result: 'unverifiable', detail }
}

function findInclusionProblem(
  proof: InclusionProof,
  entries: readonly AuditEntry[],
  checkpoint: Checkpoint,
): string | null {
  const { version } = proof
  const entry = entries[version - 1]
  if (!entry) return `the log has version ${version}, and the history ends before it`
  return isIncluded(Buffer.from(entry.hash ?? '', 'hex'), proof, checkpoint)
    ? null
    : `version ${version} is not in the log under the checkpoint that was kept`
}
