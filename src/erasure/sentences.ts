import type { ErasureReceipt, ErasureResult } from '../contract/documents/erasure-receipt.ts'

/**
 * Every sentence that a receipt can say, with the observation that entitles it. A receipt cannot be taken back: it says
 * only what is in these tables, and a test holds each sentence to be false for any other observation.
 */

interface Sentence<Seen> {
  readonly entitledBy: string
  holds(seen: Seen): boolean
}

export interface RecordSeen {
  /** `absent` if the record is not there. */
  readonly answer: 'deleted' | 'absent'
  /** Deletion time relative to the start of the job; null if the instance does not say. */
  readonly deletedAt: 'before' | 'since' | null
  /** True if an earlier deletion by the job may have been carried out, because its answer was lost. */
  readonly mayBeOwn: boolean
  /** True if the instance listed the record as live in the verification. */
  readonly isListed: boolean
}

/** `records[].result`: exactly one holds for each record. */
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
  deleted_in_bulk: {
    entitledBy: 'nothing: earlier versions wrote it of records that the service had counted and not named',
    holds: () => false,
  },
}

export interface ErasureSeen {
  /** Live records found before anything was deleted. */
  readonly found: number
  /** Live records listed in the verification. */
  readonly live: number
  /** Deleted records in the verification that were not purged yet; null if the instance did not show them. */
  readonly deleted: number | null
}

/** `result`: exactly one holds for each erasure. */
export const resultSentences: Readonly<Record<ErasureReceipt['result'], Sentence<ErasureSeen>>> = {
  erased: {
    entitledBy: 'records were found, and none was live when it was verified',
    holds: ({ found, live }) => found > 0 && live === 0,
  },
  no_data_held: {
    entitledBy: 'no live record was found, then or when it was verified, and the instance showed no deleted one',
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

type Verification = ErasureReceipt['verification']

/** All that hold are on the page. */
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
    holds: ({ deleted }) => deleted !== null,
    text: ({ deleted }) => `${deleted} deleted, which hold data until they are purged`,
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

type Told = Pick<ErasureReceipt, 'result' | 'counts' | 'verification' | 'statement'>

/** A sentence for people, on the page and on the terminal. */
interface Phrase extends Sentence<Told> {
  page(receipt: Told): string
  terminal(receipt: Told, where: string): string
}

const deletedCount = ({ counts }: Told) => counts.deleted + counts.deleted_in_bulk
const isFound = ({ result }: Told) => result === 'erased' || result === 'remaining'
const records = (count: number) => `${count} ${count === 1 ? 'record' : 'records'}`

/** All that hold are shown, in this order. */
export const phrases = {
  nothingHeld: {
    entitledBy: 'no data was held, and the instance shows deleted records',
    holds: ({ result, verification }) => result === 'no_data_held' && verification.deleted !== null,
    page: () => 'No data was held on this person.',
    terminal: (_, where) => `no data held on ${where}`,
  },
  nothingSeen: {
    entitledBy: 'no live record was found, and deleted ones were not shown',
    holds: ({ result, verification }) => result === 'no_data_held' && verification.deleted === null,
    page: () => 'No live data was held on this person; records deleted before were not shown.',
    terminal: (_, where) => `no data held on ${where}; records deleted before were not shown`,
  },
  nothingLive: {
    entitledBy: 'no live record was found, but deleted ones were shown',
    holds: ({ result }) => result === 'nothing_live',
    page: ({ verification }) =>
      `Nothing live was held on this person; ${verification.deleted} deleted before still hold data until they are purged.`,
    terminal: ({ verification }, where) =>
      `nothing live on ${where}; ${records(verification.deleted ?? 0)} deleted before, and held until the purge`,
  },
  deleted: {
    entitledBy: 'records were deleted by the job',
    holds: receipt => isFound(receipt) && deletedCount(receipt) > 0,
    page: receipt =>
      `${records(deletedCount(receipt))} ${deletedCount(receipt) === 1 ? 'was' : 'were'} logically deleted; the audit trail is kept.`,
    terminal: (receipt, where) => `erased ${records(deletedCount(receipt))} on ${where}: ${receipt.statement}`,
  },
  noneDeleted: {
    entitledBy: 'records were found, and none is known to have been deleted by the job',
    holds: receipt => isFound(receipt) && deletedCount(receipt) === 0,
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
} satisfies Readonly<Record<string, Phrase>>

export function describeOnPage(receipt: Told): string {
  return holding(receipt)
    .map(phrase => phrase.page(receipt))
    .join(' ')
}

/** `where` is the instance, as `profile@host`. */
export function describeOnTerminal(receipt: Told, where: string): string {
  return holding(receipt)
    .map(phrase => phrase.terminal(receipt, where))
    .join('; ')
}

function holding(receipt: Told): Phrase[] {
  return Object.values<Phrase>(phrases).filter(phrase => phrase.holds(receipt))
}

/** Returns the one name whose sentence holds. @throws Error if it is none or several: a bug, never signed */
export function choose<Name extends string, Seen>(table: Readonly<Record<Name, Sentence<Seen>>>, seen: Seen): Name {
  const [name, another] = (Object.keys(table) as Name[]).filter(each => table[each].holds(seen))
  if (name === undefined || another !== undefined)
    throw new Error(`the receipt would contradict itself, and is not signed: ${JSON.stringify(seen)}`)
  return name
}
