import { deletedIds, describePurge } from '../contract/documents/deletion-statement.ts'
import type { ErasureReceipt, ErasureResult } from '../contract/documents/erasure-receipt.ts'
import type { Sentence } from '../receipts/sentence.ts'

/**
 * All sentences of a receipt, each with the observation that justifies it. Tests check that each is false for any other
 * observation.
 */

export interface RecordSeen {
  readonly answer: 'deleted' | 'absent'
  /** Relative to the job's start; null if unknown. */
  readonly deletedAt: 'before' | 'since' | null
  /** True if an earlier response was lost. */
  readonly mayBeOwn: boolean
  /** True if listed as live by the verification. */
  readonly isListed: boolean
}

/** `records[].result`; exactly one holds. */
export const recordSentences: Readonly<Record<ErasureResult, Sentence<RecordSeen>>> = {
  deleted: {
    entitledBy:
      'the instance answered that it deleted the record; or the answer was lost, and it shows a deletion during the job',
    holds: ({ answer, deletedAt, mayBeOwn, isListed }) =>
      !isListed && (answer === 'deleted' ? deletedAt !== 'before' : mayBeOwn && deletedAt === 'since'),
  },
  already_gone: {
    entitledBy:
      'the record was not there, and no deletion by the job may have been carried out; or the instance shows a deletion before the job',
    holds: ({ answer, deletedAt, mayBeOwn, isListed }) =>
      !isListed && (deletedAt === 'before' || (answer === 'absent' && !mayBeOwn)),
  },
  unknown: {
    entitledBy: 'the record was not there, the answer to a deletion was lost, and the instance does not say when',
    holds: ({ answer, deletedAt, mayBeOwn, isListed }) =>
      !isListed && answer === 'absent' && mayBeOwn && deletedAt === null,
  },
  remaining: {
    entitledBy: 'the instance listed the record as live when it was verified, whatever its deletion was answered',
    holds: ({ isListed }) => isListed,
  },
}

export interface ErasureSeen {
  /** Live, before the deletion. */
  readonly found: number
  readonly live: number
  /** Null if not shown. */
  readonly deleted: number | null
}

/** `result`; exactly one holds. */
export const resultSentences: Readonly<Record<ErasureReceipt['result'], Sentence<ErasureSeen>>> = {
  erased: {
    entitledBy: 'records were found, and none was live when it was verified',
    holds: ({ found, live }) => found > 0 && live === 0,
  },
  no_data_held: {
    entitledBy: 'no live record was listed, then or when it was verified, and the instance showed no deleted one',
    holds: ({ found, live, deleted }) => found === 0 && live === 0 && (deleted ?? 0) === 0,
  },
  nothing_live: {
    entitledBy: 'no live record was found, then or when it was verified, but the instance holds deleted ones',
    holds: ({ found, live, deleted }) => found === 0 && live === 0 && (deleted ?? 0) > 0,
  },
  remaining: {
    entitledBy: 'a live record was listed when it was verified',
    holds: ({ live }) => live > 0,
  },
}

/** `isPurge`: after the purge. */
type Verification = ErasureReceipt['verification'] & { readonly isPurge: boolean }

/** All that hold are shown. */
export const verificationSentences: Readonly<
  Record<string, Sentence<Verification> & { text(seen: Verification): string }>
> = {
  live: {
    entitledBy: 'the instance listed or counted live records after the deletion',
    holds: () => true,
    text: ({ live }) => `${live} live`,
  },
  deleted: {
    entitledBy: 'the instance showed deleted records',
    holds: ({ deleted, isPurge }) => deleted !== null && !isPurge,
    text: ({ deleted }) => `${deleted} deleted, which hold data until they are purged`,
  },
  heldThen: {
    entitledBy: 'the instance showed deleted records, before the purge that the receipt is of',
    holds: ({ deleted, isPurge }) => deleted !== null && isPurge,
    text: ({ deleted }) => `${deleted} deleted, which held data then`,
  },
  notShown: {
    entitledBy: 'the instance did not show deleted records',
    holds: ({ deleted }) => deleted === null,
    text: () => 'deleted ones were not shown',
  },
}

export function describeVerification(verification: Verification): string {
  return Object.values(verificationSentences)
    .filter(sentence => sentence.holds(verification))
    .map(sentence => sentence.text(verification))
    .join('; ')
}

type Told = Pick<
  ErasureReceipt,
  'result' | 'counts' | 'verification' | 'statement' | 'account_id' | 'near_matches' | 'purge' | 'unverified'
> & { readonly records: readonly Pick<ErasureReceipt['records'][number], 'id' | 'result'>[] }

interface PagePhrase extends Sentence<Told> {
  page(receipt: Told): string
}

interface Phrase extends PagePhrase {
  terminal(receipt: Told, where: string): string
}

const dueCount = (receipt: Told) => receipt.counts.deleted - receipt.unverified.length
const isFound = ({ result }: Told) => result === 'erased' || result === 'remaining'
const nearMatches = (count: number) => `${count} near ${count === 1 ? 'match' : 'matches'}`
const records = (count: number) => `${count} ${count === 1 ? 'record' : 'records'}`

/** Names the account, because a key sees only its own records. */
export function describeScope(account_id: string | null): string {
  return account_id === null ? 'among the records that the key can see' : `in the account ${account_id}`
}

const certifiedPurge = (receipt: Told) =>
  receipt.purge ? describePurge(deletedIds(receipt), receipt.purge.certificates) : null
const repeats = ({ purge }: Told) =>
  `Apart from the purge, this page repeats receipt ${purge?.receipt.number}, of the erasure, and is of its time.`

/** Shown first; separate because the dashboard has no purge receipts. */
export const purgePhrases = {
  purged: {
    entitledBy: 'certificates in the receipt of a purge name each record that was deleted, with the time of its purge',
    holds: receipt => certifiedPurge(receipt) !== null,
    page: receipt => `P${certifiedPurge(receipt)?.slice(1)}. ${repeats(receipt)}`,
  },
  purgeNotCertified: {
    entitledBy: 'the receipt is of a purge, and its certificates do not name each record; none is signed so',
    holds: receipt => receipt.purge !== undefined && certifiedPurge(receipt) === null,
    page: receipt =>
      `Personal data of ${records(deletedIds(receipt).length)} was purged by ${receipt.purge?.finished_at}, as stated by the signer: its certificates do not name each record. ${repeats(receipt)}`,
  },
} satisfies Readonly<Record<string, PagePhrase>>

/** All that hold, in this order. */
export const phrases = {
  nothingHeld: {
    entitledBy: 'no record was listed, and the instance shows deleted records',
    holds: ({ result, verification }) => result === 'no_data_held' && verification.deleted !== null,
    page: ({ account_id }) =>
      `No record was listed under the identifiers of this person ${describeScope(account_id)}, live or deleted. Nothing was deleted.`,
    terminal: ({ account_id }, where) => `no data held on ${where} ${describeScope(account_id)}`,
  },
  nothingSeen: {
    entitledBy: 'no live record was listed, and deleted ones were not shown',
    holds: ({ result, verification }) => result === 'no_data_held' && verification.deleted === null,
    page: ({ account_id }) =>
      `No live record was listed under the identifiers of this person ${describeScope(account_id)}; records deleted before were not shown. Nothing was deleted.`,
    terminal: ({ account_id }, where) =>
      `no live data held on ${where} ${describeScope(account_id)}; records deleted before were not shown`,
  },
  nothingLive: {
    entitledBy: 'no live record was listed, but deleted ones were shown',
    holds: ({ result }) => result === 'nothing_live',
    page: ({ verification, account_id }) =>
      `Nothing live was held on this person ${describeScope(account_id)}; ${verification.deleted} deleted before still hold data until they are purged.`,
    terminal: ({ verification, account_id }, where) =>
      `nothing live on ${where} ${describeScope(account_id)}; ${records(verification.deleted ?? 0)} deleted before, and held until the purge`,
  },
  deleted: {
    entitledBy: 'records were deleted by the job; when they are purged is the word of the certificates',
    holds: receipt => isFound(receipt) && dueCount(receipt) > 0 && !receipt.purge,
    page: receipt =>
      `${records(dueCount(receipt))} ${dueCount(receipt) === 1 ? 'was' : 'were'} ${receipt.statement}. The audit trail is kept; after a purge it is pseudonymous, not anonymous.`,
    terminal: (receipt, where) => `erased ${records(dueCount(receipt))} on ${where}: ${receipt.statement}`,
  },
  unverified: {
    entitledBy:
      'records were deleted by the job, and the service said that their history did not verify, or not in the time of the call',
    holds: receipt => isFound(receipt) && receipt.unverified.length > 0 && !receipt.purge,
    page: ({ unverified }) =>
      `**${records(unverified.length)} ${unverified.length === 1 ? 'was' : 'were'} logically deleted, and did not verify, or not in the time of the call: no purge takes a record whose history does not verify.**`,
    terminal: ({ unverified }, where) =>
      `erased ${records(unverified.length)} on ${where} that did not verify, or not in the time of the call: no purge takes a record whose history does not verify`,
  },
  noneDeleted: {
    entitledBy: 'records were found, and none is known to have been deleted by the job',
    holds: receipt => isFound(receipt) && receipt.counts.deleted === 0,
    page: () => 'No record is known to have been deleted by this job.',
    terminal: (_, where) => `erased 0 records on ${where}`,
  },
  alreadyGone: {
    entitledBy: 'records were deleted by somebody else',
    holds: ({ counts }) => counts.already_gone > 0,
    page: ({ counts }) => `Already gone: ${records(counts.already_gone)}.`,
    terminal: ({ counts }) => `${records(counts.already_gone)} already gone`,
  },
  unknown: {
    entitledBy: 'records are gone, and the answers to their deletions were lost',
    holds: ({ counts }) => counts.unknown > 0,
    page: ({ counts }) => `Of ${counts.unknown}, now gone, it is not known who deleted them.`,
    terminal: ({ counts }) => `${records(counts.unknown)} gone, not known who deleted them`,
  },
  remaining: {
    entitledBy: 'live records were listed when it was verified',
    holds: ({ verification }) => verification.live > 0,
    page: ({ verification }) => `**${records(verification.live)} of this person remained or were created meanwhile.**`,
    terminal: ({ verification }) => `${records(verification.live)} of the subject remained or were created meanwhile`,
  },
  nearMatches: {
    entitledBy:
      'the service named, when it was verified, identifiers with records that it compares as the same, and that are none of these',
    holds: ({ near_matches }) => (near_matches ?? 0) > 0,
    page: ({ near_matches }) =>
      `Near matches: ${near_matches}, identifiers with records that differ from these only in case, blanks or Unicode form. None of their records was part of this.`,
    terminal: ({ near_matches }) => `${nearMatches(near_matches ?? 0)} with records not part of this`,
  },
} satisfies Readonly<Record<string, Phrase>>

export function describeOnPage(receipt: Told, shown: Readonly<Record<string, PagePhrase>> = phrases): string {
  return holding(receipt, shown)
    .map(phrase => phrase.page(receipt))
    .join(' ')
}

/** `where` is `profile@host`. */
export function describeOnTerminal(receipt: Told, where: string): string {
  return holding<Phrase>(receipt, phrases)
    .map(phrase => phrase.terminal(receipt, where))
    .join('; ')
}

function holding<P extends PagePhrase>(receipt: Told, all: Readonly<Record<string, P>>): P[] {
  return Object.values(all).filter(phrase => phrase.holds(receipt))
}

export interface LiveSeen {
  readonly receipt: Pick<ErasureReceipt, 'account_id'>
  /** Of the key; null if unknown. */
  readonly account_id: string | null
  readonly isSubjectListed: boolean
  /** Ids, including the subject's list. */
  readonly live: readonly string[]
  readonly deleted: readonly string[]
  readonly unknown: readonly string[]
}

function isOtherAccount({ receipt, account_id }: LiveSeen): boolean {
  return receipt.account_id !== null && account_id !== null && receipt.account_id !== account_id
}

/** `subject verify --live`; exactly one holds. */
export const liveSentences = {
  otherAccount: {
    entitledBy: 'the service says that the key is of another account than the one that the receipt names',
    holds: isOtherAccount,
    text: ({ receipt, account_id }) =>
      `unknown to this key: it is of the account ${account_id}, and the receipt of ${receipt.account_id}`,
  },
  live: {
    entitledBy: 'the service returned a record of the receipt as live, or listed one of the subject',
    holds: seen => !isOtherAccount(seen) && seen.live.length > 0,
    text: ({ live }) => `${records(live.length)} live: ${some(live)}`,
  },
  unknown: {
    entitledBy: 'a record is a 404 for the key, and its history is too',
    holds: seen => !isOtherAccount(seen) && seen.live.length === 0 && seen.unknown.length > 0,
    text: ({ unknown }) =>
      `${records(unknown.length)} unknown to this key: ${some(unknown)}; of another account, or gone without a trace`,
  },
  gone: {
    entitledBy: 'the service showed each record as deleted, by the record or by its history, and listed no other one',
    holds: seen => !isOtherAccount(seen) && seen.live.length + seen.unknown.length === 0,
    text: ({ deleted, account_id, isSubjectListed }) =>
      [
        ...(deleted.length === 0 ? [] : [`${records(deleted.length)} of it: shown as deleted`]),
        ...(isSubjectListed ? [`no live record of the subject ${describeScope(account_id)}`] : []),
      ].join(', and '),
  },
} satisfies Readonly<Record<string, Sentence<LiveSeen> & { text(seen: LiveSeen): string }>>

/** `subject verify --live`, for certificates that passed all checks. */
export const certificateSentences = {
  named: {
    entitledBy:
      'each names the receipt’s account, the requests of its records, and exactly the records that these deleted',
    holds: () => true,
    text: ({ count }) =>
      `${count} of the service, each signed by a key that it publishes, for the records of this receipt by id`,
  },
} satisfies Readonly<Record<string, Sentence<{ count: number }> & { text(seen: { count: number }): string }>>

export interface PurgeSeen {
  readonly purged: readonly string[]
  /** Not certified by the service. */
  readonly others: readonly string[]
  /** Not visible to the key. */
  readonly unknown: readonly string[]
}

/** `subject verify --purged`; exactly one holds. */
export const purgeSentences = {
  purged: {
    entitledBy: 'the service signed, with a key that it publishes, that personal data of each record is gone',
    holds: ({ others, unknown }) => others.length + unknown.length === 0,
    text: ({ purged }) => `${records(purged.length)} of it: personal data purged, certified by the service`,
  },
  notYet: {
    entitledBy: 'the service has records of the receipt, and does not certify that they are purged',
    holds: ({ others }) => others.length > 0,
    text: ({ purged, others }) =>
      `${purged.length} certified as purged, and ${records(others.length)} not: ${some(others)}`,
  },
  unknown: {
    entitledBy: 'the service does not show a record to the key',
    holds: ({ others, unknown }) => others.length === 0 && unknown.length > 0,
    text: ({ unknown }) => `${records(unknown.length)} unknown to this key: ${some(unknown)}`,
  },
} satisfies Readonly<Record<string, Sentence<PurgeSeen> & { text(seen: PurgeSeen): string }>>

function some(ids: readonly string[]): string {
  return `${ids.slice(0, 3).join(', ')}${ids.length > 3 ? ` and ${ids.length - 3} more` : ''}`
}
