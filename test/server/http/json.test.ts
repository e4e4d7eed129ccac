import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Failure } from '../../../server/failure.ts'
import { parseJson } from '../../../server/http/parsing.ts'

const refused = expect.objectContaining({ name: 'Failure', code: 'invalid_request' })

describe('parseJson › rejects what is not JSON in UTF-8:', () => {
  it.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a cut sequence', [0xf0, 0x9d, 0x92]],
    ['a code point above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['UTF-16', [0x00, 0x61]],
  ])('%s inside a string', (_name, middle) => {
    expect(() => parseJson(Uint8Array.from([0x22, ...middle, 0x22]))).toThrow(refused)
  })

  it('any bytes give a value or invalid_request, never another error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), input => {
        try {
          parseJson(input)
        } catch (error) {
          expect(error).toBeInstanceOf(Failure)
        }
      }),
      { numRuns: 5000 },
    )
  })
})
