import { explain } from './explain.ts'

const maxKinds = 20

export interface Kind {
  readonly code: string
  /** The message with # for numbers, ids and quoted text; null for more kinds than are told apart. */
  readonly message: string | null
}

/** Returns a function that says of which kind an error is: its memory is bounded. The message may name a subject. */
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
