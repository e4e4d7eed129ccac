import { expect, it } from 'vitest'
import type { Circumstances } from '../../../src/contract/circumstances.ts'
import { certificateOf } from '../../../src/evidence/certificate.ts'
import { readPack } from '../../../src/evidence/pack.ts'
import { historyWith } from './chains.ts'
import { eventsOf, examplePack, purposesOf, signedAgain } from './examples.ts'

interface Answer {
  readonly preferences: Record<string, boolean>
  readonly circumstances?: Circumstances
}

const keys = ['analytics', 'marketing']

/** The sentences in the frame and about proofs, in English, of a record that was answered so. */
function sentencesOf(answers: readonly Answer[], receipt: object = {}): string[] {
  const data = historyWith(
    answers.map((_, index) => (index === 0 ? 'created' : 'updated')),
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
    .filter(({ heading }) => heading === null || heading[0] === 'What proves this')
    .flatMap(({ blocks }) => blocks.flatMap(block => ('items' in block ? block.items : [])))
    .map(item => item.map(word => (typeof word === 'string' ? word : word.value)).join(''))
}

const all = { analytics: true, marketing: true }

it('names the purposes by their state, and those without an answer', () => {
  expect(sentencesOf([{ preferences: all }, { preferences: { analytics: true, marketing: false } }])).toEqual(
    expect.arrayContaining([
      'Consent was given for “To do analytics” on 31 January 2026, 09:30:00 UTC.',
      'Consent was withdrawn for “To do marketing” on 31 January 2026, 09:30:01 UTC.',
    ]),
  )
  expect(sentencesOf([{ preferences: { analytics: false } }]).slice(0, 3)).toEqual([
    'Consent was refused for “To do analytics” on 31 January 2026, 09:30:00 UTC.',
    'No answer is recorded for “To do marketing”.',
    'By this record, there is no consent.',
  ])
  expect(sentencesOf([{ preferences: {} }]).slice(0, 2)).toEqual([
    'The last answer, of 31 January 2026, 09:30:00 UTC, was an acceptance.',
    'No answer is recorded for “To do analytics”, “To do marketing”.',
  ])
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
        'The sender of the answer of 31 January 2026, 09:30:00 UTC or earlier (time of entry) reported that it was confirmed on 20 December 2025, 10:00:00 UTC.',
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
  'By a setting of the operator (valid_for in notice.json), the consent ends on 31 January 2027, 09:30:00 UTC, unless it is withdrawn before: the time counts from the entry of the newest answer in the service.'

it('says whose the period is after which a consent ends', () => {
  expect(sentencesOf([{ preferences: all }], { expires_at })).toContain(period)
  expect(sentencesOf([{ preferences: all }], { expires_at: null })).toContain(
    'The service has no end date for the consent.',
  )
})

it('says first which newer answers count, and then no period', () => {
  const newer = { purpose: 'marketing', record_id: 'r', answered_at: '2026-02-01T00:00:00.000Z', state: 'refused' }
  const told = sentencesOf([{ preferences: all }], { expires_at, newer_answers: [newer] })
  expect(told.slice(0, 3)).toEqual([
    expect.stringMatching(/newer answers .* count, .*: “To do marketing” of 1 February 2026, 00:00:00 UTC: refused\.$/),
    'What follows is what this record alone says.',
    expect.stringMatching(/^Consent was given for /),
  ])
  expect(told).not.toContain(period)
  expect(told.join()).not.toContain('found no newer answer')
})

it('concludes from two logs when the last event was logged', () => {
  expect(sentencesOf([{ preferences: all }]).filter(text => text.includes('came into the log'))).toEqual([
    'The last event came into the log after 31 January 2026, 12:00:00 UTC, and no later than 1 February 2026, 12:00:00 UTC: the log signed at the first time does not have it, and that of the second has it.',
  ])
})
