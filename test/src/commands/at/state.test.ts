import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../../../src/contract/index.ts'
import { stateAt, timeOf } from '../../../../src/domain/moment.ts'
import { entry, uuid } from '../../support.ts'

/** Milliseconds since 1970 of the first entry of a history. */
const start = Date.UTC(2026, 0, 31)

interface Made {
  readonly entries: AuditEntry[]
  readonly times: number[]
}

/**
 * A history as this service writes it: gaps of 0 to some milliseconds, some changes a deletion and a restore, and perhaps a
 * deletion and a purge at its end.
 */
const histories = fc
  .record({
    gaps: fc.array(fc.tuple(fc.nat(3), fc.boolean()), { minLength: 1, maxLength: 12 }),
    ends: fc.subarray(['deleted', 'purged'] as const),
  })
  .map(({ gaps, ends }): Made => {
    const changes = gaps.slice(1).flatMap(([gap], index) => (gap === index % 4 ? ['deleted', 'restored'] : ['updated']))
    const actions = ['created', ...changes, ...ends.slice(0, 2)]
    let time = start
    const times = actions.map((_, index) => {
      time += index === 0 ? 0 : (gaps[index]?.[0] ?? 1)
      return time
    })
    const entries = actions.map((action, index) => {
      const created_at = new Date(times[index] ?? 0).toISOString()
      const accepted = gaps[index]?.[1] ?? false
      return entry({ id: uuid(index), action, accepted, policy_version: index + 1, created_at }) as AuditEntry
    })
    return { entries, times }
  })

const instants = fc.integer({ min: -2, max: 45 }).map(offset => start + offset)

describe('stateAt', () => {
  it('equals a replay of the events until then', () => {
    fc.assert(
      fc.property(histories, instants, ({ entries, times }, instant) => {
        const happened = entries.filter((_, index) => (times[index] ?? 0) <= instant)
        const isEnd = ({ action }: AuditEntry) => action === 'deleted' || action === 'purged'
        const replayed = happened.reduce<{ state: AuditEntry; deletedAt: string | null } | null>(
          (before, each) => ({
            state: each,
            deletedAt:
              each.action === 'restored' ? null : (before?.deletedAt ?? (isEnd(each) ? each.created_at : null)),
          }),
          null,
        )
        const found = stateAt(entries, instant)
        expect(found && { state: found.entry, deletedAt: found.deletedAt }).toEqual(replayed)
      }),
    )
  })

  it('is the same for an instance that lists the newest entry first', () => {
    fc.assert(
      fc.property(histories, instants, ({ entries }, instant) => {
        expect(stateAt([...entries].reverse(), instant)).toEqual(stateAt(entries, instant))
      }),
    )
  })

  it('finds the same entry without actions, never a deletion, and is uncertain only if no entry follows', () => {
    fc.assert(
      fc.property(histories, instants, ({ entries }, instant) => {
        const bare = entries.map(each => ({ ...each, action: null }))
        const found = stateAt(bare, instant)
        expect(found?.entry.id).toBe(stateAt(entries, instant)?.entry.id)
        expect(found?.deletedAt ?? null).toBeNull()
        expect(found?.mayBeDeleted ?? false).toBe(found?.entry === bare.at(-1))
        expect(stateAt(entries, instant)?.mayBeDeleted ?? false).toBe(false)
      }),
    )
  })
})

describe('comparison of times', () => {
  it('are compared by their meaning, not by their text', () => {
    const entries = [
      entry({ id: 'a', created_at: '2026-01-31T10:00:00+02:00' }),
      entry({ id: 'b', created_at: '2026-01-31T08:00:01Z' }),
      entry({ id: 'c', created_at: '2026-01-31T08:00:01.000001Z' }),
    ] as AuditEntry[]
    expect(stateAt(entries, timeOf('2026-01-31T08:00:00.999Z'))?.entry.id).toBe('a')
    expect(stateAt(entries, timeOf('2026-01-31T08:00:01Z'))?.entry.id).toBe('b')
    expect(stateAt(entries, timeOf('2026-01-31T08:00:01.001Z'))?.entry.id).toBe('c')
  })

  it('when they cannot be compared, exits with an error', () => {
    const entries = [entry({ created_at: '2026-01-31 08:00:00' })] as AuditEntry[]
    expect(() => stateAt(entries, start)).toThrow('"2026-01-31 08:00:00"')
  })
})
