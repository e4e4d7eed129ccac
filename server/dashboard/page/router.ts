import { useEffect, useState } from 'preact/hooks'

/** `#/records/ID` is the screen `records` with `[ID]`. Never contains a secret or a person's identifier. */
export interface Place {
  readonly screen: string
  readonly params: readonly string[]
}

export function placeOf(hash: string): Place {
  const [screen = '', ...params] = hash.replace(/^#\/?/, '').split('/').map(decode)
  return { screen, params }
}

export function linkTo(screen: string, ...params: string[]): string {
  return `#/${[screen, ...params].map(encodeURIComponent).join('/')}`
}

export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = () => setHash(location.hash)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return placeOf(hash)
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
