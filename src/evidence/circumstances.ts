import { circumstanceNames } from '../contract/circumstance-words.ts'
import { personalCircumstances } from '../contract/circumstances.ts'

/** How an answer was given, as reported by the sender. Stored values may have been tampered with. */
export type Reported = Readonly<Record<string, unknown>>

const personal: readonly string[] = personalCircumstances
const known: readonly string[] = circumstanceNames

/** Undefined if nothing lasts. Sorted, as JCS needs it. */
export function lastingOf(circumstances: Reported | undefined): Reported | undefined {
  return pick(circumstances, name => !personal.includes(name))
}

/** What a purge removes; undefined if there is none. Sorted, as JCS needs it. */
export function personalOf(circumstances: Reported | undefined): Reported | undefined {
  return pick(circumstances, name => personal.includes(name))
}

function pick(of: Reported = {}, isPicked: (name: string) => boolean): Reported | undefined {
  const names = Object.keys(of).filter(isPicked).sort()
  return names.length === 0 ? undefined : Object.fromEntries(names.map(name => [name, of[name]]))
}

export function areCircumstances(value: unknown): value is Reported {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const fields = Object.entries(value)
  return fields.length > 0 && fields.every(([name, told]) => known.includes(name) && isText(told))
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.isWellFormed()
}
