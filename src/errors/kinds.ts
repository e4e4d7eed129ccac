import { explain } from './explain.ts'

const maxKinds = 20

export interface Kind {
  readonly code: string
  /** # replaces numbers, ids and quoted text; null beyond the maximum number of kinds. */
  readonly message: string | null
}

/** Classifies errors in bounded memory, ignoring `subject`. */
export function openKinds(): (error: unknown, subject?: string) => Kind {
  const known = new Set<string>()
  return (error, subject = '') => {
    const { code, ...explained } = explain(error)
    const message = explained.message.replace(subject, '').replace(/"[^"]*"|[\da-f]{8}-[\da-f-]{27}|\d+/g, '#')
    const name = `${code} ${message}`
    if (known.size < maxKinds) known.add(name)
    return { code, message: known.has(name) ? message : null }
  }
}
