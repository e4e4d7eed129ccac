import { describeKept, orLonger } from '../contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../contract/documents/erasure-receipt.ts'
import { sealedLimit } from '../contract/subjects.ts'

/**
 * The sentences of receipts and of their verification. `src/evidence/sentences.md` has the observation that justifies each,
 * and tests check that each is not said for any other.
 */

export function describeVerification({ live, deleted }: ErasureReceipt['verification'], isPurged = false): string {
  if (deleted === null) return `${live} not deleted; deleted ones were not shown`
  return `${live} not deleted; ${deleted} deleted, which ${isPurged ? 'held data then' : 'hold data until they are purged'}`
}

export type Told = Pick<
  ErasureReceipt,
  'result' | 'counts' | 'verification' | 'statement' | 'account_id' | 'near_matches' | 'purge' | 'unverified'
> & { readonly records: readonly Pick<ErasureReceipt['records'][number], 'id' | 'result'>[] }

interface Phrase {
  holds(receipt: Told): boolean
  page(receipt: Told): string
  /** `where` is `profile@host`. */
  terminal(receipt: Told, where: string): string
}

const dueCount = (receipt: Told) => receipt.counts.deleted - receipt.unverified.length
const isFound = ({ result }: Told) => result === 'erased' || result === 'remaining'
const records = (count: number) => `${count} ${count === 1 ? 'record' : 'records'}`
const were = (count: number) => (count === 1 ? 'was' : 'were')

/** Names the account, because a key sees only its own records. */
function describeScope(account_id: string | null): string {
  return account_id === null ? 'among the records that the key can see' : `in the account ${account_id}`
}

interface Kept {
  readonly proofs: number
  readonly until: string
}

/** Such as `2 sealed proofs until INSTANT, or longer while a legal hold stands`. From `limit` on there may be more. */
export function formatProofs(kept: readonly Kept[] = [], limit = Number.POSITIVE_INFINITY): string {
  const count = kept.reduce((sum, { proofs }) => sum + proofs, 0)
  const last = kept
    .map(({ until }) => until)
    .sort()
    .at(-1)
  return `${count}${count >= limit ? ' or more' : ''} sealed ${count === 1 ? 'proof' : 'proofs'} until ${last}, ${orLonger}`
}

/** All phrases that hold are used, in this order. */
const phrases: readonly Phrase[] = [
  {
    holds: ({ result, verification }) => result === 'no_data_held' && verification.deleted !== null,
    page: ({ account_id }) =>
      `No record was listed under the identifiers of this person ${describeScope(account_id)}, deleted or not. Nothing was deleted.`,
    terminal: ({ account_id }, where) => `no data held on ${where} ${describeScope(account_id)}`,
  },
  {
    holds: ({ result, verification }) => result === 'no_data_held' && verification.deleted === null,
    page: ({ account_id }) =>
      `No undeleted record was listed under the identifiers of this person ${describeScope(account_id)}; records deleted before were not shown. Nothing was deleted.`,
    terminal: ({ account_id }, where) =>
      `no live data held on ${where} ${describeScope(account_id)}; records deleted before were not shown`,
  },
  {
    holds: ({ result }) => result === 'nothing_live',
    page: ({ verification, account_id }) =>
      `No undeleted record of this person was held ${describeScope(account_id)}; ${verification.deleted} deleted before still hold data until they are purged.`,
    terminal: ({ verification, account_id }, where) =>
      `nothing live on ${where} ${describeScope(account_id)}; ${records(verification.deleted ?? 0)} deleted before, and held until the purge`,
  },
  {
    holds: ({ result }) => result === 'proofs_kept',
    page: ({ account_id }) =>
      `No record was listed under the identifiers of this person ${describeScope(account_id)}. Nothing was deleted.`,
    terminal: ({ account_id }, where) => `no record listed on ${where} ${describeScope(account_id)}`,
  },
  {
    holds: receipt => isFound(receipt) && dueCount(receipt) > 0 && !receipt.purge,
    page: receipt =>
      `${records(dueCount(receipt))} ${were(dueCount(receipt))} ${receipt.statement}. The audit trail is kept; after a purge it is pseudonymous, not anonymous.`,
    terminal: (receipt, where) => `erased ${records(dueCount(receipt))} on ${where}: ${receipt.statement}`,
  },
  {
    holds: receipt => isFound(receipt) && receipt.unverified.length > 0 && !receipt.purge,
    page: ({ unverified: { length } }) =>
      `**${records(length)} ${were(length)} logically deleted, and did not verify, or not in the time of the call: no purge takes a record whose history does not verify.**`,
    terminal: ({ unverified: { length } }, where) =>
      `erased ${records(length)} on ${where} that did not verify, or not in the time of the call: no purge takes a record whose history does not verify`,
  },
  {
    holds: receipt => isFound(receipt) && receipt.counts.deleted === 0,
    page: () => 'No record is known to have been deleted by this job.',
    terminal: (_, where) => `erased 0 records on ${where}`,
  },
  {
    holds: ({ counts }) => counts.already_gone > 0,
    page: ({ counts }) => `No longer there, and not deleted by this job: ${records(counts.already_gone)}.`,
    terminal: ({ counts }) => `${records(counts.already_gone)} already gone`,
  },
  {
    holds: ({ counts }) => counts.unknown > 0,
    page: ({ counts }) => `Of ${counts.unknown} that are no longer there, it is not known who deleted them.`,
    terminal: ({ counts }) => `${records(counts.unknown)} gone, not known who deleted them`,
  },
  {
    holds: ({ verification }) => verification.live > 0,
    page: ({ verification }) => `**${records(verification.live)} of this person remained or were created meanwhile.**`,
    terminal: ({ verification }) => `${records(verification.live)} of the subject remained or were created meanwhile`,
  },
  {
    holds: ({ verification }) => verification.sealed_proofs !== undefined,
    page: ({ verification }) =>
      `Kept of records of this person that were purged before: ${formatProofs(verification.sealed_proofs, sealedLimit)}. A sealed proof is a keyed hash of the identifier, and the answers.`,
    terminal: ({ verification }) =>
      `kept of records purged before: ${formatProofs(verification.sealed_proofs, sealedLimit)}`,
  },
  {
    holds: ({ near_matches }) => (near_matches ?? 0) > 0,
    page: ({ near_matches }) =>
      `Near matches: ${near_matches}, identifiers with records that differ from these only in case, blanks or Unicode form. None of their records was part of this.`,
    terminal: ({ near_matches }) =>
      `${near_matches} near ${near_matches === 1 ? 'match' : 'matches'} with records not part of this`,
  },
]

/** Omits the sentence of a purge. */
export function describeOnPage(receipt: Told): string {
  const holding = phrases.filter(phrase => phrase.holds(receipt))
  return holding.map(phrase => phrase.page(receipt)).join(' ')
}

export function describeOnTerminal(receipt: Told, where: string): string {
  const holding = phrases.filter(phrase => phrase.holds(receipt))
  return holding.map(phrase => phrase.terminal(receipt, where)).join('; ')
}

export interface LiveSeen {
  readonly receipt: Pick<ErasureReceipt, 'account_id'>
  /** Account of the key; null if unknown. */
  readonly account_id: string | null
  readonly isSubjectListed: boolean
  /** Ids, including those in the subject's list. */
  readonly live: readonly string[]
  readonly deleted: readonly string[]
  readonly unknown: readonly string[]
}

interface Described<State extends string> {
  readonly state: State
  readonly text: string
}

export function describeLive(seen: LiveSeen): Described<'live' | 'unknown' | 'gone'> {
  const { receipt, account_id, isSubjectListed, live, deleted, unknown } = seen
  if (receipt.account_id !== null && account_id !== null && receipt.account_id !== account_id)
    return {
      state: 'unknown',
      text: `unknown to this key: it is of the account ${account_id}, and the receipt of ${receipt.account_id}`,
    }
  if (live.length > 0) return { state: 'live', text: `${records(live.length)} live: ${some(live)}` }
  if (unknown.length > 0)
    return {
      state: 'unknown',
      text: `${records(unknown.length)} unknown to this key: ${some(unknown)}; of another account, or gone without a trace`,
    }
  const parts = [
    ...(deleted.length === 0 ? [] : [`${records(deleted.length)} of the receipt shown as deleted`]),
    ...(isSubjectListed ? [`no live record of the subject ${describeScope(account_id)}`] : []),
  ]
  return { state: 'gone', text: parts.join(', and ') }
}

export interface PurgeSeen {
  readonly purged: readonly string[]
  /** Records that the service did not certify. */
  readonly others: readonly string[]
  /** Records that the key cannot see. */
  readonly unknown: readonly string[]
  readonly certificates: readonly string[]
}

export function describePurged({
  purged,
  others,
  unknown,
  certificates,
}: PurgeSeen): Described<'purged' | 'not_yet' | 'unknown'> {
  if (others.length > 0)
    return {
      state: 'not_yet',
      text: `${purged.length} certified as purged, and ${records(others.length)} not: ${some(others)}`,
    }
  if (unknown.length > 0)
    return { state: 'unknown', text: `${records(unknown.length)} unknown to this key: ${some(unknown)}` }
  return {
    state: 'purged',
    text: `${records(purged.length)} of the receipt: personal data purged${describeKept(purged, certificates)}, certified by the service`,
  }
}

function some(ids: readonly string[]): string {
  return `${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ` and ${ids.length - 3} more` : ''}`
}
