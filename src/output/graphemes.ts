import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter()

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
  let end = 0
  let used = 0
  for (const { segment } of graphemes.segment(text)) {
    const size = stringWidth(segment)
    if (end > 0 && used + size > width) break
    end += segment.length
    used += size
  }
  return [text.slice(0, end), used]
}
