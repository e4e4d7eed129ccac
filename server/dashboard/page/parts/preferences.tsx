import { type ConsentState, currentState } from '../../../../src/evidence/state.ts'
import { visible } from '../../../../src/output/safe.ts'
import { Tag } from './text.tsx'

type Values = Readonly<Record<string, unknown>>

export function formatValue(value: unknown): string {
  return visible(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none'))
}

export function Preferences({ of }: { readonly of: Values | null | undefined }) {
  const entries = Object.entries(of ?? {})
  if (entries.length === 0) return <span class="none">none</span>
  return (
    <ul>
      {entries.map(([name, value]) => (
        <li key={name}>
          <bdi>{visible(name)}</bdi>: <bdi>{formatValue(value)}</bdi>
        </li>
      ))}
    </ul>
  )
}

export function Consented({ of }: { readonly of: Partial<Parameters<typeof currentState>[0]> }) {
  const state = currentState({ accepted: of.accepted ?? null, preferences: of.preferences ?? null })
  const isGiven = state === 'given' || state === 'partly'
  return <Tag tone={isGiven ? 'good' : 'bad'}>{state === 'given' ? 'yes' : isGiven ? 'partly' : 'no'}</Tag>
}

export const stateWords: Readonly<Record<ConsentState, string>> = {
  given: 'given',
  partly: 'partly given',
  withdrawn: 'withdrawn',
  refused: 'refused',
}
