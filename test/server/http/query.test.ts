import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseQuery } from '../../../server/http/parsing.ts'

const wellFormed = fc.string({ unit: 'binary', maxLength: 20 }).filter(text => text.isWellFormed())

describe('parseQuery › query string', () => {
  it('round-trips through forms and encodeURIComponent', () => {
    const values = fc.dictionary(wellFormed, wellFormed)
    fc.assert(
      fc.property(values, given => {
        const encoded = Object.entries(given).map(pair => pair.map(encodeURIComponent).join('='))
        for (const query of [encoded.join('&'), new URLSearchParams(given).toString()]) {
          expect({ ...parseQuery(`/path?${query}`) }).toEqual({ ...given })
        }
      }),
    )
  })

  it.each([
    ['/path', {}],
    ['/path?', {}],
    ['/path?&&', {}],
    ['/path?a', { a: '' }],
    ['/path?a=', { a: '' }],
    ['/path?a=b=c', { a: 'b=c' }],
    ['/path?a=?b', { a: '?b' }],
    ['/path?a=1+2%2B3', { a: '1 2+3' }],
    ['/path?a=1;b=2', { a: '1;b=2' }],
    ['/path?a[]=1', { 'a[]': '1' }],
    ['/path?A=1&a=2', { A: '1', a: '2' }],
    ['/path?constructor=1&toString=2', { constructor: '1', toString: '2' }],
  ])('%s', (url, values) => {
    expect({ ...parseQuery(url) }).toEqual(values)
  })

  it('has no inherited names', () => {
    const values = parseQuery('/path?__proto__=1')
    expect([Object.keys(values), 'constructor' in values]).toEqual([['__proto__'], false])
  })

  it.each([
    ['a name twice', 'a=1&a=2'],
    ['a name twice with one value', 'a=1&a=1'],
    ['a name twice, once escaped', 'a=1&%61=2'],
    ['a name twice, once without a value', 'a&a=1'],
    ['an escape without digits', 'a=%'],
    ['an escape with other letters', '%zz=1'],
    ['an escape that is no UTF-8', 'a=%ff'],
    ['an overlong escape', 'a=%c0%af'],
    ['an escaped surrogate', 'a=%ed%a0%80'],
  ])('is rejected with %s', (_name, query) => {
    expect(() => parseQuery(`/path?${query}`)).toThrow(
      expect.objectContaining({ name: 'Failure', code: 'invalid_request' }),
    )
  })
})
