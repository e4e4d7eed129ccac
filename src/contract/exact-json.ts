const maxDepth = 32

/**
 * Parses JSON (RFC 8259). Rejects what JSON.parse would change: repeated keys, `__proto__`, numbers that a double
 * cannot hold. @throws SyntaxError with a message that completes "The body …"
 */
export function parseExactJson(text: string): unknown {
  const value = parse(text)
  /** Keys of each open object; null for an array. */
  const open: (Set<string> | null)[] = []
  /** Keys of the innermost object, if a key is next. */
  let keys: Set<string> | null | undefined = null
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] as string
    switch (character) {
      case '{':
      case '[':
        keys = character === '{' ? new Set() : null
        open.push(keys)
        if (open.length > maxDepth) throw new SyntaxError('is nested too deeply')
        break
      case '}':
      case ']':
        open.pop()
        keys = null
        break
      case ',':
        keys = open.at(-1)
        break
      case '"': {
        const end = endOfString(text, at)
        if (keys) addKey(keys, text.slice(at, end + 1))
        keys = null
        at = end
        break
      }
      default:
        if (startsNumber(character)) at = endOfExactNumber(text, at)
    }
  }
  return value
}

function startsNumber(character: string): boolean {
  return character === '-' || (character >= '0' && character <= '9')
}

const number = /-?\d[\d.eE+-]*/y

function endOfExactNumber(text: string, start: number): number {
  number.lastIndex = start
  const token = number.exec(text)?.[0] ?? ''
  if (!isKept(token)) throw new SyntaxError('has a number that cannot be kept exactly')
  return start + token.length - 1
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return end
  }
}

/** I-JSON (RFC 7493 section 2.2). */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

function isKept(token: string): boolean {
  if (/^-?[1-9]\d{0,14}$/.test(token)) return true // most numbers are integers below 2^53
  const value = Number(token)
  if (!isExactNumber(value) || Object.is(value, -0)) return false
  const digits = significant(token)
  return digits === significant(String(value)) || digits === significant(value.toPrecision(17))
}

function significant(text: string): string {
  return text
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '')
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new SyntaxError('is not valid JSON', { cause })
  }
}

function addKey(keys: Set<string>, token: string): void {
  const key = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1)
  if (keys.has(key)) throw new SyntaxError(`has the key ${token.slice(0, 100)} twice`)
  if (key === '__proto__') throw new SyntaxError('has the key "__proto__"')
  keys.add(key)
}
