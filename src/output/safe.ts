/**
 * Code points that move the cursor, hide or reorder text in a terminal: C0 and C1 controls, DEL, bidirectional and
 * zero-width controls, tags. Lone surrogates too, which are no text.
 */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}]|\p{Surrogate}/gu

/** Text for a terminal: every unsafe code point as a visible `\u{…}`, never dropped and never sent. */
export function visible(text: string): string {
  return text.replace(unsafe, point => `\\u{${(point.codePointAt(0) ?? 0).toString(16)}}`)
}

/** JSON on one line in which the same code points stand as `\uXXXX`: still valid, still the same value. */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(unsafe, point =>
    point === '\n' ? point : escaped(point),
  )
}

/** Text for a TSV cell: tab, line ends and backslash by their usual escapes, the rest of the unsafe as `\uXXXX`. */
export function tsvText(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(unsafe, point => tsvEscapes[point] ?? escaped(point))
}

/** What tsvText made, as it was. */
export function fromTsv(text: string): string {
  const letters: Record<string, string> = { t: '\t', n: '\n', r: '\r', '\\': '\\' }
  return text.replace(/\\(?:u([\da-f]{4})|([tnr\\]))/g, (_, code: string | undefined, letter: string) =>
    code ? String.fromCharCode(Number.parseInt(code, 16)) : (letters[letter] ?? ''),
  )
}

const tsvEscapes: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' }

/** Each UTF-16 unit as `\uXXXX`. */
function escaped(point: string): string {
  return Array.from(
    { length: point.length },
    (_, index) => `\\u${point.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')
}
