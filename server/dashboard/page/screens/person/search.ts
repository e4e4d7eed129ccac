import type { DataSubjectRequest } from '../../../../../src/contract/requests.ts'
import { Mistake } from '../../parts/problem.tsx'

export interface Search {
  readonly subjects: readonly string[]
  /** Of the register, which an erasure answers. */
  readonly request: DataSubjectRequest | null
  readonly round: number
}

/** True if an erasure may answer it. */
export function isErasable({ kind }: DataSubjectRequest): boolean {
  return kind === 'erasure' || kind === 'objection'
}

/** The last search, kept for returning from a record. In memory only: identifiers must not be in addresses or storage. */
let kept: Search | null = null

export function lastSearch(): Search | null {
  return kept
}

/** Of the screen Person, when it is shown next. */
export function searchFor(subjects: readonly string[], request: DataSubjectRequest | null = null): Search {
  kept = { subjects, request, round: (kept?.round ?? 0) + 1 }
  return kept
}

/**
 * Returns the last search's identifiers if the text is unchanged. @throws Mistake if one of them has a line break, because the
 * field would split it
 */
export function readIdentifiers(text: string): readonly string[] {
  if (text === kept?.subjects.join('\n')) return kept.subjects
  const broken = kept?.subjects.some(each => /[\r\n]/.test(each) && text.includes(each.replace(/\r\n?/g, '\n')))
  if (broken) throw new Mistake('One identifier has a line break. Clear the field before you type others.')
  return identifiersIn(text)
}

/** Returns one identifier per line, without duplicates. Spaces are part of it. */
export function identifiersIn(text: string): string[] {
  return [...new Set(text.split('\n').filter(line => line !== ''))]
}
