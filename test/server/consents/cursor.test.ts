import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CursorScope, decodeCursor, encodeCursor } from '../../../server/cursor.ts'
import { Failure } from '../../../server/failure.ts'
import { newId } from '../../../server/ids.ts'
import { idOf } from '../../../src/evidence/bytes.ts'

const scope: CursorScope = {
  secret: Buffer.alloc(32, 1),
  accountId: newId(),
  filters: { site_id: newId(), accepted: true, from: '2026-01-01T00:00:00Z' },
}
let id = newId()
while (!/[-_]/.test(encodeCursor(scope, id))) id = newId() // so that the two base64 alphabets differ in it
const cursor = encodeCursor(scope, id)
const refused = expect.objectContaining({ name: 'Failure', code: 'invalid_request' })

describe('a cursor', () => {
  it('decodes to the id it was created from, and is safe in a URL', () => {
    const ids = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map(n => idOf(n.toString(16).padStart(32, '0')))
    fc.assert(
      fc.property(ids, one => {
        const text = encodeCursor(scope, one)
        expect(text).toMatch(/^[\w-]+$/)
        expect(decodeCursor(scope, text)).toBe(one)
      }),
    )
  })

  it('does not depend on the order of the filters', () => {
    const { site_id, accepted, from } = scope.filters
    expect(decodeCursor({ ...scope, filters: { from, accepted, site_id } }, cursor)).toBe(id)
  })

  it('does not reveal the account or the filters', () => {
    const text = Buffer.from(cursor, 'base64url').toString('hex')
    for (const part of [scope.accountId, String(scope.filters['site_id'])]) {
      expect(text).not.toContain(part.replaceAll('-', ''))
    }
  })
})

describe('decodeCursor › rejected cursors', () => {
  it.each<[string, Partial<CursorScope>]>([
    ['of another account', { accountId: newId() }],
    ['with another secret', { secret: Buffer.alloc(32, 2) }],
    ['without its filters', { filters: {} }],
    ['with one filter less', { filters: { site_id: scope.filters['site_id'], accepted: true } }],
    ['with one filter more', { filters: { ...scope.filters, subject_id: 'x' } }],
    ['with another value', { filters: { ...scope.filters, accepted: false } }],
    ['with a value of another type', { filters: { ...scope.filters, accepted: 'true' } }],
    ['with a value under another name', { filters: { ...scope.filters, from: undefined, to: scope.filters['from'] } }],
  ])('rejects a cursor %s', (_name, other) => {
    expect(() => decodeCursor({ ...scope, ...other }, cursor)).toThrow(refused)
  })

  it.each([
    ['empty', ''],
    ['padded', `${cursor}=`],
    ['in base64 with the other alphabet', Buffer.from(cursor, 'base64url').toString('base64')],
    ['followed by a line break', `${cursor}\n`],
    ['preceded by a space', ` ${cursor}`],
    ['doubled', cursor + cursor],
    ['the id alone', id],
    ['a megabyte long', 'A'.repeat(1_000_000)],
  ])('rejects a cursor that is %s', (_name, text) => {
    expect(() => decodeCursor(scope, text)).toThrow(refused)
  })

  it('rejects a cursor with any one bit flipped, or any one character replaced', () => {
    const bytes = Buffer.from(cursor, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(() => decodeCursor(scope, changed.toString('base64url'))).toThrow(refused)
    }
    for (let index = 0; index < cursor.length; index += 1) {
      for (let code = 0; code < 256; code += 1) {
        const text = cursor.slice(0, index) + String.fromCharCode(code) + cursor.slice(index + 1)
        if (text !== cursor) expect(accepts(text)).toBe(false)
      }
    }
  })

  it('rejects each of 100,000 mutants with the same error', () => {
    const index = fc.nat(cursor.length)
    const piece = fc.string({ unit: fc.constantFrom(...'ABCxyz019-_=+/ \0é'), maxLength: 6 })
    const splice = fc.tuple(index, fc.nat(6), piece)
    const other = encodeCursor({ ...scope, accountId: newId() }, id)
    const mutant = fc
      .tuple(fc.constantFrom(cursor, other), fc.array(splice, { minLength: 1, maxLength: 4 }))
      .map(([start, splices]) =>
        splices.reduce((text, [at, drop, add]) => text.slice(0, at) + add + text.slice(at + drop), start),
      )
      .filter(text => text !== cursor)
    fc.assert(
      fc.property(mutant, text => !accepts(text)),
      { numRuns: 100_000 },
    )
  })
})

function accepts(text: string): boolean {
  try {
    decodeCursor(scope, text)
    return true
  } catch (error) {
    if (error instanceof Failure && error.code === 'invalid_request') return false
    throw error
  }
}
