import { useEffect, useState } from 'preact/hooks'

export function linkTo(...parts: readonly [screen: string, ...params: string[]]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`
}

/** `#/records/ID` is the screen `records` with `[ID]`. Never contains a secret or a person's identifier. */
export function usePlace() {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = () => setHash(location.hash)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  const [screen = '', ...params] = hash.replace(/^#\/?/, '').split('/')
  return { screen, params }
}
