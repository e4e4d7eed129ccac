import { expect, it } from 'vitest'
import type { Circumstances } from '../../../src/contract/circumstances.ts'
import { certificateOf } from '../../../src/evidence/certificate.ts'
import type { Action } from '../../../src/evidence/chain.ts'
import { readPack } from '../../../src/evidence/pack.ts'
import { historyWith } from './chains.ts'
import { eventsOf, examplePack, purposesOf, signedAgain } from './examples.ts'

interface Answer {
  readonly preferences: Record<string, boolean>
  readonly circumstances?: Circumstances
}

const keys = ['analytics', 'marketing']

/** The sentences in the frame and about proofs, in English, of a record that was answered so. */
function sentencesOf(answers: readonly Answer[], receipt: object = {}, actions?: readonly Action[]): string[] {
  const data = historyWith(
    actions ?? answers.map((_, index) => (index === 0 ? 'created' : 'updated')),
    index => answers[index]?.preferences ?? {},
    undefined,
    index => answers[index]?.circumstances && { circumstances: answers[index].circumstances },
  ).map(entry => ({ ...entry, accepted: true }))
  const notice = JSON.parse(examplePack.get('notice.json') ?? '')
  const purposes = keys.map(key => ({ key, title: `To do ${key}`, language: 'en', iri: null }))
  const text = { language: 'en', media_type: 'text/plain', size: 1, sha256: 'ab'.repeat(32) }
  const files = new Map([...examplePack].map(([name, content]) => [name, Buffer.from(content)]))
  const set = (name: string, value: unknown) => files.set(name, Buffer.from(JSON.stringify(value)))
  set('history.json', { data, notice_entry: 4 })
  set('record.json', { ...JSON.parse(examplePack.get('record.json') ?? ''), notice_locale: 'en' })
  set('notice.json', { ...notice, after: { ...notice.after, purposes, texts: [text] } })
  files.set('notice/en.txt', Buffer.from('x'))
  const own = { events: eventsOf(data, keys), purposes: purposesOf(data, keys), preferences: data.at(-1)?.preferences }
  const changed = { consent_status: own.events.at(-1)?.event_state, ...own, ...receipt }
  files.set('receipt.json', Buffer.from(signedAgain(examplePack.get('receipt.json') ?? '', () => changed)))
  const { sections } = certificateOf(readPack(files), { createdAt: '2026-02-03T08:00:00.123Z', keyId: 'key' })
  return sections
    .filter(({ heading }) => heading === null || /prove/.test(String(heading[0])))
    .flatMap(({ blocks }) => blocks.flatMap(block => ('items' in block ? block.items : [])))
    .map(item => item.map(word => (typeof word === 'string' ? word : word.value)).join(''))
}

const all = { analytics: true, marketing: true }

it('says for each purpose whether there is consent, and why', () => {
  expect(sentencesOf([{ preferences: all }, { preferences: { analytics: true, marketing: false } }])).toEqual(
    expect.arrayContaining([
      'By the records of the service, there is consent: given for “To do analytics” on 31 January 2026, 09:30:00 UTC.',
      'By the records of the service, there is no consent: withdrawn for “To do marketing” on 31 January 2026, 09:30:01 UTC.',
    ]),
  )
  expect(sentencesOf([{ preferences: { analytics: false } }])[0]).toBe(
    'By the records of the service, there is no consent: refused for “To do analytics” on 31 January 2026, 09:30:00 UTC; not answered for “To do marketing”.',
  )
  expect(sentencesOf([{ preferences: {} }])[0]).toBe(
    'By the records of the service, there is no consent: the last answer, of 31 January 2026, 09:30:00 UTC, was an acceptance; not answered for “To do analytics”, “To do marketing”.',
  )
})

it.each(['paper', 'phone', 'verbal', 'import'] as const)(
  'says that an answer by %s was entered, and not given, at its time, and was confirmed before',
  method => {
    const told = sentencesOf([
      { preferences: all, circumstances: { method, confirmed_at: '2025-12-20T10:00:00.000Z' } },
    ])
    expect(told).toEqual(
      expect.arrayContaining([
        expect.stringContaining('“To do analytics” on 31 January 2026, 09:30:00 UTC or earlier (time of entry)'),
        'The sender reported that the answer of 31 January 2026, 09:30:00 UTC or earlier (time of entry) was confirmed a second time on 20 December 2025, 10:00:00 UTC, outside of the service (such as by double opt-in).',
        ...early,
      ]),
    )
    const later = sentencesOf([
      { preferences: all, circumstances: { method, confirmed_at: '2026-02-01T00:00:00.000Z' } },
    ])
    expect(later.filter(sentence => early.includes(sentence))).toEqual([])
  },
)

const early = [
  'That is before the entry of this answer in the service.',
  'That is before this version of the notice was published.',
]

it('says that an answer on a website was given at its time', () => {
  expect(sentencesOf([{ preferences: all, circumstances: { method: 'web' } }])[0]).toContain(
    '“To do analytics” on 31 January 2026, 09:30:00 UTC, ',
  )
})

const expires_at = '2027-01-31T09:30:00.000Z'
const period =
  'By a setting of the operator (valid_for in notice.json, counted from the entry of the newest answer), the consent of this record ends on 31 January 2027, 09:30:00 UTC, unless it is withdrawn before.'

it('says whose the period is after which a consent ends', () => {
  expect(sentencesOf([{ preferences: all }], { expires_at })).toContain(period)
  expect(sentencesOf([{ preferences: all }], { expires_at: null })).toContain(
    'No end is set for the consent of this record.',
  )
  const over = { expires_at: '2026-02-01T00:00:00.000Z', consent_status: 'dpv:ConsentExpired' }
  expect(sentencesOf([{ preferences: { analytics: true } }], over).slice(0, 3)).toEqual([
    'By the records of the service, there is no consent any more: given for “To do analytics” on 31 January 2026, 09:30:00 UTC. By a setting of the operator (valid_for in notice.json, counted from the entry of the newest answer), it ended on 1 February 2026, 00:00:00 UTC.',
    'By the records of the service, there is no consent: not answered for “To do marketing”.',
    expect.stringContaining('none has a newer answer'),
  ])
})

const newerOf = (purpose: string, state: string | null) => ({
  ...{ purpose, record_id: 'r', answered_at: '2026-02-01T00:00:00.000Z', state },
})

it('goes by newer answers in other records, and says where their proofs are', () => {
  const refused = { compared_records: 3, newer_answers: [newerOf('marketing', 'refused')] }
  expect(sentencesOf([{ preferences: all }], { expires_at, ...refused }).slice(0, 4)).toEqual([
    'By the records of the service, there is consent: given for “To do analytics” on 31 January 2026, 09:30:00 UTC.',
    period,
    'By the records of the service, there is no consent: refused for “To do marketing” on 1 February 2026, 00:00:00 UTC (newer answers, in other records).',
    'The newer answers count, and not those of this record. They are in other undeleted records of this identifier on this site (compared: 2), named in receipt.json. Their proofs are in the packs of those records, and not in this one.',
  ])
  const newer_answers = [newerOf('analytics', null), newerOf('marketing', 'given')]
  const told = sentencesOf([{ preferences: all }], { expires_at, compared_records: 3, newer_answers })
  expect(told.slice(0, 2)).toEqual([
    expect.stringMatching(/^By .* there is consent: given for “To do marketing” on .*, in other records\)\.$/),
    expect.stringMatching(/^Whether there is consent is not known: could not be checked for “To do analytics” on /),
  ])
  expect(told).not.toContain(period)
})

it('says what was searched for newer answers', () => {
  const searched = (receipt: object) => sentencesOf([{ preferences: all }], receipt).filter(text => /newer/.test(text))
  expect(searched({ compared_records: 1 })).toContain(
    'The service compared all other undeleted records of this identifier on this site (number: 0): none has a newer answer.',
  )
  expect(searched({ compared_records: null })).toContain(
    'The service did not look for newer answers: this identifier has more than 1,000 undeleted records on this site.',
  )
})

it('says that the record was never deleted, or that it was restored', () => {
  const gone = ['created', 'deleted', 'restored'] as const
  expect(sentencesOf([{ preferences: all }])).toContain('The record was never deleted.')
  const restored = sentencesOf(
    gone.map(() => ({ preferences: all })),
    {},
    gone,
  )
  expect(restored).toContain('The record was deleted and, on 31 January 2026, 09:30:02 UTC, restored.')
  expect(restored).not.toContain('The record was never deleted.')
})

it('names what the person may not have asked for: a withdrawal, a deletion, or both', () => {
  const unasked = (told: string[]) => told.filter(text => text.startsWith('that the person asked for'))
  const [withdrawal, deletion] = [
    'that the person asked for the withdrawal.',
    'that the person asked for the deletion.',
  ]
  const none = { analytics: false, marketing: false }
  expect(unasked(sentencesOf([{ preferences: all }]))).toEqual([])
  expect(unasked(sentencesOf([{ preferences: all }, { preferences: none }]))).toEqual([withdrawal])
  const gone = ['created', 'updated', 'deleted', 'restored'] as const
  const kept = gone.map(() => ({ preferences: all }))
  expect(unasked(sentencesOf(kept, {}, gone))).toEqual([deletion])
  const changed = kept.map((answer, index) => (index === 0 ? answer : { preferences: none }))
  expect(unasked(sentencesOf(changed, {}, gone))).toEqual([withdrawal, deletion])
})

it('concludes from two logs when the last event was logged', () => {
  const answers = [{ preferences: all }, { preferences: {} }]
  expect(sentencesOf(answers).filter(text => text.includes('came into the log'))).toEqual([
    'The last event (number 2: answer changed) came into the log after 31 January 2026, 12:00:00 UTC, and no later than 1 February 2026, 12:00:00 UTC: the log signed at the first time does not have it, and that of the second has it.',
  ])
})
