import * as z from 'zod'
import { storable } from './values.ts'

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

/** What `preferences` may hold (decided where the specification leaves it free-form). */
export const preferenceLimits = { bytes: 16_384, depth: 8, keys: 256 } as const

/**
 * Any JSON object of at most 16 KiB as UTF-8 text, 8 levels (the object itself is the first) and 256 keys in all.
 * Anything that JSON or PostgreSQL would alter on the way is refused: NUL, lone surrogates, numbers that are not
 * finite, integers beyond 2^53 - 1.
 */
export const Preferences = z
  .record(z.string(), z.unknown(), 'must be a JSON object')
  .superRefine((value, context) => {
    const problem = findProblem(value)
    if (problem) context.addIssue({ code: 'custom', message: problem })
  })
  .meta({ maxProperties: preferenceLimits.keys })

export type Preferences = z.output<typeof Preferences>

function findProblem(root: object): string | null {
  let keys = 0
  let zeros = 0
  const queue: { value: unknown; depth: number }[] = [{ value: root, depth: 1 }]
  for (const { value, depth } of queue) {
    if (typeof value === 'string' && !storable(value)) return 'must be well-formed Unicode without NUL'
    if (typeof value === 'number' && !isExactNumber(value))
      return 'must have only finite numbers, and integers below 2^53'
    if (typeof value === 'number') zeros += zerosOf(value)
    if (typeof value !== 'object' || value === null) continue
    if (depth > preferenceLimits.depth) return `must be at most ${preferenceLimits.depth} levels deep`
    if (!Array.isArray(value)) {
      const names = Object.keys(value)
      keys += names.length
      if (keys > preferenceLimits.keys) return `must have at most ${preferenceLimits.keys} keys`
      if (!names.every(storable)) return 'must be well-formed Unicode without NUL'
    }
    for (const child of Object.values(value)) queue.push({ value: child, depth: depth + 1 })
  }
  const text = JSON.stringify(root)
  if (3 * text.length + zeros <= preferenceLimits.bytes) return null // no code unit takes more in UTF-8
  const bytes = new TextEncoder().encode(text).length + zeros
  return bytes > preferenceLimits.bytes ? `must be at most ${preferenceLimits.bytes} bytes of JSON` : null
}

/** Zeros that a number in scientific notation has when it is written out, as PostgreSQL keeps it: 1e-300 has 300. */
function zerosOf(value: number): number {
  return Math.abs(Number(/e([+-]\d+)$/.exec(String(value))?.[1] ?? 0))
}
