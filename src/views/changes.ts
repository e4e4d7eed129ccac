import type { AuditEntry } from '../contract/index.ts'

type State = Pick<AuditEntry, 'preferences'>

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
