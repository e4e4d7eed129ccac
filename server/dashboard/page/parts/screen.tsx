import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Loaded } from '../call.ts'
import { Command } from './command.tsx'
import { Problem } from './problem.tsx'

interface ScreenProps {
  readonly title: string
  /** The equivalent command, without `consentctl`. */
  readonly command?: readonly string[]
  readonly actions?: ComponentChildren
  readonly links?: ComponentChildren
  readonly children: ComponentChildren
}

/** Sets the document's title, and focuses the heading, so that a screen reader starts there. */
export function Screen({ title, command, actions, links, children }: ScreenProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    document.title = `${title} · consentctl`
    heading.current?.focus()
  }, [title])
  return (
    <>
      <header class="title">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions && <div class="buttons">{actions}</div>}
      </header>
      {links && <p>{links}</p>}
      {children}
      {command && <Command words={command} />}
    </>
  )
}

interface HeadingProps {
  /** Changes with each step of the content below. */
  readonly step?: unknown
  readonly children: ComponentChildren
}

/** Takes the focus on mount and at each new `step`, if the focused element is gone. */
export function Heading({ step, children }: HeadingProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus()
  }, [step])
  return (
    <h2 ref={heading} tabIndex={-1}>
      {children}
    </h2>
  )
}

interface LoadedProps<T> {
  readonly of: Loaded<T>
  readonly children: (value: T) => ComponentChildren
}

/** Keeps showing the earlier value during a reload or next to an error. */
export function Show<T>({ of: { value, error, isLoading, reload }, children }: LoadedProps<T>) {
  return (
    <>
      <Problem error={error} retry={reload} />
      {value === undefined ? isLoading && <p role="status">Loading …</p> : children(value)}
    </>
  )
}
