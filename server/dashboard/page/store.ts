import { useEffect, useState } from 'preact/hooks'

/** `use` is a hook: it renders again when the value changes. */
export function newStore<T>(first: T) {
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
