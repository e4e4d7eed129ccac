import { useEffect } from 'preact/hooks'
import { Copy } from './copy.tsx'

interface SecretProps {
  readonly label: string
  readonly value: string
  /** Called when the page is hidden: drop the value. */
  readonly onHidden: () => void
}

/** A secret that the service shows once. It leaves the page when that is hidden, so that nobody finds it there later. */
export function Secret({ label, value, onHidden }: SecretProps) {
  useEffect(() => {
    const leave = () => {
      if (document.visibilityState === 'hidden') onHidden()
    }
    document.addEventListener('visibilitychange', leave)
    addEventListener('pagehide', onHidden)
    return () => {
      document.removeEventListener('visibilitychange', leave)
      removeEventListener('pagehide', onHidden)
    }
  }, [])
  return (
    <div class="secret">
      <p>
        <strong>{label}</strong> Copy it now: it is shown once, and leaves this page as soon as you switch to another
        tab or window.
      </p>
      <p class="command">
        <code>{value}</code>
        <Copy text={value} label={`Copy: ${label}`} />
      </p>
    </div>
  )
}
