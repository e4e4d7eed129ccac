import { useEffect, useRef, useState } from 'preact/hooks'
import { useSession } from './session.ts'

export interface Loaded<T> {
  /** Of the last call that succeeded. */
  readonly value: T | undefined
  /** Of the last call, if it failed. */
  readonly error: unknown
  readonly isLoading: boolean
  readonly reload: () => void
  /** Shows what a change has made of the value, without a call. */
  replace(change: (value: T | undefined) => T): void
}

/** Reads when the screen appears, when one of `inputs` changes, and after the user has signed in again. */
export function useCall<T>(call: () => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const { epoch } = useSession()
  const [round, setRound] = useState(0)
  const [{ value, error, isLoading }, set] = useState<Pick<Loaded<T>, 'value' | 'error' | 'isLoading'>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  })
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
    value,
    error,
    isLoading,
    reload: () => setRound(before => before + 1),
    replace: change => set(before => ({ ...before, value: change(before.value) })),
  }
}

/** Returns a function that throws once the component is gone, by which what it does ends. */
export function useRequireShown(): () => void {
  const isShown = useRef(true)
  useEffect(
    () => () => {
      isShown.current = false
    },
    [],
  )
  return () => {
    if (!isShown.current) throw new Error('The screen was left.')
  }
}

export interface Action {
  /** Does nothing while it runs. */
  readonly run: () => void
  readonly isRunning: boolean
  readonly error: unknown
  readonly dismiss: () => void
}

/** A change that the user asks for, once at a time. */
export function useAction(change: () => Promise<void>): Action {
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
  return { run, isRunning, error, dismiss: () => setError(undefined) }
}
