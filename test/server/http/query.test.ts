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
  ])('parses %s', (url, values) => {
    expect({ ...parseQuery(url) }).toEqual(values)
  })
})
