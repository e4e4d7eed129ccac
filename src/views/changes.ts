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

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none')
}
