/**
 * Code points that do something to a terminal, or to the eyes of its reader, other than showing a character:
 * - controls (C0, DEL, C1), line and paragraph separators, bidirectional controls, halves of surrogate pairs;
 * - what is never drawn: zero-width characters and joiners, fillers, tags, annotations, noncharacters; for two ids that
 *   differ must look different. Joiners inside emoji and Indic scripts too: not every terminal joins, and then the width
 *   is wrong;
 * - blanks that are no spaces (U+2800, U+1D159);
 * - variation selectors, but for the one that belongs to an emoji or a keycap: a row of them hides text;
 * - combining marks without a base, and from the ninth on one base, where they flow over the lines around.
 */
const unsafe =
  /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff9-\ufffb\u{13430}-\u{1343f}\u2800\u{1d159}]|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f](?!\u20e3)|^\p{M}|(?<=\p{M}{8})\p{M}/gu

/** What most texts are, and what none of the above is in. */
const plainAscii = /^[ -~]*$/
const plainAsciiLines = /^[ -~\n]*$/

/** Text for a terminal: every unsafe code point as a visible `\u{…}`, never dropped and never sent. */
export function visible(text: string): string {
  if (plainAscii.test(text)) return text
  return text.replace(unsafe, point => `\\u{${(point.codePointAt(0) ?? 0).toString(16)}}`)
}

/** Text for a file of text that knows no escapes: only halves of surrogate pairs, which no file can hold, are visible. */
export function encodable(text: string): string {
  return text.isWellFormed() ? text : text.replace(/\p{Surrogate}/gu, visible)
}

/** JSON on one line in which the same code points stand as `\uXXXX`: still valid, still the same value. */
export function safeJson(value: unknown, indent?: number): string {
  return escapedJson(JSON.stringify(value, null, indent))
}

/** Values so, each on a line of its own. */
export function safeJsonLines(values: readonly unknown[]): string {
  const lines = values.map(value => `${JSON.stringify(value)}\n`)
  const text = lines.join('')
  return plainAsciiLines.test(text) ? text : lines.map(escapedJson).join('')
}

function escapedJson(text: string): string {
  if (plainAscii.test(text)) return text
  return text.replace(unsafe, point => (point === '\n' ? point : escaped(point)))
}

/** A string as YAML has it in double quotes: as JSON, but what is beyond U+FFFF must be escaped in one piece. */
export function yamlText(text: string): string {
  const quoted = JSON.stringify(text)
  if (plainAscii.test(quoted)) return quoted
  return quoted.replace(unsafe, point =>
    point.length > 1 ? `\\U${hex(point.codePointAt(0) ?? 0, 8)}` : escaped(point),
  )
}

/** Text for a TSV cell: tab, line ends and backslash by their usual escapes, the rest of the unsafe as `\uXXXX`. */
export function tsvText(text: string): string {
  const cell = text.includes('\\') ? text.replaceAll('\\', '\\\\') : text
  if (plainAscii.test(cell)) return cell
  return cell.replace(unsafe, point => tsvEscapes[point] ?? escaped(point))
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
  return Array.from({ length: point.length }, (_, index) => `\\u${hex(point.charCodeAt(index), 4)}`).join('')
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
