import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter()

/** Graphemes of one code unit: one column wide below U+3000, two from there. */
const simple = /^[ -~¡-¬®-ʯΑ-ΡΣ-ωА-ҁҊ-ԯ–—‘’“”…、。ぁ-ゖァ-ヺ㐀-䶿一-鿿가-힣！-～]*$/

const ascii = /^[ -~]*$/

/** In terminal columns; without control characters. */
export function widthOf(text: string): number {
  if (ascii.test(text)) return text.length
  if (!simple.test(text)) {
    // Terminals draw each letter of an Indic conjunct, which newer Unicode counts as one grapheme.
    return text.split(/(?<=\p{M})(?=\p{L})/u).reduce((sum, part) => sum + stringWidth(part), 0)
  }
  let width = text.length
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) >= 0x3000) width += 1
  return width
}

export function wrapped(text: string, width: number): string {
  const lines: string[] = []
  for (let rest = text; rest !== ''; ) {
    const [line] = prefix(rest, width)
    lines.push(line)
    rest = rest.slice(line.length)
  }
  return lines.join('\n')
}

/** Returns the graphemes that fit, at least one, and their width. */
export function prefix(text: string, width: number): [string, number] {
  const head = text.slice(0, width + 1)
  if (width > 0 && ascii.test(head)) return [text.slice(0, width), Math.min(text.length, width)]
  let end = 0
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    const size = widthOf(segment)
    if (end > 0 && used + size > width) break
    end += segment.length
    used += size
  }
  return [text.slice(0, end), used]
}
