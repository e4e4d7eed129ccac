import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { WithdrawalReceipt } from '../../../src/contract/documents/withdrawal-receipt.ts'
import type { AuditEntry } from '../../../src/contract/index.ts'
import { withdrawalCall } from '../../../src/erasure/withdrawal.ts'
import { describeGiven, describeWithdrawal, type ToldWithdrawal } from '../../../src/erasure/withdrawal-page.ts'
import { findContradiction } from '../../../src/evidence/contradictions.ts'

const example: WithdrawalReceipt = JSON.parse(
  readFileSync(new URL('../../fixtures/verifier/examples/withdrawal-receipt.json', import.meta.url), 'utf8'),
)

describe('withdrawal sentences', () => {
  const told = (
    result: WithdrawalReceipt['result'],
    counts: Partial<WithdrawalReceipt['counts']>,
    { remaining = 0, not_answered = 0, live = 3 } = {},
  ): ToldWithdrawal => ({
    ...{ result, purposes: ['marketing'], site_id: null, account_id: 'A', near_matches: null },
    counts: { withdrawn: 0, already_off: 0, gone: 0, unknown: 0, ...counts },
    verification: {
      checked_at: '2026-01-31T00:00:00.000Z',
      ...{ live, not_answered },
      remaining: Array.from({ length: remaining }, (_, index) => ({ id: String(index), site_id: null })),
    },
  })

  it.each([
    [told('nothing_given', {}), 'nothing to withdraw: none of 3 records on p@h granted "marketing"'],
    [told('nothing_given', {}, { live: 0 }), 'nothing to withdraw: no live record of this person on p@h'],
    [told('withdrawn', { withdrawn: 2 }), 'withdrew "marketing" in 2 records on p@h'],
    [
      told('withdrawn', { withdrawn: 1, already_off: 1, gone: 1, unknown: 2 }),
      'withdrew "marketing" in 1 record on p@h; 1 record did not grant it any more; 1 record deleted meanwhile; 2 records do not grant it any more, not known by whose change',
    ],
    [
      told('still_given', { withdrawn: 1 }, { remaining: 2 }),
      'withdrew "marketing" in 1 record on p@h; 2 records granted it when it was verified: created, changed or left meanwhile',
    ],
    [
      told('nothing_given', {}, { not_answered: 1 }),
      'nothing to withdraw: none of 3 records on p@h granted "marketing"; 1 record accepted without an answer to it, which grants nothing and was not changed',
    ],
  ])('say only what was observed', (receipt, text) => {
    expect(describeWithdrawal(receipt, 'p@h')).toBe(text)
  })

  it('name the account or the site on the page', () => {
    const receipt = told('withdrawn', { withdrawn: 2 })
    expect(describeWithdrawal(receipt)).toBe('withdrew "marketing" in 2 records on the sites of the account A')
    expect(describeWithdrawal({ ...receipt, site_id: 'S' })).toContain('on the site S')
  })

  it('of subject verify say what is given now', () => {
    const seen = { given: [], records: 2, isSubjectListed: true, account_id: 'B' }
    expect(describeGiven(seen)).toBe(
      'not given in the 2 records of the receipt, and none of the subject in the account B',
    )
    expect(describeGiven({ ...seen, isSubjectListed: false })).toBe('not given in the 2 records of the receipt')
    expect(describeGiven({ ...seen, given: ['a', 'b'] })).toBe('given again or still in 2 records: a, b')
  })
})

describe('a withdrawal receipt that contradicts itself', () => {
  const [withdrawn, off] = example.records as [
    WithdrawalReceipt['records'][number],
    WithdrawalReceipt['records'][number],
  ]
  const { verification } = example

  it('is not there in the example', () => {
    expect(findContradiction(example)).toBeNull()
  })

  it.each<[string, Partial<WithdrawalReceipt>]>([
    ['a count', { counts: { ...example.counts, withdrawn: 2 } }],
    ['a record twice', { records: [withdrawn, off, off], counts: { ...example.counts, already_off: 2 } }],
    ['versions in the wrong order', { records: [{ ...withdrawn, before: 2 }, off] }],
    ['no version', { records: [{ ...withdrawn, version: null }, off] }],
    ['a purpose that was not asked for', { records: [{ ...withdrawn, purposes: ['ads'] }, off] }],
    ['a change of a record that was not withdrawn', { records: [withdrawn, { ...off, version: 2 }] }],
    ['its result', { result: 'nothing_given' }],
    ['a record that remained', { verification: { ...verification, remaining: [{ id: off.id, site_id: null }] } }],
    ['more unanswered than live records', { verification: { ...verification, not_answered: 4 } }],
    ['its number', { number: 4 }],
  ])('is found by %s', (_, change) => {
    expect(findContradiction({ ...example, ...change })).not.toBeNull()
  })
})

describe('the call of a withdrawal', () => {
  const id = 'r-1'
  const target = { id, site_id: 's', subject: 0, version: 1 }
  const entry = (version: number, marketing: boolean | null, actor_id: string): AuditEntry =>
    ({
      ...{ id: '', consent_id: id, version, actor_id, changed_by: 'api_key', created_at: `t${version}` },
      action: marketing === null ? 'deleted' : version === 1 ? 'created' : 'updated',
      ...{ accepted: true, preferences: { marketing: marketing ?? true, ads: true } },
    }) as unknown as AuditEntry

  it.each([
    ['its own key, after a lost answer', [entry(1, true, 'o'), entry(2, false, 'own')], true, 'withdrawn'],
    [
      'its own key before an erasure',
      [entry(1, true, 'o'), entry(2, false, 'own'), entry(3, null, 'x')],
      true,
      'withdrawn',
    ],
    ['its own key, though no answer was lost', [entry(1, true, 'o'), entry(2, false, 'own')], false, 'already_off'],
    ['another key', [entry(1, true, 'o'), entry(2, false, 'other')], true, 'already_off'],
    ['a deletion', [entry(1, true, 'o'), entry(2, null, 'other')], true, 'gone'],
  ] as const)('states of each record what the service and its history show: %s', async (_, data, mayBeOwn, result) => {
    const answer = { records: [], complete: true }
    const run = {
      api: { call: async () => answer, consents: { history: async () => ({ data }) } },
      state: { order: { subjects: ['maria'] } },
    }
    const { send } = withdrawalCall({ purposes: ['marketing'], site_id: null }, 'own')
    const { records } = await send(run as never, [target], { mayBeOwn: () => mayBeOwn })
    const change = { purposes: ['marketing'], accepted: true, before: 1, version: 2, changed_at: 't2' }
    const nothing = { purposes: [], accepted: null, before: null, version: null, changed_at: null }
    expect(records).toEqual([
      { target, isTold: false, record: { id, site_id: 's', result, ...(result === 'withdrawn' ? change : nothing) } },
    ])
  })

  it('rejects an answer about a record that it did not name (exit 5)', async () => {
    const answer = { records: [{ id: 'r-2' }], complete: true }
    const run = { api: { call: async () => answer }, state: { order: { subjects: ['maria'] } } }
    const { send } = withdrawalCall({ purposes: ['marketing'], site_id: null }, 'own')
    await expect(send(run as never, [target], { mayBeOwn: () => false })).rejects.toMatchObject({ exit: 5 })
  })
})
