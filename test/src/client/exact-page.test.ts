import fc from 'fast-check'
import { expect, it } from 'vitest'
import { isExactConsent, isExactPage } from '../../../src/client/exact-page.ts'
import { Consent, ConsentPage } from '../../../src/contract/consents.ts'
import { consent } from '../support.ts'

/** Replacement values: of other types, or that the schema changes. */
const other = fc.constantFrom(null, '', 'text', 0, 1.5, 1e300, true, [], {}, [null], {
  __proto__: null,
  a: 1,
})

const more = {
  notice_locale: 'de',
  expires_at: '2027-01-31T09:30:00.000Z',
  given_at: '2019-01-31T09:30:00.000Z',
  origin: { system: 'crm', id: 'maria', evidence: null },
  gpc: true,
}

/** JSON of a page as this service writes it, with at most one change. */
const pages = fc
  .record({
    records: fc.array(fc.nat(), { maxLength: 3 }),
    place: fc.nat(40),
    change: fc.constantFrom('none', 'value', 'left out', 'more', 'moved', 'prototype'),
    value: other,
  })
  .map(({ records, place, change, value }) => {
    const page: object = {
      data: records.map(n => consent({ policy_version: n, ...(n % 2 === 0 && more) })),
      limit: 100,
      next_cursor: null,
    }
    const targets = [page, ...((page as ConsentPage).data as object[])]
    const target = (targets[place % targets.length] ?? page) as Record<string, unknown>
    const names = Object.keys(target)
    const name = names[place % names.length] ?? ''
    const old = target[name]
    if (change === 'value') target[name] = value
    if (change === 'left out') delete target[name]
    if (change === 'more') target['more'] = value
    if (change === 'moved') {
      delete target[name]
      target[name] = old
    }
    const text = JSON.stringify(page)
    return change === 'prototype' ? text.replace('{}', '{"__proto__":1}').replace('1e300', '1e999') : text
  })

it('accepts a page of this service exactly as its schema does, including the field order', () => {
  let taken = 0
  fc.assert(
    fc.property(pages, text => {
      const body: unknown = JSON.parse(text)
      if (!isExactPage(body)) return
      taken += 1
      expect(JSON.stringify(ConsentPage.parse(body))).toBe(JSON.stringify(body))
    }),
    { numRuns: 2000 },
  )
  expect(taken).toBeGreaterThan(200)
})

it('recognizes a page of this service', () => {
  expect(Object.keys(consent(more))).toEqual(Object.keys(Consent.shape))
  const data = [consent(), consent(more), consent({ subject_id: null, deleted_at: '2026-02-01T00:00:00.000Z' })]
  expect(isExactPage({ data, limit: 100, next_cursor: 'more' })).toBe(true)
  expect(data.every(isExactConsent)).toBe(true)
  expect(isExactPage({ data: [], limit: 1, next_cursor: null })).toBe(true)
})

it.each([null, [], 'text', { data: null, limit: 1, next_cursor: null }, { data: [null], limit: 1, next_cursor: null }])(
  'rejects text that is not a page: %j',
  body => expect(isExactPage(body)).toBe(false),
)

it.each([
  ['an empty time of deletion', { deleted_at: '' }],
  ['preferences with a key that the schema leaves out', { preferences: JSON.parse('{"__proto__":1}') }],
  ['a version beyond all numbers', { policy_version: Number.POSITIVE_INFINITY }],
])('does not accept %s without the schema', (_, fields) => {
  expect(isExactPage({ data: [consent(fields)], limit: 1, next_cursor: null })).toBe(false)
})
