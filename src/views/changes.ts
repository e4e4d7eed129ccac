import type { AuditEntry } from '../contract/index.ts'

type State = Pick<AuditEntry, 'preferences'>

/** Returns the preferences that differ from `before`, such as `marketing: true → false`. Without it, returns all. */
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
