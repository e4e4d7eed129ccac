import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../../src/contract/index.ts'
import type { Action, Facts } from '../../../src/evidence/chain.ts'
import { verifyAudit } from '../../../src/evidence/history.ts'
import {
  circumstancesOf,
  historyOf,
  historyWith,
  id,
  importedFacts,
  purgedAnew,
  sealedHistory,
  start,
} from './chains.ts'

const histories = {
  'a record that never changed': () => historyOf('created'),
  'one that changed': () => historyOf('created', 'updated', 'updated', 'updated'),
  'a deleted one': () => historyOf('created', 'updated', 'deleted'),
  'a purged one': () => historyOf('created', 'updated', 'deleted', 'purged'),
  'a restored one': () => historyOf('created', 'deleted', 'restored', 'updated', 'deleted', 'restored'),
  'an erased one': () => withErasures(['created', 'deleted', 'restored', 'deleted', 'deleted', 'purged'], 4),
  'one restored despite an erasure': () =>
    withErasures(['created', 'deleted', 'restored_despite_erasure', 'deleted'], 1),
  'one restored and purged': () => historyOf('created', 'deleted', 'restored', 'deleted', 'purged'),
  'an imported one': () => historyOf('imported', 'imported', 'updated', 'deleted'),
  'a purged one that was imported': () => historyOf('imported', 'imported', 'deleted', 'purged'),
  'answers with the signal of a browser': () => withFacts(['created', 'updated'], () => ({ gpc: true })),
  'answers with their circumstances': () => withCircumstances(['created', 'updated', 'deleted']),
  'purged answers with their circumstances': () => withCircumstances(['created', 'updated', 'deleted', 'purged']),
  'a purged one with a sealed proof': () => sealedHistory(true, 'created', 'updated', 'deleted', 'purged'),
  'one whose sealed proof is not shown': () => sealedHistory(false, 'created', 'updated', 'deleted', 'purged'),
  'one purged again': () => sealedHistory(true, 'created', 'updated', 'deleted', 'purged', 'purged'),
  'an imported answer with its circumstances': () => withCircumstances(['imported', 'deleted', 'purged']),
}

/** The entries from the index on that delete are of an erasure request. */
function withErasures(actions: Action[], from: number): AuditEntry[] {
  return withFacts(actions, index => (index >= from && actions[index] === 'deleted' ? { erased: true } : undefined))
}

function withFacts(actions: Action[], factsOf: (index: number) => Facts | undefined): AuditEntry[] {
  return historyWith(actions, undefined, undefined, factsOf)
}

function withCircumstances(actions: Action[]): AuditEntry[] {
  return withFacts(actions, index => ({
    ...(actions[index] === 'imported' && importedFacts(index)),
    ...(['created', 'imported', 'updated'].includes(actions[index] ?? '') && { circumstances: circumstancesOf(index) }),
  }))
}

const later = new Date(start + 1).toISOString()

describe.each(Object.entries(histories))('the history of %s', (_, make) => {
  it('verifies', () => {
    expect(verifyAudit(id, make())).toEqual({ result: 'ok', detail: null })
  })

  it('when any one field of any entry is changed, does not verify', () => {
    const others: { [Name in keyof AuditEntry]-?: (value: AuditEntry[Name]) => unknown } = {
      id: value => value.replace(/.$/, digit => (digit === '0' ? '1' : '0')),
      consent_id: value => value.replace(/.$/, '2'),
      action: value => (value === 'updated' ? 'deleted' : 'updated'),
      accepted: value => !value,
      preferences: () => ({ forged: 1 }),
      policy_version: value => Number(value) + 1,
      changed_by: () => 'user',
      actor_id: () => id,
      created_at: value => new Date(Date.parse(value) + 1).toISOString(),
      version: value => Number(value) + 1,
      salt: value => (value === null ? '00'.repeat(16) : null),
      record_hash: () => '00'.repeat(32),
      payload_hash: () => '00'.repeat(32),
      hash: () => null,
      given_at: value => (value ? new Date(Date.parse(value) + 1).toISOString() : importedFacts(0).given_at),
      file_sha256: value => (value ? undefined : 'f1'.repeat(32)),
      gpc: value => (value ? undefined : true),
      circumstances: value => (value ? { ...value, note: 'another' } : { note: 'another' }),
      erased: value => (value ? undefined : true),
      sealed: value =>
        value ? { ...value, basis: 'another' } : { basis: 'x', until: later, proof_hash: '00'.repeat(32) },
    }
    for (const index of make().keys()) {
      for (const name of Object.keys(others) as (keyof AuditEntry)[]) {
        const entries = make()
        const entry = entries[index] as AuditEntry
        const value = others[name](entry[name] as never)
        entries[index] = { ...entry, [name]: value }
        expect(verifyAudit(id, entries), `${name} of entry ${index + 1}`).toMatchObject({
          result: 'not_valid',
        })
      }
    }
  })

  it('when any one entry except the last is missing, does not verify', () => {
    for (const index of make().keys()) {
      const entries = make()
      if (index === entries.length - 1) continue
      expect(verifyAudit(id, entries.toSpliced(index, 1))).toMatchObject({
        result: 'not_valid',
        detail: expect.stringContaining('missing'),
      })
    }
  })

  it('when the entries are in any other order, does not verify', () => {
    for (const index of make().keys()) {
      const entries = make()
      const [entry] = entries.splice(index, 1)
      if (entry && entries.length > 0) entries.splice((index + 1) % (entries.length + 1), 0, entry)
      if (entries.length > 0) expect(verifyAudit(id, entries)).toMatchObject({ result: 'not_valid' })
    }
  })
})

it('entries that swapped versions are each reported by version', () => {
  const [first, second, third] = historyOf('created', 'updated', 'updated') as [AuditEntry, AuditEntry, AuditEntry]
  const swapped = [first, { ...third, version: 2 }, { ...second, version: 3 }]
  expect(verifyAudit(id, swapped).detail).toMatch(/version 2: .*version 3: /)
})

it('a changed hash is reported for its entry, not for the next', () => {
  const entries = historyOf('created', 'updated', 'updated')
  entries[1] = { ...(entries[1] as AuditEntry), hash: '00'.repeat(32) }
  const { detail } = verifyAudit(id, entries)
  expect(detail).toContain('version 2: ')
  expect(detail).not.toContain('version 3: ')
})

it.each([
  ['accepted', { accepted: true }],
  ['policy_version', { policy_version: 4 }],
  ['created_at', { created_at: new Date(start + 1001).toISOString() }],
])(
  '%s, changed before a purge by an attacker who forges the entry of the purge, is reported for its own entry',
  (_, change) => {
    const entries = historyOf('created', 'updated', 'deleted', 'purged')
    const tampered = entries.with(1, { ...(entries[1] as AuditEntry), ...change })
    expect(verifyAudit(id, purgedAnew(tampered)).detail).toMatch(/^version 2: [^;]*is not what was recorded$/)
  },
)

it.each([
  ['no creation at its beginning', ['updated', 'updated']],
  ['a change after the deletion', ['created', 'deleted', 'updated']],
  ['a second creation', ['created', 'created']],
  ['a purge of what was not deleted', ['created', 'purged']],
  ['a purge of what was restored', ['created', 'deleted', 'restored', 'purged']],
  ['a restore of what was not deleted', ['created', 'restored']],
  ['a second restore', ['created', 'deleted', 'restored', 'restored_despite_erasure']],
  ['a third purge', ['created', 'deleted', 'purged', 'purged', 'purged']],
  ['a restore after the purge', ['created', 'deleted', 'purged', 'restored_despite_erasure']],
] as const)('does not verify with %s, even if its hashes do', (_, actions) => {
  expect(verifyAudit(id, historyOf(...actions))).toMatchObject({
    result: 'not_valid',
    detail: expect.stringContaining('cannot follow'),
  })
})

it.each([
  ['an import after the creation', ['created', 'imported'], importedFacts, 'imported cannot follow created'],
  ['an import after a change', ['imported', 'updated', 'imported'], undefined, 'imported cannot follow updated'],
  ['a creation after an import', ['imported', 'created'], undefined, 'created cannot follow imported'],
  ['no time of the answer', ['imported'], () => ({ file_sha256: 'f1'.repeat(32) }), 'does not say when'],
  ['a time that is none', ['imported'], () => ({ ...importedFacts(0), given_at: '2020-05-25' }), 'does not say when'],
  ['no file', ['imported'], () => ({ given_at: importedFacts(0).given_at }), 'does not say from which file'],
  ['no facts', ['imported'], () => undefined, 'does not say when'],
  ['an answer after the import', ['imported'], () => ({ ...importedFacts(0), given_at: later }), 'after its import'],
  [
    'answers in another order',
    ['imported', 'imported'],
    index => importedFacts(-index),
    'before the version before it',
  ],
  ['the time of an answer, but no import', ['created'], importedFacts, 'was not imported'],
  ['a file, but no import', ['created', 'updated'], () => ({ file_sha256: 'f1'.repeat(32) }), 'was not imported'],
  ['a signal in an import', ['imported'], () => ({ ...importedFacts(0), gpc: true }), 'a signal of the browser'],
  ['a signal in a deletion', ['created', 'deleted'], () => ({ gpc: true }), 'a signal of the browser'],
  ['a signal that is none', ['created'], () => ({ gpc: false }), 'a signal of the browser'],
  [
    'circumstances of a deletion',
    ['created', 'deleted'],
    index => (index === 1 ? { circumstances: circumstancesOf(0) } : undefined),
    'circumstances',
  ],
  ['circumstances that are empty', ['created'], () => ({ circumstances: {} }), 'circumstances'],
  ['circumstances that are not known', ['created'], () => ({ circumstances: { colour: 'red' } }), 'circumstances'],
  ['circumstances that are no texts', ['created'], () => ({ circumstances: { note: 1 } }), 'circumstances'],
] as [string, Action[], ((index: number) => Facts | undefined) | undefined, string][])(
  'does not verify with %s, even if its hashes do',
  (_, actions, factsOf, detail) => {
    const entries = factsOf ? withFacts(actions, index => factsOf(index)) : historyOf(...actions)
    const verified = verifyAudit(id, entries)
    expect(verified).toMatchObject({ result: 'not_valid', detail: expect.stringContaining(detail) })
    expect(verified.detail).not.toContain('recorded')
  },
)

describe('a sealed proof', () => {
  const entries = sealedHistory(true, 'created', 'updated', 'deleted', 'purged')
  const purge = entries.at(-1) as AuditEntry
  const shown = purge.sealed as NonNullable<AuditEntry['sealed']>
  it.each([
    ['reason', { basis: 'another' }],
    ['end', { until: '2037-01-31T09:30:02.000Z' }],
    ['hash', { proof_hash: '00'.repeat(32) }],
    ['person', { subject_hmac: '00'.repeat(32) }],
    ['answer', { answers: shown.answers?.toSpliced(0, 1) }],
    ['person alone', { answers: undefined }],
  ])('when its %s is changed or removed, does not verify', (_, change) => {
    const changed = entries.with(-1, { ...purge, sealed: { ...shown, ...change } })
    expect(verifyAudit(id, changed).result).toBe('not_valid')
  })

  it('when another one follows after a second purge, does not verify', () => {
    const again = sealedHistory(true, 'created', 'updated', 'deleted', 'purged', 'purged')
    expect(again[3]).toMatchObject({ salt: null, record_hash: null })
    expect(verifyAudit(id, again.with(-1, { ...(again[4] as AuditEntry), sealed: shown })).detail).toContain(
      'purged cannot follow purged',
    )
  })
})

describe.each([
  ['before a purge', ['created', 'deleted']],
  ['after a purge', ['created', 'deleted', 'purged']],
] as [string, Action[]][])('circumstances %s', (_, actions) => {
  it('when any field of them is changed, moved to the other part or removed, do not verify', () => {
    const entries = withCircumstances(actions)
    const [first] = entries as [AuditEntry]
    const told = first.circumstances ?? {}
    expect(Object.keys(told)).toHaveLength(actions.includes('purged') ? 6 : 9)
    for (const name of Object.keys(told)) {
      const { [name]: value, ...others } = told
      const moved = { ...others, [name === 'note' ? 'reference' : 'note']: value }
      for (const circumstances of [{ ...told, [name]: `${value}x` }, others, moved]) {
        const { result } = verifyAudit(id, entries.with(0, { ...first, circumstances }))
        expect(result, `${name} as ${JSON.stringify(circumstances)}`).toBe('not_valid')
      }
    }
  })
})

it('two answers of one instant verify in the order of their import', () => {
  expect(
    verifyAudit(
      id,
      withFacts(['imported', 'imported'], () => importedFacts(0)),
    ).result,
  ).toBe('ok')
})

it('an attacker who changes the time of an imported answer and forges the entry of the purge is detected', () => {
  const entries = historyOf('imported', 'deleted', 'purged')
  const tampered = entries.with(0, { ...(entries[0] as AuditEntry), ...importedFacts(1) })
  expect(verifyAudit(id, purgedAnew(tampered)).detail).toMatch(/^version 1: [^;]*is not what was recorded$/)
})

it('a purged entry without preferences does not verify with an invalid salt', () => {
  const entries = historyOf('created', 'deleted', 'purged')
  const salted = entries.with(1, { ...(entries[1] as AuditEntry), salt: 'abc' })
  expect(verifyAudit(id, entries).result).toBe('ok')
  expect(verifyAudit(id, salted).detail).toBe('version 2: its salt is not written as it should be')
})

it.each([
  ['nothing', {}],
  ['texts that are no digits', { hash: 'x', payload_hash: 'é', salt: '\u0000', record_hash: 'abc' }],
  ['versions that are none', { version: 1.5 }],
  ['a time that is none', { created_at: 'yesterday' }],
  ['numbers that JSON does not have', { preferences: { a: Number.POSITIVE_INFINITY } }],
])('is not valid when its entries are hostile: %s', (_, fields) => {
  const entries = historyOf('created', 'updated').map(entry => ({ ...entry, ...fields }))
  const isOwn = Object.keys(fields).length === 0
  expect(verifyAudit(id, entries).result).toBe(isOwn ? 'ok' : 'not_valid')
})

it('a history without hashes is unverifiable, never valid', () => {
  const plain = historyOf('created', 'updated').map(entry => ({
    ...{ ...entry, version: null, hash: null },
    ...{ payload_hash: null, salt: null, record_hash: null },
  }))
  expect(verifyAudit(id, plain)).toMatchObject({ result: 'unverifiable' })
  expect(verifyAudit(id, [])).toMatchObject({ result: 'unverifiable' })
  expect(verifyAudit(id, [...historyOf('created'), ...plain.slice(1)])).toMatchObject({ result: 'not_valid' })
})
