import { useEffect, useRef, useState } from 'preact/hooks'
import { useSession } from './session.ts'

interface State<T> {
  /** The last result. It stays while a newer one loads and after an error. */
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

export interface Loaded<T> extends State<T> {
  readonly reload: () => void
  /** Updates the value after a change without calling the API. */
  replace(change: (value: T | undefined) => T): void
}

/** Calls on mount, when one of `inputs` changes, and after a new sign-in. */
export function useCall<T>(call: () => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const { epoch } = useSession()
  const [round, setRound] = useState(0)
  const [state, set] = useState<State<T>>({ value: undefined, error: undefined, isLoading: true })
  useEffect(() => {
    let isCurrent = true
    set(before => ({ ...before, error: undefined, isLoading: true }))
    call().then(
      loaded => isCurrent && set({ value: loaded, error: undefined, isLoading: false }),
      problem => isCurrent && set(before => ({ ...before, error: problem, isLoading: false })),
    )
    return () => {
      isCurrent = false
    }
  }, [...inputs, epoch, round])
  return {
    ...state,
    reload: () => setRound(before => before + 1),
    replace: change => set(before => ({ ...before, value: change(before.value) })),
  }
}

/** `run` has no effect while the action runs. */
export function useAction(change: () => Promise<void>) {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>()
  const running = useRef(false)
  const run = () => {
    if (running.current) return
    running.current = true
    setRunning(true)
    setError(undefined)
    change()
      .catch(setError)
      .finally(() => {
        running.current = false
        setRunning(false)
      })
  }
  return { run, isRunning, error }
}
