import { useEffect, useState } from 'preact/hooks'
import { clientOn } from '../../../src/client/client.ts'
import { ApiError } from '../../../src/client/errors.ts'
import { api } from '../../../src/contract/api.ts'
import type { Session } from '../../../src/contract/session.ts'
import { warnOfLoss } from './leaving.ts'
import { openFetch } from './transport.ts'

/**
 * `ended`: the service no longer accepts the session of this user. The page stays as it is behind the sign-in form, so that no
 * typed text is lost. `epoch` grows with each sign-in: what could not be read before is read again.
 */
interface State {
  readonly status: 'unknown' | 'signed_out' | 'signed_in' | 'ended'
  readonly session: Session | null
  readonly epoch: number
}

let state: State = { status: 'unknown', session: null, epoch: 0 }
const listeners = new Set<(state: State) => void>()

function set(change: Partial<State>): void {
  state = { ...state, ...change }
  for (const listener of listeners) listener(state)
}

export const client = clientOn(async () =>
  openFetch(() => {
    if (state.status === 'signed_in') set({ status: 'ended' })
  }),
)

export function useSession(): State {
  const [seen, setSeen] = useState(state)
  useEffect(() => {
    listeners.add(setSeen)
    setSeen(state)
    return () => void listeners.delete(setSeen)
  }, [])
  return seen
}

/** Returns true for an owner: a reader can change nothing. */
export function useMayChange(): boolean {
  return useSession().session?.user.role === 'owner'
}

/**
 * Reads who is signed in, if anyone. A role stays as it was at the sign-in, so that no form with typed text goes away: the service
 * rejects what it no longer allows. Rejects with a CallError if the service does not say.
 */
export async function readSession(): Promise<void> {
  try {
    const session = await client.call(api.session.get, {})
    if (state.status !== 'signed_in' || state.session?.user.id !== session.user.id) begin(session)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    set({ status: state.session ? 'ended' : 'signed_out' })
  }
}

export async function signIn(email: string, password: string): Promise<void> {
  const session = await client.call(api.session.create, { body: { email, password } })
  otherTabs.postMessage('signed in')
  begin(session)
}

/** Another user sees nothing of what the one before had on the page. */
function begin(session: Session): void {
  if (state.session && state.session.user.id !== session.user.id) restart()
  else set({ status: 'signed_in', session, epoch: state.epoch + 1 })
}

export async function signOut(): Promise<void> {
  try {
    await client.call(api.session.remove, {})
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
  }
  otherTabs.postMessage('signed out')
  restart()
}

/** Nothing of the user before is left in memory, nor what the address named. */
export function restart(): void {
  warnOfLoss(null) // also if another user has signed in, who must not be able to stay
  history.replaceState(null, '', location.pathname)
  location.reload()
}

/** Tabs share the cookie of the session. */
const otherTabs = new BroadcastChannel('consentctl session')

/**
 * Reads the session anew when another tab has changed it and when the page is looked at again: the session may have ended while
 * the machine slept, and a page that Back brings from the browser's cache is of before.
 */
export function followSession(): () => void {
  const read = () => readSession().catch(() => {})
  const look = () => document.visibilityState === 'visible' && read()
  const comeBack = ({ persisted }: PageTransitionEvent) => persisted && read()
  document.addEventListener('visibilitychange', look)
  addEventListener('pageshow', comeBack)
  otherTabs.addEventListener('message', read)
  return () => {
    document.removeEventListener('visibilitychange', look)
    removeEventListener('pageshow', comeBack)
    otherTabs.removeEventListener('message', read)
  }
}
