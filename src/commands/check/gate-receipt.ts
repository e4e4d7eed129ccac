import type { Context } from '../../context.ts'
import type { CheckedMany } from '../../contract/check.ts'
import { type GateReceipt, isAllowedBy, notTold, policyVersionsLimit } from '../../contract/documents/gate-receipt.ts'
import { log } from '../../contract/log.ts'
import { exit } from '../../errors/errors.ts'
import { exitOf } from '../../errors/explain.ts'
import { readCheckpoint, signDocument } from '../../evidence/signed.ts'
import type { Signer } from '../../receipts/signer.ts'

export interface GateQuestion {
  readonly purpose: string
  readonly siteId: string | undefined
  readonly at: string | undefined
  readonly onlyWitnessed: boolean
  readonly unknown: GateReceipt['unknown']
}

type Answer = CheckedMany['answers'][number]

/** What a receipt says of the lines, in constant memory. */
export class GateCounts {
  readonly #reasons = new Map<string, { allowed: boolean; lines: number }>()
  readonly #versions = new Map<string, { site_id: string; policy_version: number; lines: number }>()
  #first: string | null = null
  #last: string | null = null
  nearMatches = 0

  /** Null for a line that was not asked for. Returns true if the line is allowed. */
  add(answer: Answer | null, unknown: GateReceipt['unknown']): boolean {
    const isAllowed = answer !== null && answer.allowed !== false && isAllowedBy(answer.reason, unknown)
    const reason = answer?.reason ?? notTold
    const count = this.#reasons.get(reason) ?? { allowed: isAllowed, lines: 0 }
    this.#reasons.set(reason, { ...count, lines: count.lines + 1 })
    if (answer?.near_matches) this.nearMatches += 1
    if (isAllowed) this.#addVersion(answer)
    return isAllowed
  }

  addTime(at: string): void {
    if (this.#first === null || at < this.#first) this.#first = at
    if (this.#last === null || at > this.#last) this.#last = at
  }

  linesOf(isAllowed: boolean): number {
    return this.reasons()
      .filter(({ allowed }) => allowed === isAllowed)
      .reduce((total, { lines }) => total + lines, 0)
  }

  get notTold(): number {
    return this.#reasons.get(notTold)?.lines ?? 0
  }

  /** True if accepted records have no answer for the purpose, and none of the others consents or consented. */
  get isPurposeUnknown(): boolean {
    const unknown: readonly string[] = ['no_record', 'purpose_not_answered', 'refused', notTold]
    return this.#reasons.has('purpose_not_answered') && [...this.#reasons.keys()].every(name => unknown.includes(name))
  }

  reasons(): GateReceipt['reasons'] {
    const all = [...this.#reasons].map(([reason, count]) => ({ reason, ...count }))
    return all.sort((one, other) => (one.reason < other.reason ? -1 : 1))
  }

  describe(): Pick<GateReceipt, 'reasons' | 'near_matches' | 'policy_versions' | 'first_answer_at' | 'last_answer_at'> {
    const versions = [...this.#versions].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, count]) => count)
    return {
      reasons: this.reasons(),
      near_matches: this.nearMatches,
      policy_versions: versions.length > policyVersionsLimit ? null : versions,
      first_answer_at: this.#first,
      last_answer_at: this.#last,
    }
  }

  #addVersion({ site_id, policy_version }: Answer): void {
    if (site_id === null || policy_version === null) return
    const key = `${site_id} ${String(policy_version).padStart(10, '0')}`
    if (this.#versions.size > policyVersionsLimit && !this.#versions.has(key)) return
    const lines = (this.#versions.get(key)?.lines ?? 0) + 1
    this.#versions.set(key, { site_id, policy_version, lines })
  }
}

/** Null if the instance returns none: it has no log, or no checkpoint yet. */
export async function readLastCheckpoint({ api }: Pick<Context, 'api'>): Promise<GateReceipt['checkpoint']> {
  if (!(await api.supports(log.checkpoint))) return null
  try {
    const { tree_size, root_hash, created_at } = readCheckpoint(await api.text(log.checkpoint, {})).checkpoint
    return { tree_size, root_hash, created_at }
  } catch (error) {
    if (error instanceof SyntaxError || exitOf(error) === exit.notFound) return null
    throw error
  }
}

interface Gate {
  readonly question: GateQuestion
  readonly counts: GateCounts
  readonly checkpoint: GateReceipt['checkpoint']
  readonly files: Pick<GateReceipt, 'list' | 'allowed' | 'stopped'>
  readonly validForMs: number
}

export function signGateReceipt(
  { key, instance, account_id, api_key_id, profile, who, host, site_ids }: Signer,
  { question, counts, checkpoint, files, validForMs }: Gate,
): string {
  const now = Date.now()
  const { purpose, siteId, at, onlyWitnessed, unknown } = question
  const receipt: GateReceipt = {
    type: 'gate_receipt',
    version: 1,
    key_id: key.id,
    ...{ instance, account_id, api_key_id, profile, who, host },
    purpose,
    site_id: siteId ?? null,
    key_site_ids: site_ids && [...site_ids],
    at: at ?? null,
    only_witnessed: onlyWitnessed,
    unknown,
    ...files,
    ...counts.describe(),
    checkpoint,
    created_at: new Date(now).toISOString(),
    valid_until: new Date(now + validForMs).toISOString(),
  }
  return signDocument(receipt, key.key)
}
