import { visible } from '../../../../src/output/safe.ts'

/** Shows untrusted text, bidi-isolated, and escapes spaces at its ends and characters that could deceive a reader. */
export function Text({ of }: { readonly of: string | null | undefined }) {
  return of ? <bdi>{visible(of).replace(/^ | $/g, '\\u{20}')}</bdi> : <span class="none">none</span>
}

export function Id({ of }: { readonly of: string }) {
  return <code class="id">{visible(of)}</code>
}

export function Time({ at }: { readonly at: string | null | undefined }) {
  return at ? <time dateTime={at}>{formatTime(at)}</time> : <span class="none">never</span>
}

interface AnsweredProps {
  readonly of: {
    readonly created_at: string | null
    readonly updated_at: string | null
    readonly given_at?: string | undefined
  }
}

/** Shows the creation time, or for an imported record the answer time that the importer stated. */
export function Answered({ of: { created_at, updated_at, given_at } }: AnsweredProps) {
  const since = updated_at === created_at ? '' : ', changed since'
  return (
    <>
      <Time at={given_at ?? created_at} /> {given_at && <small>answered, as imported{since}</small>}
    </>
  )
}

export function formatTime(at: string): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? visible(at) : `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

const number = new Intl.NumberFormat('en')

export function formatNumber(value: number): string {
  return number.format(value)
}

/** Returns `1 record`, `2 records`. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`
}

export function Tag({ tone, children }: { readonly tone: 'good' | 'bad' | 'plain'; readonly children: string }) {
  return <span class={`tag ${tone}`}>{children}</span>
}
