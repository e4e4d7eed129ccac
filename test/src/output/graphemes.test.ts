import fc from 'fast-check'
import stringWidth from 'string-width'
import { describe, expect, it } from 'vitest'
import { prefix, widthOf, wrapped } from '../../../src/output/graphemes.ts'
import { visible } from '../../../src/output/safe.ts'

const samples: [what: string, text: string, width: number][] = [
  ['Latin', 'maria', 5],
  ['accents, composed or not', 'é e\u0301', 3],
  ['Chinese', '同意', 4],
  ['Japanese with half-width kana', 'かﾞ', 3],
  ['Korean', '동의', 4],
  ['full-width Latin', 'ＡＢ', 4],
  ['emoji', '👍', 2],
  ['a skin tone', '👍🏽', 2],
  ['a flag', '🇩🇪', 2],
  ['a keycap', '1️⃣', 2],
  ['an emoji by its selector', '❤️', 2],
  ['Arabic', 'موافقة', 6],
  ['Hebrew with points', 'שָׁלוֹם', 4],
  ['Devanagari', 'नमस्ते', 4],
  ['Thai', 'ยินยอม', 5],
]

describe('widths', () => {
  it.each(samples)('measures %s: %j', (_, text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  it('the fast paths return the same as the slow one', () => {
    const unit = fc.oneof(
      fc.integer({ min: 0x20, max: 0x52f }),
      fc.integer({ min: 0x2010, max: 0x2030 }),
      fc.integer({ min: 0x3000, max: 0x30ff }),
      fc.integer({ min: 0x3400, max: 0xd7a3 }),
      fc.integer({ min: 0xff00, max: 0xffef }),
    )
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 4 }), points => {
        const text = visible(String.fromCodePoint(...points))
        expect(widthOf(text)).toBe(stringWidth(text))
      }),
      { numRuns: 5000 },
    )
  })
})

describe('cutting', () => {
  const text = fc.string({ unit: fc.constantFrom(...samples.map(([, sample]) => sample), 'a', ' ', '…') })

  it('keeps graphemes whole within the width, and returns the remaining width', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 4, max: 40 }), (whole, width) => {
        // No grapheme of these is wider than four columns, and at least one is always kept.
        const [cut, used] = prefix(whole, width)
        expect(whole.startsWith(cut)).toBe(true)
        expect(used).toBe(widthOf(cut))
        expect(used).toBeLessThanOrEqual(width)
        const graphemes = [...new Intl.Segmenter().segment(whole)].map(({ index }) => index)
        expect([...graphemes, whole.length]).toContain(cut.length)
        expect(wrapped(whole, width).replaceAll('\n', '')).toBe(whole)
      }),
    )
  })

  it('never takes part of a letter whose accent is behind the cut', () => {
    expect(prefix('abe\u0301', 3)).toEqual(['abe\u0301', 3])
    expect(prefix('abe\u0301', 2)).toEqual(['ab', 2])
  })
})
