import * as z from 'zod'
import { isExactNumber } from './exact-json.ts'
import { storable } from './values.ts'

/** `depth` counts the object itself; `keys` counts all levels. */
export const preferenceLimits = { bytes: 16_384, depth: 8, keys: 256 } as const

/** Values that JSON and PostgreSQL store unchanged. */
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

/** PostgreSQL writes 1e-300 with 300 zeros. */
function zerosOf(value: unknown): number {
  if (typeof value !== 'number') return 0
  return Math.abs(Number(/e([+-]\d+)$/.exec(String(value))?.[1] ?? 0))
}

function sizeProblem(root: object, zeros: number): string | null {
  const text = JSON.stringify(root)
  if (3 * text.length + zeros <= preferenceLimits.bytes) return null // at most 3 bytes of UTF-8 per code unit
  const bytes = new TextEncoder().encode(text).length + zeros
  return bytes > preferenceLimits.bytes ? `must be at most ${preferenceLimits.bytes} bytes of JSON` : null
}
