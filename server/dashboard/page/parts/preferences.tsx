import { visible } from '../../../../src/output/safe.ts'

type Values = Readonly<Record<string, unknown>>

export function formatValue(value: unknown): string {
  return visible(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'none'))
}

export function Preferences({ of }: { readonly of: Values | null | undefined }) {
  const entries = Object.entries(of ?? {})
  if (entries.length === 0) return <span class="none">none</span>
  return (
    <ul class="plain">
      {entries.map(([name, value]) => (
        <li key={name}>
          <bdi>{visible(name)}</bdi>: <bdi>{formatValue(value)}</bdi>
        </li>
      ))}
    </ul>
  )
}

export function Accepted({ of }: { readonly of: boolean | null | undefined }) {
  if (of === null || of === undefined) return <span class="none">not known</span>
  return <span class={`tag ${of ? 'good' : 'bad'}`}>{of ? 'yes' : 'no'}</span>
}
