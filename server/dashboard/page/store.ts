import { useEffect, useState } from 'preact/hooks'

export interface Store<T> {
  readonly get: () => T
  readonly set: (value: T) => void
  /** A hook: renders again when the value changes. */
  readonly use: () => T
}

/** Keeps a value while the page is open. */
export function newStore<T>(first: T): Store<T> {
  let value = first
  const listeners = new Set<(value: T) => void>()
  const set = (next: T) => {
    value = next
    for (const listener of listeners) listener(next)
  }
  const use = () => {
    const [seen, setSeen] = useState(value)
    useEffect(() => {
      listeners.add(setSeen)
      setSeen(value)
      return () => void listeners.delete(setSeen)
    }, [])
    return seen
  }
  return { get: () => value, set, use }
}
