/** Deeper than any body of the contract, and far from where recursion hurts. */
const deepest = 32

/**
 * A text as JSON (RFC 8259), refused wherever JSON.parse would quietly change what was sent: a key given twice,
 * `__proto__`, numbers that a double cannot hold. Throws a SyntaxError whose message completes "The body …".
 */
export function parseExactJson(text: string): unknown {
  const value = parse(text)
  /** The keys of each open object, `null` for an open array. */
  const open: (Set<string> | null)[] = []
  let expectKey = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] as string
    if (character === '{' || character === '[') {
      expectKey = character === '{'
      open.push(expectKey ? new Set() : null)
      if (open.length > deepest) throw new SyntaxError('is nested too deeply')
    } else if (character === '}' || character === ']') {
      open.pop()
      expectKey = false
    } else if (character === ',') {
      expectKey = Boolean(open.at(-1))
    } else if (character === '"') {
      const end = endOfString(text, at)
      const keys = open.at(-1)
      if (expectKey && keys) addKey(keys, text.slice(at, end + 1))
      expectKey = false
      at = end
    } else if (character === '-' || (character >= '0' && character <= '9')) {
      number.lastIndex = at
      const token = number.exec(text)?.[0] ?? ''
      if (!isKept(token)) throw new SyntaxError('has a number that cannot be kept exactly')
      at += token.length - 1
    }
  }
  return value
}

const number = /-?\d[\d.eE+-]*/y

/** Where the quotation mark is that ends the string which begins at one: one after an even number of backslashes. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return end
  }
}

/** Whether a number means the same to every reader of JSON (RFC 7493 section 2.2). */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

/** Whether a double says what the number's text says: its digits are those of the double, however they are written. */
function isKept(token: string): boolean {
  if (/^-?[1-9]\d{0,14}$/.test(token)) return true // most are whole, and below 2^53
  const value = Number(token)
  if (!isExactNumber(value) || Object.is(value, -0)) return false
  const digits = significant(token)
  return digits === significant(String(value)) || digits === significant(value.toPrecision(17))
}

/** The digits of a number between its first and its last that is no zero. */
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
