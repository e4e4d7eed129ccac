import { describe, expect, it } from 'vitest'
import { type ErasureReceipt, erasureResults } from '../../../src/contract/documents/erasure-receipt.ts'
import {
  describeOnPage,
  describeOnTerminal,
  describeVerification,
  type ErasureSeen,
  type LiveSeen,
  liveSentences,
  type PurgeSeen,
  phrases,
  purgePhrases,
  purgeSentences,
  type RecordSeen,
  recordSentences,
  resultSentences,
  verificationSentences,
} from '../../../src/erasure/sentences.ts'
import { choose } from '../../../src/receipts/sentence.ts'

const answers = ['deleted', 'absent'] as const
const instants = ['before', 'since', null] as const
const booleans = [false, true]

/** Expected result of a record that was not listed, by what was seen: answer, instant, may be the job's own deletion. */
const recordResults: Readonly<Record<string, keyof typeof recordSentences>> = {
  'deleted before false': 'already_gone',
  'deleted before true': 'already_gone',
  'deleted since false': 'deleted',
  'deleted since true': 'deleted',
  'deleted null false': 'deleted',
  'deleted null true': 'deleted',
  'absent before false': 'already_gone',
  'absent before true': 'already_gone',
  'absent since false': 'already_gone',
  'absent since true': 'deleted',
  'absent null false': 'already_gone',
  'absent null true': 'unknown',
}

const seenRecords: RecordSeen[] = booleans.flatMap(isListed =>
  answers.flatMap(answer =>
    instants.flatMap(deletedAt => booleans.map(mayBeOwn => ({ answer, deletedAt, mayBeOwn, isListed }))),
  ),
)

describe('the result of a record in a receipt', () => {
  it.each(seenRecords)('is the one that the observation entitles, and every other is false: %o', seen => {
    const { answer, deletedAt, mayBeOwn, isListed } = seen
    const expected = isListed ? 'remaining' : recordResults[`${answer} ${deletedAt} ${mayBeOwn}`]
    expect(choose(recordSentences, seen)).toBe(expected)
    for (const result of erasureResults) expect(recordSentences[result].holds(seen), result).toBe(result === expected)
  })

  it('has every value of the schema', () => {
    expect(new Set(erasureResults)).toEqual(new Set([...Object.values(recordResults), 'remaining']))
  })
})

type Result = ErasureReceipt['result']

const seenErasures: (ErasureSeen & { result: Result })[] = [
  { found: 0, live: 0, deleted: null, result: 'no_data_held' },
  { found: 0, live: 0, deleted: 0, result: 'no_data_held' },
  { found: 0, live: 0, deleted: 3, result: 'nothing_live' },
  { found: 0, live: 1, deleted: null, result: 'remaining' },
  { found: 0, live: 1, deleted: 0, result: 'remaining' },
  { found: 0, live: 1, deleted: 3, result: 'remaining' },
  { found: 2, live: 0, deleted: null, result: 'erased' },
  { found: 2, live: 0, deleted: 0, result: 'erased' },
  { found: 2, live: 0, deleted: 3, result: 'erased' },
  { found: 2, live: 1, deleted: null, result: 'remaining' },
  { found: 2, live: 1, deleted: 0, result: 'remaining' },
  { found: 2, live: 1, deleted: 3, result: 'remaining' },
]

describe('the result of a receipt', () => {
  it.each(seenErasures)('is the one that the observation entitles, and every other is false: %o', seen => {
    expect(choose(resultSentences, seen)).toBe(seen.result)
    for (const [result, sentence] of Object.entries(resultSentences))
      expect(sentence.holds(seen), result).toBe(result === seen.result)
  })

  it('has every value of the table', () => {
    const said = new Set(seenErasures.map(({ result }) => result))
    expect([...said].sort()).toEqual(Object.keys(resultSentences).sort())
  })
})

it('nothing is signed if no sentence holds, or two that contradict each other', () => {
  const always = { entitledBy: 'anything', holds: () => true }
  const never = { entitledBy: 'nothing', holds: () => false }
  expect(choose({ one: always, other: never }, {})).toBe('one')
  expect(() => choose({ one: always, other: always }, {})).toThrow('none is signed')
  expect(() => choose({ one: never }, {})).toThrow('none is signed')
})

const none = { deleted: 0, already_gone: 0, unknown: 0 }

const statement = 'logically deleted; personal data to be purged after 30 days'
const account_id = 'a-1'

/** The fields of a receipt that its sentences depend on. */
function receipt(
  result: Result,
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
const ofItsTime = 'Apart from the purge, this page repeats receipt 1, of the erasure, and is of its time.'

const audit = 'The audit trail is kept; after a purge it is pseudonymous, not anonymous.'

const all = { ...purgePhrases, ...phrases }

interface Told {
  readonly receipt: ReturnType<typeof receipt>
  readonly holding: readonly (keyof typeof all)[]
  readonly page: string
  readonly terminal: string
}

/** The exact texts of receipts, with the names of the sentences that hold. */
const told: Told[] = [
  {
    receipt: receipt('no_data_held', {}, { deleted: 0 }),
    holding: ['nothingHeld'],
    page: 'No record was listed under the identifiers of this person in the account a-1, live or deleted. Nothing was deleted.',
    terminal: 'no data held on x in the account a-1',
  },
  {
    receipt: receipt('no_data_held'),
    holding: ['nothingSeen'],
    page: 'No live record was listed under the identifiers of this person in the account a-1; records deleted before were not shown. Nothing was deleted.',
    terminal: 'no live data held on x in the account a-1; records deleted before were not shown',
  },
  {
    receipt: { ...receipt('no_data_held', {}, { deleted: 0 }), near_matches: 1 },
    holding: ['nothingHeld', 'nearMatches'],
    page: 'No record was listed under the identifiers of this person in the account a-1, live or deleted. Nothing was deleted. Near matches: 1, identifiers with records that differ from these only in case, blanks or Unicode form. None of their records was part of this.',
    terminal: 'no data held on x in the account a-1; 1 near match with records not part of this',
  },
  {
    receipt: { ...receipt('nothing_live', {}, { deleted: 2 }), near_matches: 0 },
    holding: ['nothingLive'],
    page: 'Nothing live was held on this person in the account a-1; 2 deleted before still hold data until they are purged.',
    terminal: 'nothing live on x in the account a-1; 2 records deleted before, and held until the purge',
  },
  {
    receipt: { ...receipt('erased', { deleted: 3 }), near_matches: null },
    holding: ['deleted'],
    page: `3 records were ${statement}. ${audit}`,
    terminal: `erased 3 records on x: ${statement}`,
  },
  {
    receipt: { ...receipt('erased', { deleted: 3 }), unverified: ['r-2'] },
    holding: ['deleted', 'unverified'],
    page: `2 records were ${statement}. ${audit} **1 record was logically deleted, and did not verify, or not in the time of the call: no purge takes a record whose history does not verify.**`,
    terminal: `erased 2 records on x: ${statement}; erased 1 record on x that did not verify, or not in the time of the call: no purge takes a record whose history does not verify`,
  },
  {
    receipt: { ...receipt('erased', { deleted: 2 }), unverified: ['r-1', 'r-2'] },
    holding: ['unverified'],
    page: '**2 records were logically deleted, and did not verify, or not in the time of the call: no purge takes a record whose history does not verify.**',
    terminal:
      'erased 2 records on x that did not verify, or not in the time of the call: no purge takes a record whose history does not verify',
  },
  {
    receipt: receipt('erased', { already_gone: 1 }),
    holding: ['noneDeleted', 'alreadyGone'],
    page: 'No record is known to have been deleted by this job. Already gone: 1 record.',
    terminal: 'erased 0 records on x; 1 record already gone',
  },
  {
    receipt: receipt('erased', { deleted: 1, unknown: 2 }),
    holding: ['deleted', 'unknown'],
    page: `1 record was ${statement}. ${audit} Of 2, now gone, it is not known who deleted them.`,
    terminal: `erased 1 record on x: ${statement}; 2 records gone, not known who deleted them`,
  },
  {
    receipt: receipt('remaining', { deleted: 1 }, { live: 2 }),
    holding: ['deleted', 'remaining'],
    page: `1 record was ${statement}. ${audit} **2 records of this person remained or were created meanwhile.**`,
    terminal: `erased 1 record on x: ${statement}; 2 records of the subject remained or were created meanwhile`,
  },
  {
    receipt: purgeOf(certificates),
    holding: ['purged'],
    page: `Personal data of 2 records purged by 2026-02-04T09:30:00.000Z, certified by the service; what is left is pseudonymous; backups, write-ahead logs and free space of the database are not covered. ${ofItsTime}`,
    terminal: '',
  },
  ...[['{}'], certificates.slice(1), [certificate('r-1'), certificate('r-2')]].map(
    (each): Told => ({
      receipt: purgeOf(each),
      holding: ['purgeNotCertified'],
      page: `Personal data of 2 records was purged by 2026-02-05T09:30:00.000Z, as stated by the signer: its certificates do not name each record. ${ofItsTime}`,
      terminal: '',
    }),
  ),
]

describe('sentences about a receipt', () => {
  it.each(told)('state only what holds: $holding', ({ receipt, holding, page, terminal }) => {
    expect(describeOnPage(receipt, all)).toBe(page)
    expect(describeOnTerminal(receipt, 'x')).toBe(terminal)
    for (const [name, phrase] of Object.entries(all))
      expect(phrase.holds(receipt), name).toBe((holding as readonly string[]).includes(name))
  })

  it('every sentence of the table somewhere', () => {
    const names = new Set<string>(told.flatMap(({ holding }) => holding))
    expect(Object.keys(all).filter(name => !names.has(name))).toEqual([])
  })

  it('the number of deleted records only if the instance showed them', () => {
    const seen = receipt('erased', {}, { live: 1, deleted: 2 }).verification
    const tell = (fields: object, isPurge = false) => describeVerification({ ...seen, ...fields, isPurge })
    expect(tell({})).toBe('1 live; 2 deleted, which hold data until they are purged')
    expect(tell({}, true)).toBe('1 live; 2 deleted, which held data then')
    for (const isPurge of [true, false])
      expect(tell({ deleted: null }, isPurge)).toBe('1 live; deleted ones were not shown')
    expect(Object.keys(verificationSentences)).toEqual(['live', 'deleted', 'heldThen', 'notShown'])
  })
})

const lists = [[], ['r-1'], ['r-1', 'r-2', 'r-3', 'r-4']]
const accounts = [null, 'a-1', 'a-2']

const seenLive: LiveSeen[] = accounts.flatMap(held =>
  accounts.flatMap(account_id =>
    lists.flatMap(live =>
      lists.flatMap(unknown =>
        lists.map(deleted => ({
          receipt: { account_id: held },
          account_id,
          isSubjectListed: live.length > 1,
          live,
          deleted,
          unknown,
        })),
      ),
    ),
  ),
)

function expectedLive({ receipt, account_id, live, unknown }: LiveSeen): keyof typeof liveSentences {
  if (receipt.account_id && account_id && receipt.account_id !== account_id) return 'otherAccount'
  if (live.length > 0) return 'live'
  return unknown.length > 0 ? 'unknown' : 'gone'
}

const seenPurges: PurgeSeen[] = lists.flatMap(purged =>
  lists.flatMap(others => lists.map(unknown => ({ purged, others, unknown }))),
)

describe('the sentences of subject verify', () => {
  it('about live records are stated only with their proof', () => {
    for (const seen of seenLive) {
      const expected = expectedLive(seen)
      expect(choose(liveSentences, seen)).toBe(expected)
      for (const [name, { holds }] of Object.entries(liveSentences)) expect(holds(seen), name).toBe(name === expected)
    }
    expect(new Set(seenLive.map(expectedLive)).size).toBe(Object.keys(liveSentences).length)
  })

  it('name the records, and the account that was searched if it is known', () => {
    const seen = { receipt: { account_id: 'a-1' }, account_id: 'a-1', isSubjectListed: true, live: [], unknown: [] }
    expect(liveSentences.gone.text({ ...seen, deleted: ['r-1'] })).toBe(
      '1 record of it: shown as deleted, and no live record of the subject in the account a-1',
    )
    expect(liveSentences.gone.text({ ...seen, account_id: null, deleted: [] })).toBe(
      'no live record of the subject among the records that the key can see',
    )
    expect(liveSentences.unknown.text({ ...seen, deleted: [], unknown: ['r-1', 'r-2', 'r-3', 'r-4'] })).toBe(
      '4 records unknown to this key: r-1, r-2, r-3 and 1 more; of another account, or gone without a trace',
    )
  })

  it('about a purge are stated only if a certificate names every record', () => {
    for (const seen of seenPurges) {
      const { others, unknown } = seen
      const expected = others.length > 0 ? 'notYet' : unknown.length > 0 ? 'unknown' : 'purged'
      expect(choose(purgeSentences, seen)).toBe(expected)
      for (const [name, { holds }] of Object.entries(purgeSentences)) expect(holds(seen), name).toBe(name === expected)
    }
  })
})
