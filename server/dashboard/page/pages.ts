import { useState } from 'preact/hooks'

export interface Pages {
  /** Undefined for the first page. */
  readonly cursor: string | undefined
  readonly number: number
  readonly goBack: (() => void) | undefined
  readonly goOn: (cursor: string) => void
}

/** Pages through a list both ways: a cursor leads only to the next page, so earlier ones are kept. New `inputs` start over. */
export function usePages(inputs: readonly unknown[]): Pages {
  const of = JSON.stringify(inputs)
  const [state, set] = useState({ of, cursors: [] as readonly string[] })
  const cursors = state.of === of ? state.cursors : []
  return {
    cursor: cursors.at(-1),
    number: cursors.length + 1,
    goBack: cursors.length > 0 ? () => set({ of, cursors: cursors.slice(0, -1) }) : undefined,
    goOn: cursor => set({ of, cursors: [...cursors, cursor] }),
  }
}
