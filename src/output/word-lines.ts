/**
 * Wraps at spaces; longer words overflow. Text that may not be Latin needs `widthOf` of graphemes.ts, which takes 20 ms
 * to load.
 */
export function wordLines(text: string, width: number, widthOf = (line: string) => line.length): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
