import type { Sentence } from '../../../receipts/sentence.ts'

export interface ImportSeen {
  /** The record's last response. `replayed`: the record existed before. */
  readonly answer: 'made' | 'replayed' | 'refused'
  /** An earlier request without a response may have made the record. */
  readonly mayBeOwn: boolean
  /** By the time in the record's id, relative to `began_at`; null without one. */
  readonly madeAt: 'before' | 'since' | null
}

export type ImportOutcome = 'made' | 'made_unanswered' | 'known' | 'refused'

/** Counts of a receipt; exactly one applies to each record. */
export const importSentences: Readonly<Record<ImportOutcome, Sentence<ImportSeen>>> = {
  made: {
    entitledBy: 'the service answered that it made the record',
    holds: ({ answer }) => answer === 'made',
  },
  made_unanswered: {
    entitledBy:
      'an answer to the import was lost, and when the record was sent again it was there, with an id of a time since `began_at`',
    holds: ({ answer, mayBeOwn, madeAt }) => answer === 'replayed' && mayBeOwn && madeAt === 'since',
  },
  known: {
    entitledBy:
      'the service answered that the record was there, and no answer to the import was lost that may have made it, or its id is of a time before `began_at`',
    holds: ({ answer, mayBeOwn, madeAt }) => answer === 'replayed' && (!mayBeOwn || madeAt === 'before'),
  },
  refused: {
    entitledBy: 'the service refused the record when it was last sent, and not only for a time',
    holds: ({ answer }) => answer === 'refused',
  },
}
