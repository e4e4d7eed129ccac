import { describe, expect, it } from 'vitest'
import {
  type ImportOutcome,
  type ImportSeen,
  importSentences,
} from '../../../../../src/commands/consents/import/sentences.ts'
import { choose } from '../../../../../src/receipts/sentence.ts'

const seen: (ImportSeen & { outcome: ImportOutcome })[] = [
  { answer: 'made', mayBeOwn: false, madeAt: null, outcome: 'made' },
  { answer: 'made', mayBeOwn: true, madeAt: null, outcome: 'made' },
  { answer: 'replayed', mayBeOwn: false, madeAt: 'before', outcome: 'known' },
  { answer: 'replayed', mayBeOwn: false, madeAt: 'since', outcome: 'known' },
  { answer: 'replayed', mayBeOwn: true, madeAt: 'before', outcome: 'known' },
  { answer: 'replayed', mayBeOwn: true, madeAt: 'since', outcome: 'made_unanswered' },
  { answer: 'refused', mayBeOwn: false, madeAt: null, outcome: 'refused' },
  { answer: 'refused', mayBeOwn: true, madeAt: null, outcome: 'refused' },
]

describe('the outcome of a record in an import receipt', () => {
  it.each(seen)('is the one that the observation entitles, and every other is false: %o', one => {
    expect(choose(importSentences, one)).toBe(one.outcome)
    for (const [outcome, sentence] of Object.entries(importSentences))
      expect(sentence.holds(one), outcome).toBe(outcome === one.outcome)
  })

  it('is missing for a record that does not say when it was created', () => {
    expect(() => choose(importSentences, { answer: 'replayed', mayBeOwn: true, madeAt: null })).toThrow(
      'none is signed',
    )
  })
})
