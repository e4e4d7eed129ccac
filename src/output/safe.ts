/**
 * Code points that act on a terminal or deceive its reader:
 * - controls (C0, DEL, C1), line and paragraph separators, bidirectional controls, lone surrogates;
 * - invisible ones: zero-width characters and joiners (even in emoji), fillers, tags, annotations, noncharacters;
 * - blanks that are not spaces (U+2800, U+1D159);
 * - variation selectors except in emoji and keycaps: a row of them can hide text;
 * - combining marks without a base, and more than eight on one, which overflow into other lines.
 *
 * Compiled at first use: most text is ASCII.
 */
let unsafe: RegExp | undefined

function escapeUnsafe(text: string, toText: (point: string) => string): string {
  unsafe ??=
    /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff9-\ufffb\u{13430}-\u{1343f}\u2800\u{1d159}]|(?<!\p{Extended_Pictographic})[\ufe0e\ufe0f](?!\u20e3)|^\p{M}|(?<=\p{M}{8})\p{M}/gu
  return text.replace(unsafe, toText)
}

const plainAscii = /^[ -~]*$/
const plainAsciiLines = /^[ -~\n]*$/

export function visible(text: string): string {
  if (plainAscii.test(text)) return text
  return escapeUnsafe(text, point => `\\u{${(point.codePointAt(0) ?? 0).toString(16)}}`)
}

/** Files cannot hold lone surrogates. */
export function encodable(text: string): string {
  return text.isWellFormed() ? text : text.replace(/\p{Surrogate}/gu, visible)
}

/** Unsafe code points become `\uXXXX`. */
export function safeJson(value: unknown, indent?: number): string {
  return escapedJson(JSON.stringify(value, null, indent))
}

export function safeJsonLines(values: readonly unknown[]): string {
  const lines = values.map(value => `${JSON.stringify(value)}\n`)
  const text = lines.join('')
  return plainAsciiLines.test(text) ? text : lines.map(escapedJson).join('')
}

function escapedJson(text: string): string {
  if (plainAscii.test(text)) return text
  return escapeUnsafe(text, point => (point === '\n' ? point : escaped(point)))
}

/** JSON, but with a single `\U` escape for each unsafe code point beyond U+FFFF. */
export function yamlText(text: string): string {
  const quoted = JSON.stringify(text)
  if (plainAscii.test(quoted)) return quoted
  return escapeUnsafe(quoted, point => (point.length > 1 ? `\\U${hex(point.codePointAt(0) ?? 0, 8)}` : escaped(point)))
}

/** `\t`, `\r`, ` `, `\\`; other unsafe code points as `\uXXXX`. */
export function tsvText(text: string): string {
  const cell = text.includes('\\') ? text.replaceAll('\\', '\\\\') : text
  if (plainAscii.test(cell)) return cell
  return escapeUnsafe(cell, point => tsvEscapes[point] ?? escaped(point))
}

export function fromTsv(text: string): string {
  const letters: Record<string, string> = { t: '\t', n: '\n', r: '\r', '\\': '\\' }
  return text.replace(/\\(?:u([\da-f]{4})|([tnr\\]))/g, (_, code: string | undefined, letter: string) =>
    code ? String.fromCharCode(Number.parseInt(code, 16)) : (letters[letter] ?? ''),
  )
}

const tsvEscapes: Record<string, string> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escaped(point: string): string {
  return Array.from({ length: point.length }, (_, index) => `\\u${hex(point.charCodeAt(index), 4)}`).join('')
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, '0')
}
