import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Copy } from './command.tsx'

interface SecretProps {
  readonly label: string
  readonly value: string | null
  /** Called when the page is hidden: the caller must drop the value. */
  readonly onHidden: () => void
}

/** The page drops it when hidden, so that it cannot be found there later. */
export function Secret({ label, value, onHidden }: SecretProps) {
  const box = useRef<HTMLDivElement>(null)
  const drop = useRef(onHidden)
  drop.current = onHidden
  useLayoutEffect(() => box.current?.focus(), [label])
  useEffect(() => {
    if (value === null) return
    const unmount = new AbortController()
    const { signal } = unmount
    const onChange = () => document.visibilityState === 'hidden' && drop.current()
    document.addEventListener('visibilitychange', onChange, { signal })
    addEventListener('pagehide', () => drop.current(), { signal })
    return () => unmount.abort()
  }, [value === null])
  return (
    <div class="secret" ref={box} tabIndex={-1} role="group" aria-label={label}>
      <p>
        <strong>{label}</strong>{' '}
        {value === null
          ? 'It has left this page. If it was not copied, make another one.'
          : 'Copy it now: it is shown once, and leaves this page as soon as that is hidden.'}
      </p>
      {value !== null && (
        <p class="command">
          <code>{value}</code>
          <Copy text={value} label={`Copy: ${label}`} />
        </p>
      )}
    </div>
  )
}
