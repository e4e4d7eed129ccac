import { clientOn } from '../../../src/client/client.ts'
import { ApiError } from '../../../src/client/errors.ts'
import { api } from '../../../src/contract/api.ts'
import type { Route } from '../../../src/contract/endpoint.ts'
import type { Session } from '../../../src/contract/session.ts'
import { warnOfLoss } from './leaving.ts'
import { newStore } from './store.ts'
import { openFetch } from './transport.ts'

/**
 * `ended`: the service no longer accepts the session. The page stays behind the sign-in form, so that no typed text is lost.
 * `epoch` increases with each sign-in, so that `useCall` reads again.
 */
interface State {
  readonly status: 'unknown' | 'signed_out' | 'signed_in' | 'ended'
  readonly session: Session | null
  readonly epoch: number
}

const state = newStore<State>({ status: 'unknown', session: null, epoch: 0 })
export const useSession = state.use

function set(change: Partial<State>): void {
  state.set({ ...state.get(), ...change })
}

export const client = clientOn(async () =>
  openFetch(() => {
    if (state.get().status === 'signed_in') set({ status: 'ended' })
  }),
)

/** True if the role of the user may call the endpoint. */
export function useMay({ roles = [] }: Pick<Route, 'roles'>): boolean {
  const own = useSession().session?.user.role
  return roles.some(role => role === own)
}

export function useEmail(): string | undefined {
  return useSession().session?.user.email
}

/**
 * Reads the session. Ignores a changed role of the same user, so that no form with typed text disappears: the service rejects
 * calls that it no longer allows. @throws CallError unless the service answers with a session or 401
 */
export async function readSession(): Promise<void> {
  try {
    const session = await client.call(api.session.get, {})
    if (state.get().status !== 'signed_in' || state.get().session?.user.id !== session.user.id) begin(session)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    set({ status: state.get().session ? 'ended' : 'signed_out' })
  }
}

export async function signIn(email: string, password: string): Promise<void> {
  const session = await client.call(api.session.create, { body: { email, password } })
  otherTabs.postMessage('signed in')
  begin(session)
}

/** Reloads the page for another user, who must see nothing of the earlier one. */
function begin(session: Session): void {
  const user = state.get().session?.user
  if (user && user.id !== session.user.id) restart()
  else set({ status: 'signed_in', session, epoch: state.get().epoch + 1 })
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

/** Reloads the page without its hash, so that neither memory nor address keeps anything of the user. */
export function restart(): void {
  warnOfLoss(null) // no prompt: another user who has signed in must not be able to stay
  history.replaceState(null, '', location.pathname)
  location.reload()
}

/** Other tabs share the session's cookie. */
const otherTabs = new BroadcastChannel('consentctl session')

/**
 * Reads the session again when another tab changes it, when the page becomes visible (the session may have ended while
 * the machine slept), and when Back restores the page.
 */
export function followSession(): void {
  const read = () => readSession().catch(() => {})
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && read())
  addEventListener('pageshow', ({ persisted }) => persisted && read())
  otherTabs.addEventListener('message', read)
}
