import { describe, expect, it } from 'vitest'
import { erasureResult } from '../../../src/contract/documents/deletion-statement.ts'
import type { ErasureReceipt } from '../../../src/contract/documents/erasure-receipt.ts'
import { describeReceipt } from '../../../src/erasure/page.ts'
import {
  describeLive,
  describeOnTerminal,
  describePurged,
  describeVerification,
} from '../../../src/erasure/sentences.ts'
import { findRecordResult } from '../../../src/erasure/state.ts'

describe('result of a record in a receipt', () => {
  it.each([
    [false, 'before', false, 'already_gone'],
    [false, 'before', true, 'already_gone'],
    [false, 'since', false, 'deleted'],
    [false, 'since', true, 'deleted'],
    [false, null, false, 'deleted'],
    [false, null, true, 'deleted'],
    [true, 'before', false, 'already_gone'],
    [true, 'before', true, 'already_gone'],
    [true, 'since', false, 'already_gone'],
    [true, 'since', true, 'deleted'],
    [true, null, false, 'already_gone'],
    [true, null, true, 'unknown'],
  ] as const)(
    'if absent %s, deleted %s the start, own attempt possible %s, is %s',
    (isAbsent, deletedAt, mayBeOwn, result) => {
      expect(findRecordResult({ isAbsent, deletedAt, mayBeOwn })).toBe(result)
    },
  )
})

describe('result of a receipt', () => {
  it.each([
    [0, 0, null, 'no_data_held'],
    [0, 0, 0, 'no_data_held'],
    [0, 0, 3, 'nothing_live'],
    [0, 1, null, 'remaining'],
    [0, 1, 0, 'remaining'],
    [0, 1, 3, 'remaining'],
    [2, 0, null, 'erased'],
    [2, 0, 0, 'erased'],
    [2, 0, 3, 'erased'],
    [2, 1, null, 'remaining'],
    [2, 1, 0, 'remaining'],
    [2, 1, 3, 'remaining'],
  ] as const)('if %d found, then %d live and %s deleted, is %s', (found, live, deleted, result) => {
    expect(erasureResult({ found, live, deleted })).toBe(result)
    const kept = erasureResult({ found, live, deleted, sealed_proofs: [{}] })
    expect(kept).toBe(result === 'no_data_held' ? 'proofs_kept' : result)
  })
})

const none = { deleted: 0, already_gone: 0, unknown: 0 }

const statement = 'logically deleted; personal data to be purged after 30 days'
const account_id = 'a-1'

/** The fields of a receipt that its sentences depend on. */
function receipt(
  result: ErasureReceipt['result'],
  counts: Partial<typeof none> = {},
  { live = 0, deleted = null }: { live?: number; deleted?: number | null } = {},
) {
  const verification = { checked_at: '2026-01-31T00:00:00.000Z', live, deleted, remaining: [] }
  return {
    result,
    counts: { ...none, ...counts },
    verification,
    statement,
    account_id,
    records: [],
    unverified: [] as string[],
    near_matches: null as number | null,
  } as const
}

const purgedAt = ['2026-02-03T09:30:00.000Z', '2026-02-04T09:30:00.000Z']
const certificate = (id: string, purged_at = '') => JSON.stringify({ records: [{ id, purged_at }] })

/** The receipt of a purge. */
function purgeOf(certificates: readonly string[]) {
  const records = ['r-1', 'r-2'].map(id => ({ id, result: 'deleted' }))
  const purge = { receipt: { number: 1, sha256: '' }, finished_at: '2026-02-05T09:30:00.000Z', who: 'jo', host: 'desk' }
  return { ...receipt('erased', { deleted: 2 }), records, purge: { ...purge, certificates } } as never
}
const certificates = purgedAt.map((at, index) => certificate(`r-${index + 1}`, at))
const ofItsTime = 'Apart from the purge, this page repeats erasure record 1, and is of its time.'

const audit = 'The audit trail is kept; after a purge it is pseudonymous, not anonymous.'

interface Told {
  readonly receipt: ReturnType<typeof receipt>
  readonly page: string
  readonly terminal: string
}

/** The exact texts of receipts: each sentence is said in one of them, and not in the others. */
const told: Told[] = [
  {
    receipt: receipt('no_data_held', {}, { deleted: 0 }),
    page: 'No record was listed under the identifiers of this person in the account a-1, deleted or not. Nothing was deleted.',
    terminal: 'no data held on x in the account a-1',
  },
  {
    receipt: receipt('no_data_held'),
    page: 'No undeleted record was listed under the identifiers of this person in the account a-1; records deleted before were not shown. Nothing was deleted.',
    terminal: 'no live data held on x in the account a-1; records deleted before were not shown',
  },
  {
    receipt: { ...receipt('no_data_held', {}, { deleted: 0 }), near_matches: 1 },
    page: 'No record was listed under the identifiers of this person in the account a-1, deleted or not. Nothing was deleted. Near matches: 1, identifiers with records that differ from these only in case, blanks or Unicode form. None of their records was part of this.',
    terminal: 'no data held on x in the account a-1; 1 near match with records not part of this',
  },
  {
    receipt: { ...receipt('nothing_live', {}, { deleted: 2 }), near_matches: 0 },
    page: 'No undeleted record of this person was held in the account a-1; 2 deleted before still hold data until they are purged.',
    terminal: 'nothing live on x in the account a-1; 2 records deleted before, and held until the purge',
  },
  {
    receipt: { ...receipt('erased', { deleted: 3 }), near_matches: null },
    page: `3 records were ${statement}. ${audit}`,
    terminal: `erased 3 records on x: ${statement}`,
  },
  {
    receipt: { ...receipt('erased', { deleted: 3 }), unverified: ['r-2'] },
    page: `2 records were ${statement}. ${audit} **1 record was logically deleted, and did not verify, or not in the time of the call: no purge takes a record whose history does not verify.**`,
    terminal: `erased 2 records on x: ${statement}; erased 1 record on x that did not verify, or not in the time of the call: no purge takes a record whose history does not verify`,
  },
  {
    receipt: { ...receipt('erased', { deleted: 2 }), unverified: ['r-1', 'r-2'] },
    page: '**2 records were logically deleted, and did not verify, or not in the time of the call: no purge takes a record whose history does not verify.**',
    terminal:
      'erased 2 records on x that did not verify, or not in the time of the call: no purge takes a record whose history does not verify',
  },
  {
    receipt: receipt('erased', { already_gone: 1 }),
    page: 'No record is known to have been deleted by this job. No longer there, and not deleted by this job: 1 record.',
    terminal: 'erased 0 records on x; 1 record already gone',
  },
  {
    receipt: receipt('erased', { deleted: 1, unknown: 2 }),
    page: `1 record was ${statement}. ${audit} Of 2 that are no longer there, it is not known who deleted them.`,
    terminal: `erased 1 record on x: ${statement}; 2 records gone, not known who deleted them`,
  },
  {
    receipt: receipt('remaining', { deleted: 1 }, { live: 2 }),
    page: `1 record was ${statement}. ${audit} **2 records of this person remained or were created meanwhile.**`,
    terminal: `erased 1 record on x: ${statement}; 2 records of the subject remained or were created meanwhile`,
  },
  {
    receipt: purgeOf(certificates),
    page: `Personal data of 2 records purged by 2026-02-04T09:30:00.000Z, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered. ${ofItsTime}`,
    terminal: '',
  },
  ...[['{}'], certificates.slice(1), [certificate('r-1'), certificate('r-2')]].map(
    (each): Told => ({
      receipt: purgeOf(each),
      page: `Personal data of 2 records was purged by 2026-02-05T09:30:00.000Z, as stated by the signer: its certificates do not name each record. ${ofItsTime}`,
      terminal: '',
    }),
  ),
]

const kept = [
  { site_id: 's-1', basis: 'a claim', until: '2036-01-31T00:00:00.000Z', proofs: 2 },
  { site_id: 's-2', basis: 'another', until: '2035-01-31T00:00:00.000Z', proofs: 1 },
]
const keeps = (base: ReturnType<typeof receipt>) => ({
  ...base,
  verification: { ...base.verification, sealed_proofs: kept },
})
const end = '3 sealed proofs until 2036-01-31T00:00:00.000Z, or longer while a legal hold stands'
const keptOnPage = `Kept of records of this person that were purged before: ${end}. A sealed proof is a keyed hash of the identifier, and the answers.`

describe('receipt sentences', () => {
  it.each([
    {
      receipt: keeps(receipt('proofs_kept', {}, { deleted: 0 })),
      page: `No record was listed under the identifiers of this person in the account a-1. Nothing was deleted. ${keptOnPage}`,
      terminal: `no record listed on x in the account a-1; kept of records purged before: ${end}`,
    },
    {
      receipt: keeps(receipt('erased', { deleted: 1 }, { deleted: 1 })),
      page: `1 record was ${statement}. ${audit} ${keptOnPage}`,
      terminal: `erased 1 record on x: ${statement}; kept of records purged before: ${end}`,
    },
  ])('names the sealed proofs that are kept: $terminal', ({ receipt, page, terminal }) => {
    expect(describeReceipt(receipt)).toBe(page)
    expect(describeOnTerminal(receipt, 'x')).toBe(terminal)
  })

  it('say that more sealed proofs may be kept from the number on that the service lists', () => {
    const of = (proofs: number) => {
      const base = receipt('proofs_kept', {}, { deleted: 0 })
      const sealed_proofs = [{ site_id: 's-1', basis: 'a claim', until: '2036-01-31T00:00:00.000Z', proofs }]
      return describeReceipt({ ...base, verification: { ...base.verification, sealed_proofs } })
    }
    expect(of(999)).toContain(': 999 sealed proofs until')
    expect(of(1000)).toContain(': 1000 or more sealed proofs until')
  })

  it.each(told)('state what was observed, and nothing else: $page', ({ receipt, page, terminal }) => {
    expect(describeReceipt(receipt)).toBe(page)
    expect(describeOnTerminal(receipt, 'x')).toBe(terminal)
  })

  it('state the number of deleted records only if the instance showed them', () => {
    const seen = receipt('erased', {}, { live: 1, deleted: 2 }).verification
    expect(describeVerification(seen)).toBe('1 not deleted; 2 deleted, which hold data until they are purged')
    expect(describeVerification(seen, true)).toBe('1 not deleted; 2 deleted, which held data then')
    for (const isPurged of [true, false])
      expect(describeVerification({ ...seen, deleted: null }, isPurged)).toBe(
        '1 not deleted; deleted ones were not shown',
      )
  })
})

const live = {
  receipt: { account_id: 'a-1' },
  ...{ account_id: 'a-1', isSubjectListed: true, live: [], unknown: [], deleted: [] },
}
const four = ['r-1', 'r-2', 'r-3', 'r-4']

describe('subject verify sentences', () => {
  it.each([
    [
      'unknown',
      { account_id: 'a-2', live: ['r-1'], unknown: ['r-1'] },
      'unknown to this key: it is of the account a-2, and the receipt of a-1',
    ],
    ['live', { live: four, unknown: ['r-5'], deleted: ['r-6'] }, '4 records live: r-1, r-2, r-3 and 1 more'],
    ['live', { receipt: { account_id: null }, account_id: 'a-2', live: ['r-1'] }, '1 record live: r-1'],
    [
      'unknown',
      { account_id: null, unknown: four, deleted: ['r-6'] },
      '4 records unknown to this key: r-1, r-2, r-3 and 1 more; of another account, or gone without a trace',
    ],
    ['gone', { deleted: ['r-1'], isSubjectListed: false }, '1 record of the receipt shown as deleted'],
    [
      'gone',
      { deleted: ['r-1'] },
      '1 record of the receipt shown as deleted, and no live record of the subject in the account a-1',
    ],
    ['gone', { account_id: null }, 'no live record of the subject among the records that the key can see'],
  ] as const)('describe live records: %s, %o', (state, seen, text) => {
    expect(describeLive({ ...live, ...seen })).toEqual({ state, text })
  })

  it.each([
    ['purged', [[...four], [], []], '4 records of the receipt: personal data purged, certified by the service'],
    ['not_yet', [['r-1'], ['r-2'], ['r-3']], '1 certified as purged, and 1 record not: r-2'],
    ['unknown', [['r-1'], [], ['r-3']], '1 record unknown to this key: r-3'],
  ] as const)('describe a purge: %s', (state, [purged, others, unknown], text) => {
    expect(describePurged({ purged, others, unknown, certificates: [] })).toEqual({ state, text })
  })
})
