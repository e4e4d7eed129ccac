/** Deeper than any body of the contract, and far from where recursion hurts. */
const deepest = 32

/** Every token of a text that is valid JSON, but the literals true, false and null. */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],]|-?\d[\d.eE+-]*/g

/**
 * A text as JSON (RFC 8259), refused wherever JSON.parse would quietly change what was sent: a key given twice,
 * `__proto__`, numbers that a double cannot hold. Throws a SyntaxError whose message completes "The body …".
 */
export function parseExactJson(text: string): unknown {
  const value = parse(text)
  /** The keys of each open object, `null` for an open array. */
  const open: (Set<string> | null)[] = []
  let expectKey = false
  for (const [token] of text.matchAll(tokens)) {
    const keys = open.at(-1)
    if (token === '{' || token === '[') {
      expectKey = token === '{'
      open.push(expectKey ? new Set() : null)
      if (open.length > deepest) throw new SyntaxError('is nested too deeply')
    } else if (token === '}' || token === ']') {
      open.pop()
      expectKey = false
    } else if (token === ',') {
      expectKey = Boolean(keys)
    } else if (!token.startsWith('"')) {
      if (!isKept(token)) throw new SyntaxError('has a number that cannot be kept exactly')
    } else if (expectKey && keys) {
      addKey(keys, token)
      expectKey = false
    }
  }
  return value
}

/** Whether a number means the same to every reader of JSON (RFC 7493 section 2.2). */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

/** Whether a double says what the number's text says: its digits are those of the double, however they are written. */
function isKept(token: string): boolean {
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
  const key = JSON.parse(token) as string
  if (keys.has(key)) throw new SyntaxError(`has the key ${token.slice(0, 100)} twice`)
  if (key === '__proto__') throw new SyntaxError('has the key "__proto__"')
  keys.add(key)
}
