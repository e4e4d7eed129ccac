/** The beginning of a notice's text, as lines that fit on a printed page. */
export interface Excerpt {
  readonly text: string
  /** In characters (code points), like `total`. */
  readonly count: number
  readonly total: number
  /** False for text without markup to remove. */
  readonly isStripped: boolean
}

/** Lines of a page, and about as many characters as a line of it has. */
const maxLines = 8
const lineLength = 100

/** Returns null if it cannot be shown as text. */
export function excerptOf(content: Buffer, mediaType: string): Excerpt | null {
  const [type] = mediaType.split(';', 1)
  if (type === 'application/pdf') return null
  let source: string
  try {
    source = new TextDecoder('utf-8', { fatal: true }).decode(content)
  } catch {
    return null
  }
  const isStripped = type === 'text/html'
  const text = tidy(isStripped ? withoutMarkup(source) : source)
  const shown = firstLines(text)
  return { text: shown, count: [...shown].length, total: [...text].length, isStripped }
}

/** Blank lines become one, and no line ends with a blank. */
function tidy(text: string): string {
  const lines = text.split(/\r\n|[\r\n]/).map(line => line.replaceAll('\t', ' ').trimEnd())
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .replace(/^\n+|\n+$/g, '')
}

function firstLines(text: string): string {
  const lines: string[] = []
  let free = maxLines
  for (const line of text.split('\n')) {
    const points = [...line.slice(0, 2 * maxLines * lineLength)]
    const rows = Math.max(1, Math.ceil(points.length / lineLength))
    lines.push(rows > free ? points.slice(0, free * lineLength).join('') : line)
    free -= rows
    if (free <= 0) break
  }
  return lines.join('\n')
}

/** Elements whose content is not shown. */
const hidden = new Set(['head', 'script', 'style', 'template', 'title'])

const inline = new Set([
  'a',
  'abbr',
  'b',
  'bdi',
  'code',
  'em',
  'font',
  'i',
  'mark',
  'q',
  's',
  'small',
  'span',
  'strong',
  'sub',
  'sup',
  'u',
])

/** Removes tags, comments and hidden elements of HTML in one pass; decodes the entities that XML has, and numbers. */
function withoutMarkup(source: string): string {
  let text = ''
  let inside = ''
  for (const [token] of source.matchAll(/<!--[\s\S]*?(?:-->|$)|<[^<>]*>|[^<]+|</g)) {
    const { element, isEnd } = readTag(token)
    if (inside !== '') inside = isEnd && element === inside ? '' : inside
    else if (!isEnd && hidden.has(element)) inside = element
    else text += textOf(token, element)
  }
  const lines = text.split('\n').map(line => line.trim().replace(/ {2,}/g, ' '))
  return decodeEntities(lines.join('\n'))
}

function readTag(token: string): { readonly element: string; readonly isEnd: boolean } {
  const [, slash, name = ''] = /^<(\/?)([a-z][a-z\d]*)/i.exec(token) ?? []
  return { element: token.endsWith('>') ? name.toLowerCase() : '', isEnd: slash === '/' }
}

function textOf(token: string, element: string): string {
  if (element !== '') return inline.has(element) ? '' : '\n'
  return /^<[!?/]/.test(token) ? '' : token.replace(/\s+/g, ' ')
}

const entities: Readonly<Record<string, string>> = { amp: '&', apos: "'", gt: '>', lt: '<', nbsp: ' ', quot: '"' }

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|apos|gt|lt|nbsp|quot));/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return entities[name.toLowerCase()] ?? all
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code > 0 && code <= 0x10_ff_ff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : all
  })
}
