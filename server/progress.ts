import type { ServerHost } from '../src/contract/index.ts'

/** Milliseconds until it is told how far the work is, for the first time and then again. */
const [firstWord, nextWord] = [2000, 10_000]

/** Tells how far work of an administrator is, where it takes long. Returns what ends that. */
export function tellProgress({ onWait }: ServerHost, say: () => string): () => void {
  const tell = () => {
    onWait?.(say())
    timer = setTimeout(tell, nextWord)
  }
  let timer = setTimeout(tell, firstWord)
  return () => {
    clearTimeout(timer)
    onWait?.(null)
  }
}
