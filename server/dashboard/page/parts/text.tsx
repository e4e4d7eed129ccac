import type { ComponentChildren } from 'preact'
import type { Consent } from '../../../../src/contract/consents.ts'
import { visible } from '../../../../src/output/safe.ts'
import { linkTo } from '../router.ts'

/** Shows untrusted text, bidi-isolated, and escapes spaces at its ends and characters that could deceive a reader. */
export function Text({ of }: { readonly of: string | null | undefined }) {
  return of ? <bdi>{visible(of).replace(/^ | $/g, '\\u{20}')}</bdi> : <span class="none">none</span>
}

export function Id({ of }: { readonly of: string }) {
  return <code class="id">{visible(of)}</code>
}

interface LinkProps {
  readonly to: readonly [screen: string, ...params: string[]]
  readonly children: ComponentChildren
}

export function Link({ to, children }: LinkProps) {
  return <a href={linkTo(...to)}>{typeof children === 'string' ? <Text of={children} /> : children}</a>
}

export function RecordLink({ id }: { readonly id: string }) {
  return (
    <Link to={['records', id]}>
      <Id of={id} />
    </Link>
  )
}

export function Time({ at }: { readonly at: string | null | undefined }) {
  return at ? <time dateTime={at}>{formatTime(at)}</time> : <span class="none">never</span>
}

/** Shows the creation time, or for an imported record the answer time that the importer stated. */
export function Answered({ of }: { readonly of: Pick<Consent, 'created_at' | 'updated_at' | 'given_at'> }) {
  const { created_at, updated_at, given_at } = of
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

/** The day (UTC) in so many days. */
export function dayIn(days: number): string {
  return new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString().slice(0, 10)
}

const number = new Intl.NumberFormat('en')

export function formatNumber(value: number): string {
  return number.format(value)
}

/** Accepted of all; empty without any. */
export function formatRate(of: { readonly accepted: number | null; readonly refused: number | null }): string {
  const given = of.accepted ?? 0
  const all = given + (of.refused ?? 0)
  return all === 0 ? '' : `${((given / all) * 100).toFixed(1)} %`
}

/** Returns `1 record`, `2 records`. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`
}

export function Tag({ tone, children }: { readonly tone: 'good' | 'bad' | 'plain'; readonly children: string }) {
  return <span class={`tag ${tone}`}>{children}</span>
}
