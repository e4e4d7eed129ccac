import * as z from 'zod'
import { isExactNumber } from './json.ts'
import { storable } from './values.ts'

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
