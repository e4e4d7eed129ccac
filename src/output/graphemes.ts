import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter()

/** Letters of which each is a grapheme of its own, one column wide before U+3000 and two from there on. */
const simple = /^[ -~¡-¬®-ʯΑ-ΡΣ-ωА-ҁҊ-ԯ–—‘’“”…、。ぁ-ゖァ-ヺ㐀-䶿一-鿿가-힣！-～]*$/

const ascii = /^[ -~]*$/

/** How many columns a text takes on a terminal. It must hold no control characters. */
export function widthOf(text: string): number {
  if (ascii.test(text)) return text.length
  if (!simple.test(text)) {
    // A terminal draws each letter in columns of its own, where Unicode has since made one grapheme of Indic conjuncts.
    return text.split(/(?<=\p{M})(?=\p{L})/u).reduce((sum, part) => sum + stringWidth(part), 0)
  }
  let width = text.length
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) >= 0x3000) width += 1
  return width
}

/** A text in lines of some width, broken between graphemes. */
export function wrapped(text: string, width: number): string {
  const lines: string[] = []
  for (let rest = text; rest !== ''; ) {
    const [line] = prefix(rest, width)
    lines.push(line)
    rest = rest.slice(line.length)
  }
  return lines.join('\n')
}

/** As many of a text's graphemes as fit in a width, at least one, and how wide they are. */
export function prefix(text: string, width: number): [string, number] {
  // Of what is around the cut alone: a text may be long, and its first `width` characters decide.
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
