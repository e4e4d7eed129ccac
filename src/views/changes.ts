import type { AuditEntry } from '../contract/index.ts'
import { type Purpose, purposeWords } from '../evidence/state.ts'

type State = Pick<AuditEntry, 'preferences'>

/** `withdrawn` for an update that withdrew a purpose, else the action. */
export function eventAction({ action }: Pick<AuditEntry, 'action'>, purposes: readonly Purpose[] = []): string {
  const isWithdrawal = action === 'updated' && purposes.some(({ state }) => state === 'withdrawn')
  return isWithdrawal ? 'withdrawn' : (action ?? '')
}

/**
 * Such as `marketing withdrawn`, then other preferences as `changesOf` shows them.
 * @param purposes whose state the event changed
 */
export function eventChanges(entry: State, before: State | undefined, purposes: readonly Purpose[]): string[] {
  const answers = purposes.map(({ purpose, state }) => `${purpose} ${purposeWords(state)}`)
  const others = Object.fromEntries(purposes.map(({ purpose }) => [purpose, undefined]))
  const without = (state: State) => ({ preferences: { ...state.preferences, ...others } })
  return [...answers, ...changesOf(without(entry), before && without(before))]
}

/** Such as `marketing: true → false`; all preferences without `before`. */
export function changesOf(state: State, before: State | undefined): string[] {
  const [now, then] = [state.preferences ?? {}, before?.preferences ?? {}]
  const names = Object.keys({ ...then, ...now })
  return names
    .filter(name => JSON.stringify(then[name]) !== JSON.stringify(now[name]))
    .map(name => `${name}: ${before ? `${shown(then[name])} → ` : ''}${shown(now[name])}`)
}

/** Texts that could be taken for another value. */
const ambiguous = /^(none|null|true|false|-?\d.*|["[{].*|)$/s

function shown(value: unknown): string {
  if (typeof value === 'string' && !ambiguous.test(value)) return value
  return JSON.stringify(value) ?? 'none'
}
