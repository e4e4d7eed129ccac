import * as z from 'zod'
import { storable } from './values.ts'

/** Deeper than any body of the contract. */
const maxDepth = 32

/**
 * Parses JSON (RFC 8259), and rejects what JSON.parse would silently change: a repeated key, `__proto__`, numbers that
 * a double cannot hold. @throws SyntaxError whose message completes "The body …"
 */
export function parseExactJson(text: string): unknown {
  const value = parse(text)
  /** The keys of each open object, `null` for an open array. */
  const open: (Set<string> | null)[] = []
  /** Those of the innermost object if a key is next. */
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

/** RFC 7493 section 2.2. */
export function isExactNumber(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

function isKept(token: string): boolean {
  if (/^-?[1-9]\d{0,14}$/.test(token)) return true // most are whole, and below 2^53
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

/** Bytes of UTF-8, levels including the object itself, and keys in all. */
export const preferenceLimits = { bytes: 16_384, depth: 8, keys: 256 } as const

/** A JSON object without what JSON or PostgreSQL would change. */
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
    if (typeof value !== 'object' || value === null) {
      const problem = scalarProblem(value)
      if (problem) return problem
      zeros += zerosOf(value)
      continue
    }
    if (depth > preferenceLimits.depth) return `must be at most ${preferenceLimits.depth} levels deep`
    const names = Array.isArray(value) ? [] : Object.keys(value)
    keys += names.length
    if (keys > preferenceLimits.keys) return `must have at most ${preferenceLimits.keys} keys`
    for (const child of [...names, ...Object.values(value)]) queue.push({ value: child, depth: depth + 1 })
  }
  return sizeProblem(root, zeros)
}

function scalarProblem(value: unknown): string | null {
  if (typeof value === 'string' && !storable(value)) return 'must be well-formed Unicode without NUL'
  if (typeof value === 'number' && !isExactNumber(value))
    return 'must have only finite numbers, and integers below 2^53'
  return null
}

/** PostgreSQL writes out numbers in scientific notation: 300 zeros for 1e-300. */
function zerosOf(value: unknown): number {
  if (typeof value !== 'number') return 0
  return Math.abs(Number(/e([+-]\d+)$/.exec(String(value))?.[1] ?? 0))
}

function sizeProblem(root: object, zeros: number): string | null {
  const text = JSON.stringify(root)
  if (3 * text.length + zeros <= preferenceLimits.bytes) return null // no code unit takes more in UTF-8
  const bytes = new TextEncoder().encode(text).length + zeros
  return bytes > preferenceLimits.bytes ? `must be at most ${preferenceLimits.bytes} bytes of JSON` : null
}
